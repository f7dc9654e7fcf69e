//! Pod sets that Kueue admits together.
//!
//! Source: kubernetes-sigs/kueue `pkg/controller/jobs`, where each kind says what its pod sets are; pods of other
//! kinds are each a workload of their own, by the integration `pod` (from memory).

use gpuc_model::scheduling::{Answer, Demand, Group, Load};
use gpuc_model::{Cluster, QUEUE};
use gpuc_syntax::node::Node;

use super::pod::Pod;
use super::read::Object;
use super::scheduling::{held, is_queued, queue_named};
use super::{Scene, gang_scheduling, jobs, operator_pods, services};

/// Kinds whose pods are admitted together in any queue.
const WHOLE: &[&str] = &[
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
fn is_whole(cluster: &Cluster, object: &Object) -> bool {
    let settings = cluster.config.kueue.as_ref();
    match object.kind.as_str() {
        // Volcano jobs use the queues of Volcano.
        "Job" => object.is_of("batch"),
        "SparkApplication" => settings.is_some_and(|it| !it.job_kinds.is_empty()),
        kind => WHOLE.contains(&kind),
    }
}

/// The number of an object's pods that start together.
fn set_size(cluster: &Cluster, object: &Object, pods: u64) -> u64 {
    if !is_whole(cluster, object) {
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
pub(super) fn loads<'p, 's>(scene: &'p Scene<'s>) -> Vec<(&'p Pod<'s>, Load<'s>)> {
    let cluster = scene.cluster;
    let mut loads: Vec<(&'p Pod<'s>, Load<'s>)> = Vec::new();
    for pod in scene.pods.iter().filter(|pod| waits(cluster, pod)) {
        let count = jobs::job_pods(cluster, pod)
            .or_else(|| gang_scheduling::at_once(cluster, pod))
            .or_else(|| operator_pods::executors(pod))
            .or_else(|| services::count(pod));
        let pods = count.map_or(1, |it| it.pods);
        let Some((demand, verdicts)) = held(cluster, &scene.claims, pod).filter(|_| pods > 0)
        else {
            continue;
        };
        let plain = services::plain(scene, pod, pods, demand);
        let verdicts = verdicts.iter();
        let pools = verdicts.filter(|verdict| verdict.answer() != Answer::No);
        let part = Load {
            span: count.and_then(|it| it.span).unwrap_or(plain.span),
            pools: pools.map(|verdict| verdict.pool).collect(),
            ..plain
        };
        let is_next = |last: &&mut (&Pod<'s>, Load<'s>)| {
            std::ptr::eq(last.0.object, pod.object) && is_whole(cluster, pod.object)
        };
        match loads.last_mut().filter(is_next) {
            None => loads.push((pod, part)),
            Some((_, whole)) => gang_scheduling::join(whole, part),
        }
    }
    loads.retain(|(_, load)| !load.pools.is_empty());
    loads
}

/// Whether a pod waits in a queue that gpuc creates.
pub(super) fn waits(cluster: &Cluster, pod: &Pod<'_>) -> bool {
    let queue = queue_named(pod.object).and_then(Node::text);
    let namespace = pod.object.namespace.as_deref();
    let is_a_teams = namespace.is_some_and(|it| cluster.team_of(it).is_some());
    let is_ours = queue.is_none_or(|it| it == QUEUE);
    is_a_teams && is_ours && is_queued(cluster, pod) && !pod.is_of_nodes()
}

/// This many pods as a group.
pub(super) fn group(cluster: &Cluster, object: &Object, pods: u64, demand: Demand) -> Group {
    Group {
        pods,
        sets: vec![set_size(cluster, object, pods)],
        demand,
    }
}
