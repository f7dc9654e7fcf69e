//! `gpusPerContainer` does not reach what pods claim.

use super::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::{Cluster, Pool};

/// `gpusPerContainer` does not reach what pods claim.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2204",
        name: "container-gpus-claimed",
        severity: Severity::Warning,
        summary: "`gpusPerContainer` does not reach what pods claim",
        explain: "### What it checks

Whether a team with `gpusPerContainer` may use a pool whose GPUs are claimed (`allocation: dra`), or may
use no GPUs at all.

### Why it matters

Who claims GPUs asks for them in an object of its own, for a pod, and no container says how many. A
LimitRange and the policies of `admission` look at containers.

### What to do

Remove `gpusPerContainer`, and hold claims by the team's quota; or let a device plugin hand out the
pool's GPUs.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
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
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 4}
    hosts: [gpu-1, gpu-2]
    nodes: {count: 2}
teams:
  - {name: research, limits: {gpusPerContainer: 2}}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    if cluster
        .pools
        .iter()
        .any(|pool| pool.gpus.is_hole() || pool.offers.is_hole())
    {
        return;
    }
    for team in &cluster.teams {
        let Some(most) = team.gpus_per_container() else {
            continue;
        };
        if team.has_unknown_grants() {
            continue;
        }
        let promised = |pool: &Pool| team.grants().any(|grant| grant.pool == pool.index);
        let claimed = cluster.pools_claimed();
        let mut claimed = claimed.filter(|pool| team.grants.is_empty() || promised(pool));
        if let Some(pool) = claimed.next() {
            let message = "`gpusPerContainer` does not count what pods claim";
            let draft = report.draft(&RULE.code, most.span, message.to_owned());
            let place = pool.allocation.span;
            let place = if place.is_written() {
                place
            } else {
                pool.name.span
            };
            let draft = draft.label(
                place,
                format!("the GPUs of pool `{}` are claimed", pool.name),
            );
            draft.help("hold claims by the team's quota").emit();
        } else if cluster.resources_of(team).is_empty() {
            let message = format!(
                "team `{}` may use no GPUs, and `gpusPerContainer` limits nothing",
                team.name
            );
            let draft = report.draft(&RULE.code, most.span, message);
            draft
                .help("remove it, or give the team a quota of GPUs")
                .emit();
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::check::testing::messages;

    #[test]
    fn it_counts_what_containers_ask_for() {
        let claimed = "`gpusPerContainer` does not count what pods claim";
        let nothing = "team `t` may use no GPUs, and `gpusPerContainer` limits nothing";
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
            assert_eq!(messages(&yaml, "GPUC2204"), expected, "{yaml}");
        }
    }
}
