//! A workload or notebook without a team takes GPUs that are guaranteed to teams.

use std::collections::{BTreeMap, BTreeSet};

use gpuc_model::check::Rule;
use gpuc_model::scheduling::{QuotaResource, RunningWorkload, contention, find_oversubscriptions};
use gpuc_model::{Cluster, ExtendedResourceRequest, QuotaTotal};
use gpuc_schema::Span;
use gpuc_syntax::diag::{Code, Correction, Report, Severity, phrases};

use super::queries::notebooks_on_pools;

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2132",
        name: "guarantee-violated",
        severity: Severity::Warning,
        summary: "a workload or notebook without a team takes GPUs that are guaranteed to teams",
        checks: "Whether enough GPUs, MIG devices or replicas remain for a workload without a `team`, or for a
notebook, in addition to those that teams are guaranteed. The check uses the pools that the pods fit
on, at their maximum node count. Services without a team count together, and each job is added to
them.",
        reason: "A quota limits its team only. Pods without a team are not counted, and take GPUs that a team is
guaranteed. The team's pods stay pending.",
        remedy: "Set the workload's `team`, lower the guarantees, give the pool more nodes, or name another pool.
With `overcommit: true` in the pool, GPUs are allocated first come, first served, and gpuc does not
report this.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
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
        correction: Correction::Replace("guaranteed: 4", "guaranteed: 3"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let totals = cluster.quota_totals();
    // Keyed by pool and resource.
    let unallocated: BTreeMap<_, _> = totals
        .iter()
        .filter_map(|it| unallocated_gpus(cluster, it))
        .collect();
    if unallocated.is_empty() {
        return;
    }
    let mut workloads = contention::running_workloads(cluster);
    workloads.retain(|workload| {
        let is_of_team = workload
            .namespace
            .and_then(|it| cluster.team_of_namespace(it))
            .is_some();
        workload.team.is_none() && !is_of_team && !workload.shares_a_claim()
    });
    // The workloads that were reported, by index and device.
    let mut reported = BTreeSet::new();
    for (index, workload) in workloads.iter().enumerate() {
        for device in workload.devices() {
            let pools: Vec<_> = workload.pools.iter().map(|pool| pool.index).collect();
            let count = workload.requested(&QuotaResource::Device(device.clone()));
            let requested = Requested {
                title: &workload.title,
                device: &device,
                count,
                pools: &pools,
                span: gpus_span(workload),
            };
            if report_load(cluster, &unallocated, &requested, report) {
                reported.insert((index, device));
            }
        }
    }
    report_concurrent(cluster, &unallocated, &workloads, reported, report);
    for (profile, named, pool) in notebooks_on_pools(cluster) {
        if let Some(ExtendedResourceRequest { resource, count }) =
            ExtendedResourceRequest::for_notebook(profile, pool)
        {
            let title = format!("notebook `{}`", profile.name);
            // Quotas count the devices of a pool with DRA for its DeviceClass.
            let mut classes = pool.classes.iter();
            let class = classes.find(|it| it.extended_resource.as_ref() == Some(&resource));
            let requested = Requested {
                title: &title,
                device: class.map_or(&resource, |class| &class.name),
                count: u64::from(count),
                pools: &[pool.index],
                span: named.span,
            };
            report_load(cluster, &unallocated, &requested, report);
        }
    }
}

/// The location of a workload's GPU count.
fn gpus_span(workload: &RunningWorkload<'_>) -> Span {
    let task = workload.workload.and_then(|it| it.task());
    let gpus = task.and_then(gpuc_schema::config::Task::gpus);
    let span = gpus.map(|it| it.span).filter(|it| it.is_written());
    span.unwrap_or(workload.span)
}

/// Reports workloads that run at the same time, and that together take guaranteed GPUs although each alone does not:
/// services, and each job in addition to them.
fn report_concurrent(
    cluster: &Cluster,
    unallocated: &BTreeMap<(usize, &str), UnallocatedGpus>,
    workloads: &[RunningWorkload<'_>],
    mut reported: BTreeSet<(usize, String)>,
    report: &mut Report,
) {
    let devices: BTreeSet<String> = workloads
        .iter()
        .flat_map(RunningWorkload::devices)
        .collect();
    let jobs = (0..workloads.len())
        .filter(|it| !workloads[*it].is_long_running)
        .map(Some);
    for job in [None].into_iter().chain(jobs) {
        for device in &devices {
            let requests = workloads.iter().enumerate().map(|(index, workload)| {
                let pools: BTreeSet<_> = workload.pools.iter().map(|it| it.index).collect();
                let is_counted = (workload.is_long_running || job == Some(index))
                    && !reported.contains(&(index, device.clone()));
                let count = workload.requested(&QuotaResource::Device(device.clone()));
                (pools, if is_counted { count } else { 0 })
            });
            let requests: Vec<_> = requests.collect();
            let available = |pool: usize| Some(unallocated.get(&(pool, device.as_str()))?.0);
            for oversubscription in find_oversubscriptions(&requests, available) {
                // The services' own excess is reported without the job.
                if job.is_some_and(|job| !oversubscription.items.contains(&job)) {
                    continue;
                }
                let names = oversubscription
                    .items
                    .iter()
                    .filter_map(|it| workloads[*it].workload);
                let names: Vec<_> = names.map(|it| it.name.as_str()).collect();
                let message = format!(
                    "workloads {} have no team, and together take `{device}` that teams are guaranteed",
                    phrases::quoted_conjunction(&names, "and")
                );
                let mut spans = oversubscription
                    .items
                    .iter()
                    .map(|it| gpus_span(&workloads[*it]));
                let Some(first) = spans.next() else { continue };
                let mut builder =
                    report
                        .diagnostic(&RULE.code, first, message)
                        .primary_label(format!(
                            "they request {}, and {} are not guaranteed to a team",
                            oversubscription.requested, oversubscription.capacity
                        ));
                for span in spans {
                    builder = builder.label(span, "together with this");
                }
                for pool in &oversubscription.bins {
                    if let Some((_, span)) = unallocated.get(&(*pool, device.as_str())) {
                        let name = &cluster.pools[*pool].name;
                        builder = builder.label(*span, format!("guaranteed in pool `{name}`"));
                    }
                }
                builder
                    .help(
                        "set the workloads' `team`, lower the guarantee, or give the pool more nodes",
                    )
                    .emit();
                if job.is_none() {
                    let requests = oversubscription.items.iter();
                    reported.extend(requests.map(|it| (*it, device.clone())));
                }
            }
        }
    }
}

/// The number of devices of a pool that are not guaranteed, and the location of the largest guarantee.
type UnallocatedGpus = (u64, Span);

/// The devices of a pool at its maximum node count that are not guaranteed. Another rule reports excessive guarantees.
fn unallocated_gpus<'p>(
    cluster: &Cluster,
    total: &QuotaTotal<'p>,
) -> Option<((usize, &'p str), UnallocatedGpus)> {
    let (max, guaranteed) = (total.max_total(), total.guaranteed());
    if cluster.pools[total.pool].settings.overcommit.value || guaranteed > max || guaranteed == 0 {
        return None;
    }
    let largest = total.grants.iter().max_by_key(|it| it.1.guaranteed.value)?;
    let remaining = (max - guaranteed, largest.1.guaranteed.span);
    Some(((total.pool, total.resource), remaining))
}

/// Devices that a workload without a team requests.
struct Requested<'r> {
    /// The title of the workload, for messages.
    title: &'r str,
    /// The resource name of the devices.
    device: &'r str,
    /// The number of devices.
    count: u64,
    /// The indexes of the pools that the workload can use.
    pools: &'r [usize],
    /// The location of the request.
    span: Span,
}

/// Reports a request that exceeds the devices that are not guaranteed.
fn report_load(
    cluster: &Cluster,
    unallocated: &BTreeMap<(usize, &str), UnallocatedGpus>,
    requested: &Requested<'_>,
    report: &mut Report,
) -> bool {
    let Requested {
        title,
        device,
        count,
        pools,
        span,
    } = *requested;
    let capacities: Option<Vec<_>> = pools
        .iter()
        .map(|pool| unallocated.get(&(*pool, device)))
        .collect();
    // A pool without guarantees is unrestricted.
    let Some(capacities) = capacities.filter(|it| !it.is_empty()) else {
        return false;
    };
    let free = capacities
        .iter()
        .map(|it| it.0)
        .fold(0, u64::saturating_add);
    if count <= free {
        return false;
    }
    let message = format!("{title} has no team, and takes `{device}` that teams are guaranteed");
    let mut builder = report.diagnostic(&RULE.code, span, message);
    builder = builder.primary_label(format!(
        "requests {count}, and {free} are not guaranteed to a team"
    ));
    for (pool, (_, span)) in pools.iter().zip(capacities) {
        let pool = &cluster.pools[*pool];
        builder = builder.label(*span, format!("guaranteed in pool `{}`", pool.name));
    }
    let help = if title.starts_with("notebook") {
        "name another pool, lower the guarantee, or give the pool more nodes"
    } else {
        "set the workload's `team`, lower the guarantee, or give the pool more nodes"
    };
    builder.help(help).emit();
    true
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::messages_with_id;

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
            messages_with_id(&yaml, "GPUC2132"),
            expected,
            "{guaranteed} {workload}"
        );
    }

    #[test]
    fn guarantees_taken_by_pods_without_a_team_are_found() {
        let service = |more: &str| {
            format!(
                "workloads: [{{name: w, {more} deployment: {{image: 'r.example.com/a:1', gpus: 1, replicas: 2}}}}]"
            )
        };
        let message =
            "workload `w` has no team, and takes `nvidia.com/gpu` that teams are guaranteed";
        check(4, &service("pool: one,"), &[message]);
        check(3, &service("pool: one,"), &[message]);
        check(2, &service("pool: one,"), &[]);
        // The other pool has no guarantees.
        check(4, &service(""), &[]);
        check(4, &service("pool: one, team: t,"), &[]);
        // Two workloads that would each fit alone.
        let two = |more: &str, other: &str| {
            let one = service("pool: one,");
            let other =
                format!(", {{name: v, {more} {other}: {{image: 'r.example.com/a:1', gpus: 1}}}}]");
            one.replace("}}]", &format!("}}}}{other}"))
        };
        let both = "workloads `w` and `v` have no team, and together take `nvidia.com/gpu` that teams are guaranteed";
        check(2, &two("pool: one,", "deployment"), &[both]);
        check(1, &two("pool: one,", "deployment"), &[]);
        check(2, &two("pool: two,", "deployment"), &[]);
        check(2, &two("", "deployment"), &[]);
        check(2, &two("pool: one, team: t,", "deployment"), &[]);
        // A job runs at the same time as services, and jobs run one after the other.
        check(2, &two("pool: one,", "job"), &[both]);
        let jobs = two("pool: one,", "job")
            .replace("deployment: {", "job: {")
            .replace("replicas: 2", "cpu: 1");
        check(3, &jobs, &[]);
        let notebook = "notebooks: {jupyterHub: {profiles: [{name: a, pool: one, gpus: 1}]}}";
        let message =
            "notebook `a` has no team, and takes `nvidia.com/gpu` that teams are guaranteed";
        check(4, notebook, &[message]);
        check(3, notebook, &[]);
    }

    #[test]
    fn notebooks_on_pools_with_dra_are_counted_for_the_class() {
        let found = |guaranteed: u32| {
            let yaml = format!(
                "
                cloud: {{onPrem: {{context: demo}}}}
                stack: {{allocation: dra, extendedResources: true}}
                nodePools: [{{name: one, gpu: {{model: A30, perNode: 4}}, hosts: [a], nodes: {{count: 1}}}}]
                teams: [{{name: t, quota: {{gpus: [{{pool: one, guaranteed: {guaranteed}}}]}}}}]
                notebooks: {{jupyterHub: {{profiles: [{{name: a, pool: one, gpus: 1}}]}}}}
                "
            );
            messages_with_id(&yaml, RULE.code.id)
        };
        let message =
            "notebook `a` has no team, and takes `one.gpuc.dev` that teams are guaranteed";
        assert_eq!(found(4), [message]);
        assert_eq!(found(3), [""; 0]);
    }
}
