//! What is nobody's takes GPUs that teams are guaranteed.

use std::collections::BTreeMap;

use gpuc_schema::Span;

use super::places::notebooks_on_pools;
use super::{Rule, together};
use crate::diag::{Code, Report, Severity};
use crate::model::{Cluster, Devices, Promise};
use crate::placement::What;

/// What is nobody's takes GPUs that teams are guaranteed.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2132",
        name: "promise-taken",
        severity: Severity::Warning,
        summary: "a workload or notebook of no team takes GPUs that teams are guaranteed",
        explain: "### What it checks

Whether a workload without a `team`, or a notebook, finds as many GPUs, slices or shares as it needs
beside those that teams are guaranteed, on the pools that hold it at their most nodes.

### Why it matters

A quota holds back its team and nobody else. What runs without a team is counted nowhere, and takes what
a team was promised: the team's pods wait.

### What to do

Name the workload's `team`, lower what is guaranteed, give the pool more nodes, or name another pool. With
`overcommit: true` in the pool whoever comes first has the GPUs, and nothing is said.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [node-1, node-2]
    nodes: {count: 2}
teams:
  - name: research
    quota: {gpus: [{pool: gpu, guaranteed: 4}]}
workloads:
  - {name: chat, deployment: {image: "registry.example.com/model:1.0.0", gpus: 1}}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [node-1, node-2]
    nodes: {count: 2}
teams:
  - name: research
    quota: {gpus: [{pool: gpu, guaranteed: 3}]}
workloads:
  - {name: chat, deployment: {image: "registry.example.com/model:1.0.0", gpus: 1}}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let promises = cluster.promises();
    // By pool and resource, what nobody was promised.
    let left: BTreeMap<_, _> = promises.iter().filter_map(|it| left(cluster, it)).collect();
    if left.is_empty() {
        return;
    }
    for load in together::loads(cluster) {
        let of_team = load.namespace.and_then(|it| cluster.team_of(it)).is_some();
        if load.team.is_some() || of_team || load.shares_a_claim() {
            continue;
        }
        for device in load.devices() {
            let pools: Vec<_> = load.pools.iter().map(|pool| pool.index).collect();
            let asks = load.asks(&What::Device(device.clone()));
            let task = load.workload.and_then(|it| it.task());
            let gpus = task
                .and_then(gpuc_schema::config::Task::gpus)
                .map(|it| it.span);
            let span = gpus.filter(|it| it.is_written()).unwrap_or(load.span);
            say(
                cluster,
                &left,
                &load.title,
                (&device, asks, &pools),
                span,
                report,
            );
        }
    }
    for (profile, named, pool) in notebooks_on_pools(cluster) {
        if let Some(Devices { resource, count }) = Devices::of(profile, pool) {
            let title = format!("notebook `{}`", profile.name);
            let asked = (resource.as_str(), u64::from(count), &[pool.index][..]);
            say(cluster, &left, &title, asked, named.span, report);
        }
    }
}

/// What is left of a pool's, and where most of it was promised.
type Left = (u64, Span);

/// What a pool has at its most nodes beside what is guaranteed. Too many guarantees are a finding of their own.
fn left<'p>(cluster: &Cluster, promise: &Promise<'p>) -> Option<((usize, &'p str), Left)> {
    let (most, kept) = (promise.most(), promise.guaranteed());
    if cluster.pools[promise.pool].written.overcommit.value || kept > most || kept == 0 {
        return None;
    }
    let greatest = promise
        .grants
        .iter()
        .max_by_key(|it| it.1.guaranteed.value)?;
    let left = (most - kept, greatest.1.guaranteed.span);
    Some(((promise.pool, promise.resource), left))
}

fn say(
    cluster: &Cluster,
    left: &BTreeMap<(usize, &str), Left>,
    title: &str,
    (device, asks, pools): (&str, u64, &[usize]),
    span: Span,
    report: &mut Report,
) {
    let found: Option<Vec<_>> = pools
        .iter()
        .map(|pool| left.get(&(*pool, device)))
        .collect();
    // A pool of which nobody was promised anything is free.
    let Some(found) = found.filter(|it| !it.is_empty()) else {
        return;
    };
    let free = found.iter().map(|it| it.0).fold(0, u64::saturating_add);
    if asks <= free {
        return;
    }
    let message = format!("{title} is of no team, and takes `{device}` that teams are guaranteed");
    let mut draft = report.draft(&RULE.code, span, message);
    draft = draft.here(format!(
        "asks for {asks}, and {free} are guaranteed to nobody"
    ));
    for (pool, (_, place)) in pools.iter().zip(found) {
        let pool = &cluster.pools[*pool];
        draft = draft.label(*place, format!("guaranteed of pool `{}`", pool.name));
    }
    let help = if title.starts_with("notebook") {
        "name another pool, guarantee fewer, or give the pool more nodes"
    } else {
        "write the workload's `team`, guarantee fewer, or give the pool more nodes"
    };
    draft.help(help).emit();
}

#[cfg(test)]
mod tests {
    use crate::check::testing::messages;

    #[track_caller]
    fn check(guaranteed: u32, workload: &str, expected: &[&str]) {
        let yaml = format!(
            "
            cloud: {{onPrem: {{context: demo}}}}
            nodePools:
              - {{name: one, gpu: {{model: A30, perNode: 2}}, hosts: [a, b], nodes: {{count: 2}}}}
              - {{name: two, gpu: {{model: L4, perNode: 2}}, hosts: [c], nodes: {{count: 1}}}}
            teams: [{{name: t, quota: {{gpus: [{{pool: one, guaranteed: {guaranteed}}}]}}}}]
            {workload}
            "
        );
        assert_eq!(
            messages(&yaml, "GPUC2132"),
            expected,
            "{guaranteed} {workload}"
        );
    }

    #[test]
    fn promises_are_kept_from_what_is_nobodys() {
        let service = |more: &str| {
            format!(
                "workloads: [{{name: w, {more} deployment: {{image: 'r.example.com/a:1', gpus: 1, replicas: 2}}}}]"
            )
        };
        let taken =
            "workload `w` is of no team, and takes `nvidia.com/gpu` that teams are guaranteed";
        check(4, &service("pool: one,"), &[taken]);
        check(3, &service("pool: one,"), &[taken]);
        check(2, &service("pool: one,"), &[]);
        // Of the other pool nobody was promised anything.
        check(4, &service(""), &[]);
        check(4, &service("pool: one, team: t,"), &[]);
        let notebook = "notebooks: {jupyterHub: {profiles: [{name: a, pool: one, gpus: 1}]}}";
        let taken =
            "notebook `a` is of no team, and takes `nvidia.com/gpu` that teams are guaranteed";
        check(4, notebook, &[taken]);
        check(3, notebook, &[]);
    }
}
