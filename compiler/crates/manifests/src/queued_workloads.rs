//! The workloads that wait in queues.

use gpuc_model::scheduling::{Feasibility, RunningWorkload};
use gpuc_model::{Cluster, DEFAULT_QUEUE};
use gpuc_syntax::node::Node;

use super::pod::Pod;
use super::pod_sets::is_admitted_together;
use super::running_workloads::{merge_workload, workload_without_pools};
use super::scheduling::{evaluate_pools, is_queued, queue_label};
use super::{CheckContext, gang_scheduling, jobs, operator_pods, services};

/// The workloads in the queues that gpuc creates. Pods that start together are one load.
pub(super) fn queued_workloads<'p, 's>(
    ctx: &'p CheckContext<'s>,
) -> Vec<(&'p Pod<'s>, RunningWorkload<'s>)> {
    let cluster = ctx.cluster;
    let mut workloads: Vec<(&'p Pod<'s>, RunningWorkload<'s>)> = Vec::new();
    for pod in ctx
        .pods
        .iter()
        .filter(|pod| is_in_generated_queue(cluster, pod))
    {
        let count = jobs::job_pods(cluster, pod)
            .or_else(|| gang_scheduling::gang_pods(cluster, pod))
            .or_else(|| operator_pods::spark_pods(pod))
            .or_else(|| services::configured_pods(pod));
        let pods = count.map_or(1, |it| it.pods);
        let Some((demand, evaluations)) =
            evaluate_pools(cluster, &ctx.claims, pod).filter(|_| pods > 0)
        else {
            continue;
        };
        let plain = workload_without_pools(ctx, pod, pods, demand);
        let evaluations = evaluations.iter();
        let pools =
            evaluations.filter(|evaluation| evaluation.feasibility() != Feasibility::DoesNotFit);
        let workload = RunningWorkload {
            span: count.and_then(|it| it.span).unwrap_or(plain.span),
            pools: pools.map(|evaluation| evaluation.pool).collect(),
            ..plain
        };
        let is_next = |last: &&mut (&Pod<'s>, RunningWorkload<'s>)| {
            std::ptr::eq(last.0.object, pod.object) && is_admitted_together(cluster, pod.object)
        };
        match workloads.last_mut().filter(is_next) {
            None => workloads.push((pod, workload)),
            Some((_, total)) => merge_workload(total, workload),
        }
    }
    workloads.retain(|(_, workload)| !workload.pools.is_empty());
    workloads
}

/// Whether a pod waits in a queue that gpuc creates.
pub(super) fn is_in_generated_queue(cluster: &Cluster, pod: &Pod<'_>) -> bool {
    let queue = queue_label(pod.object).and_then(Node::text);
    let namespace = pod.object.namespace.as_deref();
    let has_team = namespace.is_some_and(|it| cluster.team_of_namespace(it).is_some());
    let is_generated_queue = queue.is_none_or(|it| it == DEFAULT_QUEUE);
    has_team && is_generated_queue && is_queued(cluster, pod) && !pod.is_of_daemon_set()
}
