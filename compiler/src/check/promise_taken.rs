//! What is nobody's takes GPUs that teams are guaranteed.

use std::collections::{BTreeMap, BTreeSet};

use gpuc_schema::Span;

use super::places::notebooks_on_pools;
use super::{Rule, together};
use crate::diag::{Code, Report, Severity, words};
use crate::model::{Cluster, Devices, Promise};
use crate::placement::{Load, What, excesses};

/// What is nobody's takes GPUs that teams are guaranteed.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2132",
        name: "promise-taken",
        severity: Severity::Warning,
        summary: "a workload or notebook of no team takes GPUs that teams are guaranteed",
        explain: "### What it checks

Whether a workload without a `team`, or a notebook, finds as many GPUs, slices or shares as it needs
beside those that teams are guaranteed, on the pools that hold it at their most nodes. Services of no
team count together, and each job beside them.

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
    let mut loads = together::loads(cluster);
    loads.retain(|load| {
        let of_team = load.namespace.and_then(|it| cluster.team_of(it)).is_some();
        load.team.is_none() && !of_team && !load.shares_a_claim()
    });
    // By place in the list and device, who was spoken of.
    let mut said = BTreeSet::new();
    for (index, load) in loads.iter().enumerate() {
        for device in load.devices() {
            let pools: Vec<_> = load.pools.iter().map(|pool| pool.index).collect();
            let asks = load.asks(&What::Device(device.clone()));
            let asked = (device.as_str(), asks, pools.as_slice());
            if say(cluster, &left, &load.title, asked, place(load), report) {
                said.insert((index, device));
            }
        }
    }
    at_once(cluster, &left, (&loads, said), report);
    for (profile, named, pool) in notebooks_on_pools(cluster) {
        if let Some(Devices { resource, count }) = Devices::of(profile, pool) {
            let title = format!("notebook `{}`", profile.name);
            let asked = (resource.as_str(), u64::from(count), &[pool.index][..]);
            say(cluster, &left, &title, asked, named.span, report);
        }
    }
}

/// Where a workload says how many GPUs it needs.
fn place(load: &Load<'_>) -> Span {
    let task = load.workload.and_then(|it| it.task());
    let gpus = task.and_then(gpuc_schema::config::Task::gpus);
    let span = gpus.map(|it| it.span).filter(|it| it.is_written());
    span.unwrap_or(load.span)
}

/// Says of workloads that surely run at the same time that together they take what each alone does not: services, and
/// each job beside them.
fn at_once(
    cluster: &Cluster,
    left: &BTreeMap<(usize, &str), Left>,
    (loads, mut said): (&[Load<'_>], BTreeSet<(usize, String)>),
    report: &mut Report,
) {
    let devices: BTreeSet<String> = loads.iter().flat_map(Load::devices).collect();
    let jobs = (0..loads.len()).filter(|it| !loads[*it].lasts).map(Some);
    for job in [None].into_iter().chain(jobs) {
        for device in &devices {
            let things = loads.iter().enumerate().map(|(index, load)| {
                let pools: BTreeSet<_> = load.pools.iter().map(|it| it.index).collect();
                let counts =
                    (load.lasts || job == Some(index)) && !said.contains(&(index, device.clone()));
                let asks = load.asks(&What::Device(device.clone()));
                (pools, if counts { asks } else { 0 })
            });
            let things: Vec<_> = things.collect();
            let has = |pool: usize| Some(left.get(&(pool, device.as_str()))?.0);
            for excess in excesses(&things, has) {
                // What the services take alone is said of them.
                if job.is_some_and(|job| !excess.things.contains(&job)) {
                    continue;
                }
                let names = excess.things.iter().filter_map(|it| loads[*it].workload);
                let names: Vec<_> = names.map(|it| it.name.as_str()).collect();
                let message = format!(
                    "workloads {} are of no team, and together take `{device}` that teams are guaranteed",
                    words::all(&names, "and")
                );
                let mut spans = excess.things.iter().map(|it| place(&loads[*it]));
                let Some(first) = spans.next() else { continue };
                let mut draft = report.draft(&RULE.code, first, message).here(format!(
                    "they ask for {}, and {} are guaranteed to nobody",
                    excess.asked, excess.has
                ));
                for span in spans {
                    draft = draft.label(span, "together with this");
                }
                for pool in &excess.places {
                    if let Some((_, place)) = left.get(&(*pool, device.as_str())) {
                        let name = &cluster.pools[*pool].name;
                        draft = draft.label(*place, format!("guaranteed of pool `{name}`"));
                    }
                }
                draft
                    .help(
                        "write the workloads' `team`, guarantee fewer, or give the pool more nodes",
                    )
                    .emit();
                if job.is_none() {
                    let things = excess.things.iter();
                    said.extend(things.map(|it| (*it, device.clone())));
                }
            }
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
) -> bool {
    let found: Option<Vec<_>> = pools
        .iter()
        .map(|pool| left.get(&(*pool, device)))
        .collect();
    // A pool of which nobody was promised anything is free.
    let Some(found) = found.filter(|it| !it.is_empty()) else {
        return false;
    };
    let free = found.iter().map(|it| it.0).fold(0, u64::saturating_add);
    if asks <= free {
        return false;
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
    true
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
        // Two of which each would find enough.
        let two = |more: &str, other: &str| {
            let one = service("pool: one,");
            let other =
                format!(", {{name: v, {more} {other}: {{image: 'r.example.com/a:1', gpus: 1}}}}]");
            one.replace("}}]", &format!("}}}}{other}"))
        };
        let both = "workloads `w` and `v` are of no team, and together take `nvidia.com/gpu` that teams are guaranteed";
        check(2, &two("pool: one,", "deployment"), &[both]);
        check(1, &two("pool: one,", "deployment"), &[]);
        check(2, &two("pool: two,", "deployment"), &[]);
        check(2, &two("", "deployment"), &[]);
        check(2, &two("pool: one, team: t,", "deployment"), &[]);
        // A job runs beside services, and jobs one after the other.
        check(2, &two("pool: one,", "job"), &[both]);
        let jobs = two("pool: one,", "job")
            .replace("deployment: {", "job: {")
            .replace("replicas: 2", "cpu: 1");
        check(3, &jobs, &[]);
        let notebook = "notebooks: {jupyterHub: {profiles: [{name: a, pool: one, gpus: 1}]}}";
        let taken =
            "notebook `a` is of no team, and takes `nvidia.com/gpu` that teams are guaranteed";
        check(4, notebook, &[taken]);
        check(3, notebook, &[]);
    }
}
