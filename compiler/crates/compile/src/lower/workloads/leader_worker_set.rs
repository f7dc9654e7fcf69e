//! `LeaderWorkerSets`: groups of pods that serve one model over several nodes.

use gpuc_model::plan::Object;
use gpuc_schema::config::LeaderWorkerSet;
use serde_json::{Value, json};

use super::pod::{self, PodRole};
use super::{COMPONENT, WorkloadContext, service};

/// The labels of each pod of a set.
///
/// Source: <https://lws.sigs.k8s.io/docs/reference/labels-annotations-and-environment-variables/>, 2026-11-21 (from
/// memory).
const NAME: &str = "leaderworkerset.sigs.k8s.io/name";
const INDEX: &str = "leaderworkerset.sigs.k8s.io/worker-index";

/// The LeaderWorkerSet, and the Service of its leaders.
pub(super) fn objects(work: &WorkloadContext<'_>, set: &LeaderWorkerSet) -> Vec<Object> {
    let leader = PodRole {
        command: set.leader.as_ref(),
        serves_requests: true,
        ..PodRole::MAIN
    };
    let pods = set.pods();
    let template = |role| {
        let mut template = pod::pod_template(work, &pods, role);
        group(work, set, &mut template);
        template
    };
    let object = json!({
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": work.queued_metadata(work.name()),
        "spec": {
            "replicas": set.replicas.value,
            "leaderWorkerTemplate": {
                "size": set.nodes.value,
                // A group cannot serve without one of its pods: the ranks are assigned at the start.
                "restartPolicy": "RecreateGroupOnPodRestart",
                "leaderTemplate": template(leader),
                "workerTemplate": template(PodRole::MAIN),
            },
        },
    });
    let leaders = json!({NAME: work.name(), INDEX: "0"});
    // The Service with the name of the set is its own headless Service, which it does not create if a Service with this
    // name exists. Source: kubernetes-sigs/lws `pkg/controllers/leaderworkerset_controller.go` (from memory).
    let name = set.service_name(work.name());
    let service = set
        .service
        .as_ref()
        .map(|it| service::service(work, &name, it, &leaders));
    let mut objects = vec![work.object(COMPONENT, &object)];
    objects.extend(service);
    objects
}

/// Sets the pod set group for Kueue's topology-aware scheduling. Without it, Kueue places a leader and its workers
/// independently. A group must have two pod sets, so a leader without workers has none.
///
/// Source: kueue `site/content/en/docs/concepts/topology_aware_scheduling.md`, `kueue.x-k8s.io/podset-group-name`, and
/// `pkg/controller/jobs/raycluster` webhook tests: "can only define groups of exactly 2 pod sets", 2026-11-22.
fn group(work: &WorkloadContext<'_>, set: &LeaderWorkerSet, template: &mut Value) {
    let annotations = &mut template["metadata"]["annotations"];
    let uses_topology = annotations.get(pod::PREFERRED_TOPOLOGY).is_some();
    if set.nodes.value > 1 && uses_topology {
        annotations["kueue.x-k8s.io/podset-group-name"] = json!(work.name());
    }
}
