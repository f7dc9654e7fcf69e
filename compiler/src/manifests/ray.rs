//! How many pods Ray's clusters have.
//!
//! Source: ray-project/kuberay `ray-operator/apis/ray/v1/raycluster_types.go`, `WorkerGroupSpec`, and
//! `ray-operator/controllers/ray/utils/util.go`, `GetWorkerGroupDesiredReplicas` (from memory).

use crate::node::Node;

use super::gangs::holds;
use super::pod::Pod;
use super::read::Object;
use super::services::Count;

/// The specification of the cluster that an object is or makes.
fn cluster(object: &Object) -> Option<&Node> {
    let spec = object.root.get("spec").filter(|_| object.is_of("ray.io"))?;
    match object.kind.as_str() {
        "RayCluster" => Some(spec),
        "RayJob" => spec.get("rayClusterSpec"),
        "RayService" => spec
            .get("rayClusterConfig")
            .or_else(|| spec.get("rayClusterSpec")),
        _ => None,
    }
}

/// Whether an object makes a cluster that is there until somebody takes it away.
pub(super) fn is_service(object: &Object) -> bool {
    object.is_of("ray.io") && ["RayCluster", "RayService"].contains(&object.kind.as_str())
}

/// Whether an object makes a cluster for one job.
pub(super) fn is_job(object: &Object) -> bool {
    object.is_of("ray.io") && object.kind == "RayJob"
}

/// How many of a pod a cluster has, at least where it grows by itself.
pub(super) fn count(pod: &Pod<'_>) -> Option<Count> {
    let cluster = cluster(pod.object)?;
    let none = Count {
        pods: 0,
        span: None,
    };
    if is_suspended(cluster) {
        return Some(none);
    }
    let head = cluster.get("headGroupSpec");
    if head.is_some_and(|head| holds(head, pod)) {
        return Some(Count { pods: 1, ..none });
    }
    let mut groups = cluster.get("workerGroupSpecs")?.items().iter();
    let own = groups.find(|group| holds(group, pod))?;
    if is_suspended(own) {
        return Some(none);
    }
    let number = |key: &str, otherwise: u64| {
        let written = own.get(key);
        let pods = written.map_or(Some(otherwise), |it| it.text()?.parse().ok())?;
        let span = written.map(Node::span);
        Some(Count { pods, span })
    };
    let (least, most) = (number("minReplicas", 0)?, number("maxReplicas", u64::MAX)?);
    let grows = cluster.get("enableInTreeAutoscaling").and_then(Node::text) == Some("true");
    let wanted = if grows { least } else { number("replicas", 0)? };
    let bounded = if wanted.pods < least.pods {
        least
    } else {
        wanted
    };
    let bounded = if bounded.pods > most.pods {
        most
    } else {
        bounded
    };
    let hosts = number("numOfHosts", 1)?;
    Some(Count {
        pods: bounded.pods.saturating_mul(hosts.pods),
        span: bounded.span.or(hosts.span),
    })
}

fn is_suspended(node: &Node) -> bool {
    node.get("suspend").and_then(Node::text) == Some("true")
}
