//! A queue has more than Kueue takes.

use std::collections::BTreeSet;

use super::Rule;
use crate::diag::{Code, Report, Reported, Severity};
use crate::model::{Cluster, Grant, Team, groups};

/// `maxItems` of `resourceGroups`.
const GROUPS: usize = 16;

/// `maxItems` of `flavors`.
const FLAVORS: usize = 64;

/// `maxItems` of `coveredResources`.
const RESOURCES: usize = 64;

/// `maxItems` of a flavor's `tolerations`.
const TAINTS: usize = 8;

/// A queue has more than Kueue takes.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2174",
        name: "queue-too-large",
        severity: Severity::Error,
        summary: "a queue has more than Kueue takes",
        explain: "### What it checks

Whether each team's queue stays within what Kueue takes: 16 groups of resources that no pool links,
64 pools and 64 resources in each, and 8 taints on a pool. A group is what hangs together: pools that
offer the same resource, and all resources of these pools. All teams together count for what nobody
was promised.

### Why it matters

The API server refuses the objects, after everything before them was made.

Source: the limits of `ClusterQueue` and `ResourceFlavor` in
kubernetes-sigs/kueue@v0.19.2 `config/components/crd`.

### What to do

Let one pool stand for several like ones, give the pools of a team fewer kinds of slices, or write
one taint for several.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
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
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: system, machine: m7i.xlarge, nodes: {count: 2}}
  - name: gpu
    machine: g6.12xlarge
    nodes: {count: 2}
    taints: [{key: t1, value: a, effect: NoSchedule}, {key: t2, value: a, effect: NoSchedule}, {key: t3, value: a, effect: NoSchedule}, {key: t4, value: a, effect: NoSchedule}, {key: t5, value: a, effect: NoSchedule}, {key: t6, value: a, effect: NoSchedule}, {key: t7, value: a, effect: NoSchedule}, {key: t8, value: a, effect: NoSchedule}]
queueing: kueue
teams:
  - {name: research, quota: {gpus: [{pool: gpu, guaranteed: 8}]}}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    if !cluster.has_queues() {
        return;
    }
    for team in &cluster.teams {
        let reported = of_team(team, report);
        if reported.is_some() {
            return;
        }
    }
    let all = cluster.teams.iter().flat_map(Team::grants);
    too_large(&all.collect::<Vec<_>>(), "the teams together have", report);
    let pools: BTreeSet<usize> = cluster
        .teams
        .iter()
        .flat_map(Team::grants)
        .map(|it| it.pool)
        .collect();
    for pool in pools.into_iter().map(|index| &cluster.pools[index]) {
        if let Some(ninth) = pool.tolerations.get(TAINTS) {
            let count = pool.tolerations.len();
            let message = format!(
                "pool `{}` has {count} taints, and Kueue takes {TAINTS}",
                pool.name
            );
            let span = ninth
                .origin
                .inputs()
                .first()
                .copied()
                .unwrap_or(pool.name.span);
            let draft = report.draft(&RULE.code, span, message);
            draft.help("write one taint for several").emit();
        }
    }
}

fn of_team(team: &Team, report: &mut Report) -> Option<Reported> {
    let grants: Vec<_> = team.grants().collect();
    too_large(&grants, &format!("team `{}` has", team.name), report)
}

/// What is too large about one queue, at the first grant that goes too far.
fn too_large(grants: &[&Grant], whose: &str, report: &mut Report) -> Option<Reported> {
    for (index, grant) in grants.iter().enumerate() {
        let so_far = grants[..=index].iter();
        let groups = groups(so_far.map(|it| (it.pool, it.resource.as_str())));
        // CPU and memory are a group of their own.
        let what = if groups.len() + 1 > GROUPS {
            format!("more than {} groups of pools and resources", GROUPS - 1)
        } else if groups.iter().any(|group| group.pools.len() > FLAVORS) {
            format!("quotas of more than {FLAVORS} pools that hang together")
        } else if groups.iter().any(|group| group.resources.len() > RESOURCES) {
            format!("quotas of more than {RESOURCES} resources that hang together")
        } else {
            continue;
        };
        let message = format!("{whose} {what}");
        let draft = report.draft(&RULE.code, grant.span, message);
        let help = "let one pool stand for several like ones, or use fewer kinds of slices";
        return Some(draft.help(help).emit());
    }
    None
}
