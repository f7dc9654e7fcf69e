//! Several DeviceClasses would have one extended resource.

use gpuc_model::check::Rule;
use gpuc_model::{Cluster, DeviceClass, Pool, Team};
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2232",
        name: "extended-resource-ambiguous",
        severity: Severity::Error,
        summary: "several DeviceClasses would have one extended resource",
        checks: "Whether pools with `extendedResources: true` have different resource names, unless their GPUs and sharing
are the same and no team has a quota of them.",
        reason: "Kubernetes uses one DeviceClass for an extended resource: of several classes with the name, the one that
was created last (`spec.extendedResourceName` of a DeviceClass). A class selects the GPU model and
the MIG profile, so that pods on the nodes of the other pool would stay pending. If both classes
select the same devices, pods run on both pools, but every request counts for the class of one
pool, and with it for the quota of that pool.",
        remedy: "Keep `extendedResources` on one of the pools. Pods on the others use ResourceClaims, or request
`deviceclass.resource.kubernetes.io/POOL.gpuc.dev`.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {onPrem: {context: demo}}
stack: {allocation: dra}
nodePools:
  - name: train
    gpu: {model: H100, perNode: 8}
    hosts: [node-1]
    nodes: {count: 1}
    stack: {extendedResources: true}
  - name: infer
    gpu: {model: L4, perNode: 4}
    hosts: [node-2]
    nodes: {count: 1}
    stack: {extendedResources: true}
"#,
        correction: Correction::Replace(
            "hosts: [node-2]
    nodes: {count: 1}
    stack: {extendedResources: true}",
            "hosts: [node-2]
    nodes: {count: 1}",
        ),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for (pool, class, name) in cluster.named_classes() {
        let Some((first_pool, first)) = cluster.class_of_resource(name) else {
            continue;
        };
        if first.name == class.name {
            continue;
        }
        let is_same = cluster.select_same_devices((first_pool, first), (pool, class));
        let quotas = [first_pool, pool].map(|it| team_with_quota(cluster, it));
        let team = quotas.into_iter().flatten().next();
        if !is_same {
            reject(name, (first_pool, first), (pool, class), None, report);
        } else if let Some(team) = team {
            reject(name, (first_pool, first), (pool, class), Some(team), report);
        }
    }
}

/// A team with a quota of a pool.
fn team_with_quota<'c>(cluster: &'c Cluster, pool: &Pool) -> Option<&'c Team> {
    let mut teams = cluster.teams.iter();
    teams.find(|team| team.grants().any(|grant| grant.pool == pool.index))
}

fn reject(
    name: &str,
    (first_pool, first): (&Pool, &DeviceClass),
    (pool, class): (&Pool, &DeviceClass),
    team: Option<&Team>,
    report: &mut Report,
) {
    let message = format!(
        "the DeviceClasses `{}` and `{}` would both have the resource `{name}`",
        first.name, class.name
    );
    let own = pool.extended_resources.span;
    let builder = report
        .diagnostic(&RULE.code, pool.name.span, message)
        .label(first_pool.name.span, "the class of this pool has it");
    let is_shared = own == first_pool.extended_resources.span;
    let builder = if is_shared {
        builder.label(own, "set for both pools")
    } else {
        builder.label(own, "set for this pool")
    };
    let builder = match team {
        Some(team) => builder.label(
            team.name.span,
            "the quota of this team counts each pool separately",
        ),
        None => builder,
    };
    let help = if first_pool.index == pool.index {
        format!(
            "write `strategy: mixed` in `sharing.mig` of pool `{}`",
            pool.name
        )
    } else {
        format!(
            "set `extendedResources: false` in the `stack` of pool `{}`",
            pool.name
        )
    };
    builder.help(help).emit();
}

#[cfg(test)]
mod tests {
    use crate::testing::messages_with_id;

    #[track_caller]
    fn check(pools: &str, teams: &str, expected: &[&str]) {
        let yaml = format!(
            "
            cloud: {{onPrem: {{context: demo}}}}
            stack: {{allocation: dra, extendedResources: true}}
            nodePools: [{pools}]
            teams: [{teams}]
            "
        );
        assert_eq!(messages_with_id(&yaml, "GPUC2232"), expected, "{yaml}");
    }

    const A: &str = "{name: a, gpu: {model: H100, perNode: 8}, hosts: [a], nodes: {count: 1}}";

    #[test]
    fn classes_of_different_devices_are_ambiguous() {
        let both = "the DeviceClasses `a.gpuc.dev` and `b.gpuc.dev` would both have the resource `nvidia.com/gpu`";
        let other = "{name: b, gpu: {model: L4, perNode: 4}, hosts: [b], nodes: {count: 1}}";
        check(&format!("{A}, {other}"), "", &[both]);
        let off = other.replace("nodes:", "stack: {extendedResources: false}, nodes:");
        check(&format!("{A}, {off}"), "", &[]);
    }

    #[test]
    fn same_devices_are_ambiguous_for_a_quota() {
        let both = "the DeviceClasses `a.gpuc.dev` and `b.gpuc.dev` would both have the resource `nvidia.com/gpu`";
        let same = "{name: b, gpu: {model: H100, perNode: 8}, hosts: [b], nodes: {count: 1}}";
        let pools = format!("{A}, {same}");
        check(&pools, "", &[]);
        let quota =
            "{name: t, quota: {gpus: [{pool: b, guaranteed: 4}, {pool: a, guaranteed: 4}]}}";
        check(&pools, quota, &[both]);
    }

    #[test]
    fn mig_devices_have_names_of_their_own() {
        let mig = |strategy: &str| {
            format!(
                "{{name: m, gpu: {{model: H100, perNode: 8}}, hosts: [m], nodes: {{count: 1}}, \
                 existing: {{selector: {{a: b}}}}, sharing: {{mig: {{strategy: {strategy}, \
                 perGpu: [{{layout: [{{profile: 3g.40gb, count: 2}}]}}]}}}}}}"
            )
        };
        let pools = |strategy: &str| format!("{A}, {}", mig(strategy));
        check(&pools("mixed"), "", &[]);
        check(
            &pools("single"),
            "",
            &[
                "the DeviceClasses `a.gpuc.dev` and `mig-3g.40gb.m.gpuc.dev` would both have the resource \
                 `nvidia.com/gpu`",
            ],
        );
    }
}
