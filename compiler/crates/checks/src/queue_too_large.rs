//! A queue exceeds a limit of Kueue.

use std::collections::BTreeSet;

use gpuc_model::check::Rule;
use gpuc_model::{Cluster, Grant, ResourceGroup, Team, resource_groups};
use gpuc_syntax::diag::{Code, Correction, Report, Reported, Severity};

/// `maxItems` of `resourceGroups`.
const MAX_GROUPS: usize = 16;

/// `maxItems` of `flavors`.
const MAX_FLAVORS: usize = 64;

/// `maxItems` of `coveredResources`.
const MAX_RESOURCES: usize = 64;

/// `maxItems` of a flavor's `tolerations`.
const MAX_TAINTS: usize = 8;

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2174",
        name: "queue-too-large",
        severity: Severity::Error,
        summary: "a queue exceeds a limit of Kueue",
        checks: "Whether each team's queue is within Kueue's limits: 16 resource groups, 64 pools and 64 resources in
each group, and 8 taints on a pool. A resource group is a set of pools that advertise a common
resource, with all resources of these pools. The limits also apply to all teams together, because a
shared queue holds the GPUs that are not guaranteed.",
        reason: "The API server rejects the objects, after all previous objects are created.

Source: the limits of `ClusterQueue` and `ResourceFlavor` in kubernetes-sigs/kueue@v0.19.2
`config/components/crd`.",
        remedy: "Merge similar pools, use fewer different MIG profiles in a team's pools, or replace several taints
with one.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: system, machine: m7i.xlarge, nodes: {count: 2}}
  - name: gpu
    machine: g6.12xlarge
    nodes: {count: 2}
    taints: [{key: t1, value: a, effect: NoSchedule}, {key: t2, value: a, effect: NoSchedule}, {key: t3, value: a, effect: NoSchedule}, {key: t4, value: a, effect: NoSchedule}, {key: t5, value: a, effect: NoSchedule}, {key: t6, value: a, effect: NoSchedule}, {key: t7, value: a, effect: NoSchedule}, {key: t8, value: a, effect: NoSchedule}, {key: t9, value: a, effect: NoSchedule}]
queueing: kueue
teams:
  - {name: research, quota: {gpus: [{pool: gpu, guaranteed: 8}]}}
"#,
        correction: Correction::Replace(", {key: t9, value: a, effect: NoSchedule}", ""),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    if !cluster.has_queues() {
        return;
    }
    for team in &cluster.teams {
        let reported = check_team(team, report);
        if reported.is_some() {
            return;
        }
    }
    let all = cluster.teams.iter().flat_map(Team::grants);
    check_grants(&all.collect::<Vec<_>>(), "all teams together have", report);
    let pools: BTreeSet<usize> = cluster
        .teams
        .iter()
        .flat_map(Team::grants)
        .map(|it| it.pool)
        .collect();
    for pool in pools.into_iter().map(|index| &cluster.pools[index]) {
        if let Some(ninth) = pool.tolerations.get(MAX_TAINTS) {
            let count = pool.tolerations.len();
            let message = format!(
                "pool `{}` has {count} taints, and Kueue accepts {MAX_TAINTS}",
                pool.name
            );
            let span = ninth
                .origin
                .inputs()
                .first()
                .copied()
                .unwrap_or(pool.name.span);
            report
                .diagnostic(&RULE.code, span, message)
                .help("replace several taints with one")
                .emit();
        }
    }
}

fn check_team(team: &Team, report: &mut Report) -> Option<Reported> {
    let grants: Vec<_> = team.grants().collect();
    check_grants(&grants, &format!("team `{}` has", team.name), report)
}

/// Reports the first grant by which a queue exceeds a limit.
fn check_grants(grants: &[&Grant], owner: &str, report: &mut Report) -> Option<Reported> {
    let advertised: Vec<_> = grants
        .iter()
        .map(|it| (it.pool, it.resource.as_str()))
        .collect();
    let (index, excess) = first_excess(&advertised)?;
    let message = format!("{owner} {excess}");
    let builder = report.diagnostic(&RULE.code, grants[index].span, message);
    let help = "merge similar pools, or use fewer different MIG profiles";
    Some(builder.help(help).emit())
}

/// The index of the first pool and resource by which a queue exceeds a limit, with the limit.
fn first_excess(advertised: &[(usize, &str)]) -> Option<(usize, String)> {
    let excess_of = |count: usize| excess(&resource_groups(advertised[..count].iter().copied()));
    let of_all = excess_of(advertised.len())?;
    let counts: Vec<_> = (0..advertised.len()).collect();
    let index = counts.partition_point(|count| excess_of(*count).is_none()) - 1;
    Some((index, excess_of(index + 1).unwrap_or(of_all)))
}

/// The limit of Kueue that the groups of a queue exceed.
fn excess(groups: &[ResourceGroup]) -> Option<String> {
    // CPU and memory form a separate group.
    if groups.len() + 1 > MAX_GROUPS {
        Some(format!("more than {} resource groups", MAX_GROUPS - 1))
    } else if groups.iter().any(|group| group.pools.len() > MAX_FLAVORS) {
        Some(format!(
            "quotas of more than {MAX_FLAVORS} pools in one resource group"
        ))
    } else if groups
        .iter()
        .any(|group| group.resources.len() > MAX_RESOURCES)
    {
        Some(format!(
            "quotas of more than {MAX_RESOURCES} resources in one resource group"
        ))
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_excess_is_found() {
        let names: Vec<_> = (0..3 * MAX_GROUPS)
            .map(|index| format!("r{index}"))
            .collect();
        let advertised: Vec<_> = names
            .iter()
            .enumerate()
            .map(|(index, it)| (index, it.as_str()))
            .collect();
        let (index, excess) = first_excess(&advertised).unwrap();
        assert_eq!(index, MAX_GROUPS - 1);
        assert_eq!(
            excess,
            format!("more than {} resource groups", MAX_GROUPS - 1)
        );
        assert_eq!(first_excess(&advertised[..MAX_GROUPS - 1]), None);
        assert_eq!(
            first_excess(&advertised[..MAX_GROUPS]).map(|it| it.0),
            Some(MAX_GROUPS - 1)
        );
        assert_eq!(first_excess(&[]), None);
    }
}
