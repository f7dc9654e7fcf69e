//! The number of pods in Ray clusters.
//!
//! Source: ray-project/kuberay `ray-operator/apis/ray/v1/raycluster_types.go`, `WorkerGroupSpec`, and
//! `ray-operator/controllers/ray/utils/util.go`, `GetWorkerGroupDesiredReplicas` (from memory).

use gpuc_syntax::node::Node;

use super::object::Object;
use super::pod::Pod;
use super::pod::is_created_from;
use super::pod_count::PodCount;

/// The specification of the cluster that an object defines.
fn cluster_spec(object: &Object) -> Option<&Node> {
    let spec = object
        .root
        .get("spec")
        .filter(|_| object.is_in_group("ray.io"))?;
    match object.kind.as_str() {
        "RayCluster" => Some(spec),
        "RayJob" => spec.get("rayClusterSpec"),
        "RayService" => spec
            .get("rayClusterConfig")
            .or_else(|| spec.get("rayClusterSpec")),
        _ => None,
    }
}

/// Whether an object creates a cluster that runs until it is deleted.
pub(super) fn is_long_running(object: &Object) -> bool {
    object.is_in_group("ray.io") && ["RayCluster", "RayService"].contains(&object.kind.as_str())
}

/// Whether an object creates a cluster for one job.
pub(super) fn is_ray_job(object: &Object) -> bool {
    object.is_in_group("ray.io") && object.kind == "RayJob"
}

/// The number of pods of one template in a cluster, or the minimum if the cluster has an autoscaler.
pub(super) fn cluster_pods(pod: &Pod<'_>) -> Option<PodCount> {
    let cluster = cluster_spec(pod.object)?;
    let none = PodCount {
        pods: 0,
        span: None,
    };
    if is_suspended(cluster) {
        return Some(none);
    }
    let head = cluster.get("headGroupSpec");
    if head.is_some_and(|head| is_created_from(head, pod)) {
        return Some(PodCount { pods: 1, ..none });
    }
    let mut groups = cluster.get("workerGroupSpecs")?.items().iter();
    let own = groups.find(|group| is_created_from(group, pod))?;
    if is_suspended(own) {
        return Some(none);
    }
    let number = |key: &str, default: u64| {
        let written = own.get(key);
        let pods = written.map_or(Some(default), |it| it.text()?.parse().ok())?;
        let span = written.map(Node::span);
        Some(PodCount { pods, span })
    };
    let (min, max) = (number("minReplicas", 0)?, number("maxReplicas", u64::MAX)?);
    let scales = cluster.get("enableInTreeAutoscaling").and_then(Node::text) == Some("true");
    let desired = if scales { min } else { number("replicas", 0)? };
    let at_least = if desired.pods < min.pods {
        min
    } else {
        desired
    };
    let bounded = if at_least.pods > max.pods {
        max
    } else {
        at_least
    };
    let hosts = number("numOfHosts", 1)?;
    Some(PodCount {
        pods: bounded.pods.saturating_mul(hosts.pods),
        span: bounded.span.or(hosts.span),
    })
}

fn is_suspended(node: &Node) -> bool {
    node.get("suspend").and_then(Node::text) == Some("true")
}
