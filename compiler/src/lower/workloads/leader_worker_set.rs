//! `LeaderWorkerSets`: groups of pods that serve one model over several nodes.

use gpuc_schema::config::LeaderWorkerSet;
use serde_json::{Value, json};

use super::pod::{self, Role};
use super::{COMPONENT, Work, service};
use crate::plan::Object;

/// What each pod of a set is labelled with.
///
/// Source: <https://lws.sigs.k8s.io/docs/reference/labels-annotations-and-environment-variables/>, 2026-11-21 (from
/// memory).
const NAME: &str = "leaderworkerset.sigs.k8s.io/name";
const INDEX: &str = "leaderworkerset.sigs.k8s.io/worker-index";

/// The set, and the service of its leaders.
pub(super) fn objects(work: &Work<'_>, set: &LeaderWorkerSet) -> Vec<Object> {
    let leader = Role {
        command: set.leader.as_ref(),
        serves: true,
        ..Role::MAIN
    };
    let pods = set.pods();
    let template = |role| {
        let mut template = pod::template(work, &pods, role);
        group(work, set, &mut template);
        template
    };
    let object = json!({
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": work.queued(work.name()),
        "spec": {
            "replicas": set.replicas.value,
            "leaderWorkerTemplate": {
                "size": set.nodes.value,
                // What is left of a group cannot answer: the ranks of the others were agreed on at the start.
                "restartPolicy": "RecreateGroupOnPodRestart",
                "leaderTemplate": template(leader),
                "workerTemplate": template(Role::MAIN),
            },
        },
    });
    let leaders = json!({NAME: work.name(), INDEX: "0"});
    // What is called like the set is its own: a service by which its pods find each other. It makes none where one is
    // there already. Source: kubernetes-sigs/lws `pkg/controllers/leaderworkerset_controller.go` (from memory).
    let name = set.service_name(work.name());
    let service = set
        .service
        .as_ref()
        .map(|it| service::service(work, &name, it, &leaders));
    let mut objects = vec![work.object(COMPONENT, &object)];
    objects.extend(service);
    objects
}

/// Where Kueue places pods by the network, it places a leader and its workers for themselves, unless both say that they
/// are one group. A group has two kinds of pods, so that a leader alone is none.
///
/// Source: kueue `site/content/en/docs/concepts/topology_aware_scheduling.md`, `kueue.x-k8s.io/podset-group-name`, and
/// `pkg/controller/jobs/raycluster` webhook tests: "can only define groups of exactly 2 pod sets", 2026-11-22.
fn group(work: &Work<'_>, set: &LeaderWorkerSet, template: &mut Value) {
    let annotations = &mut template["metadata"]["annotations"];
    let placed = annotations.get(pod::TOPOLOGY).is_some();
    if set.nodes.value > 1 && placed {
        annotations["kueue.x-k8s.io/podset-group-name"] = json!(work.name());
    }
}
