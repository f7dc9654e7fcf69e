//! `gpusPerContainer` does not limit GPUs that are allocated through DRA.

use gpuc_model::check::Rule;
use gpuc_model::{Cluster, Pool};
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2204",
        name: "gpus-per-container-ignores-dra",
        severity: Severity::Warning,
        summary: "`gpusPerContainer` does not limit GPUs that are allocated through DRA",
        checks: "Whether a team with `gpusPerContainer` may use a pool whose GPUs are allocated through DRA
(`allocation: dra`), or may use no GPUs at all.",
        reason: "With DRA, a ResourceClaim states the number of GPUs. Since Kubernetes 1.36, a container can also request
the resource of a DeviceClass. A LimitRange and the policy of `gpusPerContainer` check only the
resources that device plugins advertise.",
        remedy: "Remove `gpusPerContainer` and limit claims with the team's quota. Or set `allocation: devicePlugin`
for the pool.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {onPrem: {context: demo}}
stack: {allocation: dra}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 4}
    hosts: [gpu-1, gpu-2]
    nodes: {count: 2}
teams:
  - {name: research, limits: {gpusPerContainer: 2}}
"#,
        correction: Correction::Replace("allocation: dra", r#"runtimeImage: "registry.example.com/gpuc-runtime:0.1.0""#),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    if cluster
        .pools
        .iter()
        .any(|pool| pool.gpus.is_unresolved() || pool.advertised.is_unresolved())
    {
        return;
    }
    for team in &cluster.teams {
        let Some(max) = team.gpus_per_container() else {
            continue;
        };
        if team.has_unknown_grants() {
            continue;
        }
        let has_quota_of = |pool: &Pool| team.grants().any(|grant| grant.pool == pool.index);
        let mut dra_pools = cluster
            .dra_pools()
            .filter(|pool| team.grants.is_empty() || has_quota_of(pool));
        if let Some(pool) = dra_pools.next() {
            let message = "`gpusPerContainer` does not count GPUs that are allocated through DRA";
            let builder = report.diagnostic(&RULE.code, max.span, message.to_owned());
            let span = if pool.allocation.span.is_written() {
                pool.allocation.span
            } else {
                pool.name.span
            };
            let builder = builder.label(
                span,
                format!("the GPUs of pool `{}` are allocated through DRA", pool.name),
            );
            builder
                .help("remove `gpusPerContainer`, and limit claims with the team's quota")
                .emit();
        } else if cluster.requestable_resources(team).is_empty() {
            let message = format!(
                "`gpusPerContainer` has no effect: team `{}` may use no GPUs",
                team.name
            );
            report
                .diagnostic(&RULE.code, max.span, message)
                .help("remove it, or give the team a quota of GPUs")
                .emit();
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::messages_with_id;

    #[test]
    fn dra_pools_and_teams_without_gpus_are_reported() {
        let claimed = "`gpusPerContainer` does not count GPUs that are allocated through DRA";
        let nothing = "`gpusPerContainer` has no effect: team `t` may use no GPUs";
        let gpu = "{name: gpu, gpu: {model: A30, perNode: 2}, hosts: [a], nodes: {count: 1}}";
        let dra = "{name: dra, gpu: {model: A30, perNode: 2}, hosts: [b], nodes: {count: 1}, stack: {allocation: dra}}";
        let cpu = "{name: cpu, hosts: [c], nodes: {count: 1}}";
        for (pools, quota, expected) in [
            (format!("{gpu}, {cpu}"), "", &[][..]),
            (format!("{gpu}, {dra}"), "", &[claimed]),
            (
                format!("{gpu}, {dra}"),
                "quota: {gpus: [{pool: gpu, guaranteed: 1}]}",
                &[],
            ),
            (
                format!("{gpu}, {dra}"),
                "quota: {gpus: [{pool: dra, guaranteed: 1}]}",
                &[claimed],
            ),
            (cpu.to_owned(), "", &[nothing]),
        ] {
            let yaml = format!(
                "
                cloud: {{onPrem: {{context: demo}}}}
                nodePools: [{pools}]
                teams: [{{name: t, limits: {{gpusPerContainer: 1}}, {quota}}}]
                "
            );
            assert_eq!(messages_with_id(&yaml, "GPUC2204"), expected, "{yaml}");
        }
    }
}
