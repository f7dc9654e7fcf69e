//! Pod sets that Kueue admits together.
//!
//! Source: kubernetes-sigs/kueue `pkg/controller/jobs`, where each kind says what its pod sets are; pods of other
//! kinds are each a workload of their own, by the integration `pod` (from memory).

use gpuc_model::Cluster;
use gpuc_model::scheduling::{Demand, PodGroup};
use gpuc_syntax::node::Node;

use super::object::Object;

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
pub(super) fn is_admitted_together(cluster: &Cluster, object: &Object) -> bool {
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

/// This many pods as a group.
pub(super) fn pod_group(cluster: &Cluster, object: &Object, pods: u64, demand: Demand) -> PodGroup {
    PodGroup {
        pods,
        pod_sets: vec![pod_set_size(cluster, object, pods)],
        demand,
    }
}
