//! `LeaderWorkerSets`: groups of pods that serve one model over several nodes.

use gpuc_schema::config::LeaderWorkerSet;
use serde_json::json;

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
                "leaderTemplate": pod::template(work, &pods, leader),
                "workerTemplate": pod::template(work, &pods, Role::MAIN),
            },
        },
    });
    let leaders = json!({NAME: work.name(), INDEX: "0"});
    let service = set
        .service
        .as_ref()
        .map(|it| service::service(work, it, &leaders));
    let mut objects = vec![work.object(COMPONENT, &object)];
    objects.extend(service);
    objects
}
