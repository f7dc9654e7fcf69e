//! Pods as running workloads, before their pools are known.

use gpuc_model::scheduling::{Demand, PodGroup, RunningWorkload};
use gpuc_syntax::source::Span;

use super::claims::{CLAIM_KIND, pod_claims};
use super::context::CheckContext;
use super::pod::{Container, Pod};
use super::pod_sets::pod_group;

/// The workload of this many pods, without pools.
pub(super) fn workload_without_pools<'s>(
    ctx: &CheckContext<'s>,
    pod: &Pod<'s>,
    pods: u64,
    demand: Demand,
) -> RunningWorkload<'s> {
    let namespace = pod.object.namespace.as_deref();
    let team = namespace.and_then(|it| ctx.cluster.team_of_namespace(it));
    // Pods that name the same ResourceClaim share its devices.
    let is_shared = pod_claims(pod)
        .iter()
        .any(|claim| claim.kind() == CLAIM_KIND);
    let claims = if is_shared { Vec::new() } else { demand.claims };
    RunningWorkload {
        workload: None,
        title: pod.title(),
        namespace,
        team: team.map(|(team, _)| team.name.as_str()),
        span: request_span(pod),
        is_patched: false,
        is_long_running: true,
        groups: vec![pod_group(
            ctx.cluster,
            pod.object,
            pods,
            Demand { claims, ..demand },
        )],
        pools: Vec::new(),
        storage: 0,
    }
}

/// The span of a pod's GPU request, or else of the pod.
pub(super) fn request_span(pod: &Pod<'_>) -> Span {
    let gpus = pod.gpu_containers().find_map(Container::gpu_request);
    gpus.map_or_else(|| pod.spec.span(), |entry| entry.key_span)
}

/// Adds a workload to the workload that it starts together with.
pub(super) fn merge_workload<'s>(total: &mut RunningWorkload<'s>, workload: RunningWorkload<'s>) {
    // The workload with the most devices determines the span.
    if max_group_devices(&workload) > max_group_devices(total) {
        total.span = workload.span;
    }
    total.groups.extend(workload.groups);
    // A workload may use the pools of all its parts.
    for pool in workload.pools {
        if total.pools.iter().all(|it| it.index != pool.index) {
            total.pools.push(pool);
        }
    }
}

/// The maximum number of devices of one of the workload's groups.
fn max_group_devices(workload: &RunningWorkload<'_>) -> u64 {
    let all = workload.groups.iter().map(|group| {
        let counted = group.demand.resources.iter().map(|it| it.count);
        let claimed = group.demand.claims.iter().map(|it| it.count);
        let each: u64 = counted.chain(claimed).sum();
        each.saturating_mul(group.pods)
    });
    all.max().unwrap_or_default()
}

/// One pod of each group of a workload, as separate workloads.
pub(super) fn split_into_single_pods<'c>(
    workload: &RunningWorkload<'c>,
) -> Vec<RunningWorkload<'c>> {
    let groups = workload.groups.iter().map(|group| RunningWorkload {
        groups: vec![PodGroup {
            pods: 1,
            pod_sets: vec![1],
            ..group.clone()
        }],
        ..workload.clone()
    });
    groups.collect()
}
