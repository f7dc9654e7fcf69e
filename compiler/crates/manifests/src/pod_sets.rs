//! Pod sets that Kueue admits together.
//!
//! Source: kubernetes-sigs/kueue `pkg/controller/jobs`, where each kind says what its pod sets are; pods of other
//! kinds are each a workload of their own, by the integration `pod` (from memory).

use gpuc_model::scheduling::{Demand, Feasibility, PodGroup, RunningWorkload};
use gpuc_model::{Cluster, DEFAULT_QUEUE};
use gpuc_syntax::node::Node;

use super::pod::Pod;
use super::read::Object;
use super::scheduling::{evaluate_pools, is_queued, queue_label};
use super::{CheckContext, gang_scheduling, jobs, operator_pods, services};

/// Kinds whose pods are admitted together in any queue.
const ADMITTED_TOGETHER: &[&str] = &[
    "CronJob",
    "JAXJob",
    "JobSet",
    "LeaderWorkerSet",
    "MPIJob",
    "PaddleJob",
    "PyTorchJob",
    "RayCluster",
    "RayJob",
    "RayService",
    "StatefulSet",
    "TFJob",
    "TrainJob",
    "XGBoostJob",
];

/// Whether queues admit all pods of an object together.
fn is_admitted_together(cluster: &Cluster, object: &Object) -> bool {
    let settings = cluster.config.kueue.as_ref();
    match object.kind.as_str() {
        // Volcano jobs use the queues of Volcano.
        "Job" => object.is_in_group("batch"),
        "SparkApplication" => settings.is_some_and(|it| !it.job_kinds.is_empty()),
        kind => ADMITTED_TOGETHER.contains(&kind),
    }
}

/// The number of an object's pods that start together.
fn pod_set_size(cluster: &Cluster, object: &Object, pods: u64) -> u64 {
    if !is_admitted_together(cluster, object) {
        return pods.min(1);
    }
    if object.kind != "LeaderWorkerSet" {
        return pods;
    }
    // Each group starts separately.
    let groups = object.root.get("spec").and_then(|it| it.get("replicas"));
    let groups = groups.and_then(Node::text).and_then(|it| it.parse().ok());
    pods.checked_div(groups.unwrap_or(1)).unwrap_or(0)
}

/// The loads in the queues that gpuc creates. Pods that start together are one load.
pub(super) fn queued_workloads<'p, 's>(
    ctx: &'p CheckContext<'s>,
) -> Vec<(&'p Pod<'s>, RunningWorkload<'s>)> {
    let cluster = ctx.cluster;
    let mut loads: Vec<(&'p Pod<'s>, RunningWorkload<'s>)> = Vec::new();
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
        let Some((demand, verdicts)) =
            evaluate_pools(cluster, &ctx.claims, pod).filter(|_| pods > 0)
        else {
            continue;
        };
        let plain = services::load_without_pools(ctx, pod, pods, demand);
        let verdicts = verdicts.iter();
        let pools = verdicts.filter(|verdict| verdict.feasibility() != Feasibility::DoesNotFit);
        let part = RunningWorkload {
            span: count.and_then(|it| it.span).unwrap_or(plain.span),
            pools: pools.map(|verdict| verdict.pool).collect(),
            ..plain
        };
        let is_next = |last: &&mut (&Pod<'s>, RunningWorkload<'s>)| {
            std::ptr::eq(last.0.object, pod.object) && is_admitted_together(cluster, pod.object)
        };
        match loads.last_mut().filter(is_next) {
            None => loads.push((pod, part)),
            Some((_, whole)) => gang_scheduling::merge_workload(whole, part),
        }
    }
    loads.retain(|(_, load)| !load.pools.is_empty());
    loads
}

/// Whether a pod waits in a queue that gpuc creates.
pub(super) fn is_in_generated_queue(cluster: &Cluster, pod: &Pod<'_>) -> bool {
    let queue = queue_label(pod.object).and_then(Node::text);
    let namespace = pod.object.namespace.as_deref();
    let has_team = namespace.is_some_and(|it| cluster.team_of_namespace(it).is_some());
    let is_generated_queue = queue.is_none_or(|it| it == DEFAULT_QUEUE);
    has_team && is_generated_queue && is_queued(cluster, pod) && !pod.is_of_daemon_set()
}

/// This many pods as a group.
pub(super) fn pod_group(cluster: &Cluster, object: &Object, pods: u64, demand: Demand) -> PodGroup {
    PodGroup {
        pods,
        pod_sets: vec![pod_set_size(cluster, object, pods)],
        demand,
    }
}
