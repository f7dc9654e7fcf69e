//! Pods that the API server refused to create, from the events of their owners.

use std::collections::{BTreeMap, BTreeSet};

use crate::doctor::context::Context;
use crate::objects::{Event, Object, ObjectRef, Timestamp};
use crate::state::Kind;

/// A pod that the API server refused to create.
pub(super) struct Refusal<'s> {
    /// The owner that creates it.
    pub(super) owner: ObjectRef,
    /// The event of the owner.
    pub(super) event: &'s Event,
    /// What the API server answered.
    pub(super) answer: Answer<'s>,
}

/// What the API server answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer<'s> {
    /// A quota has no room, or requires amounts that are not set.
    Quota,
    /// An amount is outside of a LimitRange.
    LimitRange,
    /// A webhook with this name did not answer.
    Webhook(&'s str),
    /// Another answer.
    Other,
}

impl<'s> Answer<'s> {
    /// Source of the texts: kubernetes `plugin/pkg/admission/resourcequota/controller.go`,
    /// `plugin/pkg/admission/limitranger/admission.go` and
    /// `staging/src/k8s.io/apiserver/pkg/admission/plugin/webhook/errors`, 2026-11-28.
    fn parse(message: &'s str) -> Self {
        if let Some((_, rest)) = message.split_once("failed calling webhook \"") {
            return Self::Webhook(rest.split('"').next().unwrap_or_default());
        }
        if message.contains("exceeded quota: ") || message.contains("failed quota: ") {
            return Self::Quota;
        }
        let is_limit =
            message.contains(" usage per ") || message.contains(" max limit to request ratio per ");
        if is_limit {
            Self::LimitRange
        } else {
            Self::Other
        }
    }
}

/// The seconds in which a controller that still lacks pods has tried again, twice the longest delay.
///
/// Source: kubernetes `staging/src/k8s.io/client-go/util/workqueue/default_rate_limiters.go` (1000 seconds),
/// 2026-11-28.
const REPEAT_SECONDS: u64 = 2000;

/// The pods that the API server refused lately, one for each owner that still lacks pods.
pub(super) fn refusals<'s>(ctx: &Context<'s>) -> Vec<Refusal<'s>> {
    let events = ctx.state.events.items.iter();
    let events = events.filter(|it| it.reason == "FailedCreate");
    let owners: BTreeSet<ObjectRef> = events.map(Event::subject).collect();
    if owners.is_empty() {
        return Vec::new();
    }
    let latest = latest_pods(ctx);
    let refusals = owners.into_iter().filter_map(|owner| {
        let event = ctx.event(&owner, "FailedCreate")?;
        let age = ctx.age(event.last_seen());
        if age.is_some_and(|seconds| seconds > REPEAT_SECONDS) {
            return None;
        }
        let created = latest.get(&owner).copied();
        let has_later_pod = event.last_seen().is_some() && created > event.last_seen();
        if has_later_pod || is_satisfied(ctx, &owner) {
            return None;
        }
        let answer = Answer::parse(&event.message);
        Some(Refusal {
            owner,
            event,
            answer,
        })
    });
    refusals.collect()
}

/// The time at which the latest pod of each owner was created.
fn latest_pods(ctx: &Context<'_>) -> BTreeMap<ObjectRef, Timestamp> {
    let mut latest: BTreeMap<ObjectRef, Timestamp> = BTreeMap::new();
    for pod in &ctx.state.pods.items {
        let owner = pod.metadata.controller();
        let (Some(owner), Some(time)) = (owner, pod.metadata.creation_timestamp) else {
            continue;
        };
        let owner = ObjectRef::new(&owner.kind, &pod.metadata.namespace, &owner.name);
        let known = latest.entry(owner).or_insert(time);
        *known = time.max(*known);
    }
    latest
}

/// Whether an owner needs no more pods.
fn is_satisfied(ctx: &Context<'_>, owner: &ObjectRef) -> bool {
    let ObjectRef {
        kind,
        namespace,
        name,
    } = owner;
    match kind.as_str() {
        "Job" => match ctx.state.object(Kind::Job, namespace, name) {
            Some(job) => {
                let is_true = |kind| job.condition(kind).is_some_and(|it| it.is_true());
                job.get("/spec/suspend") == true
                    || job.metadata.deletion_timestamp.is_some()
                    || is_true("Complete")
                    || is_true("Failed")
            }
            None => ctx.state.completeness(Kind::Job).is_complete(),
        },
        "DaemonSet" => {
            let mut daemon_sets = ctx.state.daemon_sets.items.iter();
            match daemon_sets
                .find(|it| it.metadata.name == *name && it.metadata.namespace == *namespace)
            {
                Some(daemon_set) => {
                    let wanted = daemon_set.status.desired_number_scheduled;
                    daemon_set.metadata.deletion_timestamp.is_some()
                        || (wanted > 0 && daemon_set.status.number_ready >= wanted)
                }
                None => ctx.state.completeness(Kind::DaemonSet).is_complete(),
            }
        }
        // ReplicaSets are not read: their Deployment shows whether a pod lacks.
        "ReplicaSet" => {
            let mut deployments = ctx.state.objects(Kind::Deployment).iter();
            let own = deployments.find(|it| {
                let hash = name.strip_prefix(it.metadata.name.as_str());
                let hash = hash.and_then(|it| it.strip_prefix('-'));
                it.metadata.namespace == *namespace && hash.is_some_and(|it| !it.contains('-'))
            });
            own.is_some_and(has_all_replicas)
        }
        _ => false,
    }
}

fn has_all_replicas(deployment: &Object) -> bool {
    let number = |pointer: &str| deployment.get(pointer).as_u64();
    let wanted = number("/spec/replicas").unwrap_or(1);
    let ready = number("/status/readyReplicas").unwrap_or_default();
    let updated = number("/status/updatedReplicas").unwrap_or_default();
    ready >= wanted && updated >= wanted
}

#[cfg(test)]
mod tests {
    use crate::doctor::testing::{HEALTHY_NODE, codes, event, list_objects};

    fn refused(kind: &str, name: &str) -> String {
        let message = "Error creating: pods \"x\" is forbidden: violates PodSecurity \"restricted:latest\": x";
        event(kind, name, "FailedCreate", message, "11:50:00")
    }

    fn object(kind: &str, api: &str, name: &str, more: &str) -> String {
        format!(
            r#"{{"kind": "{kind}", "apiVersion": "{api}", {more},
              "metadata": {{"name": "{name}", "namespace": "ml"}}}}"#
        )
    }

    #[test]
    fn owners_that_need_no_more_pods_are_silent() {
        let job = |more: &str| object("Job", "batch/v1", "a", more);
        let deployment = |more: &str| object("Deployment", "apps/v1", "serve", more);
        for (kind, name, objects, expected) in [
            ("Job", "a", vec![], 1),
            ("Job", "a", vec![job(r#""spec": {}"#)], 1),
            ("Job", "b", vec![job(r#""spec": {}"#)], 0),
            ("Job", "a", vec![job(r#""spec": {"suspend": true}"#)], 0),
            (
                "Job",
                "a",
                vec![job(
                    r#""status": {"conditions": [{"type": "Complete", "status": "True"}]}"#,
                )],
                0,
            ),
            (
                "ReplicaSet",
                "serve-7d9",
                vec![deployment(
                    r#""spec": {"replicas": 2}, "status": {"readyReplicas": 1, "updatedReplicas": 1}"#,
                )],
                1,
            ),
            (
                "ReplicaSet",
                "serve-7d9",
                vec![deployment(
                    r#""spec": {"replicas": 1}, "status": {"readyReplicas": 1, "updatedReplicas": 1}"#,
                )],
                0,
            ),
            (
                "ReplicaSet",
                "serve-batch-7d9",
                vec![deployment(r#""spec": {"replicas": 0}"#)],
                1,
            ),
        ] {
            let mut items = vec![HEALTHY_NODE.to_owned(), refused(kind, name)];
            items.extend(objects);
            let (found, text) = codes(&list_objects(&items));
            assert_eq!(found.len(), expected, "{kind} {name}: {text}");
        }
    }

    #[test]
    fn owners_that_created_a_pod_later_are_silent() {
        for (time, expected) in [("11:49:00", 1), ("11:51:00", 0)] {
            let pod = format!(
                r#"{{"kind": "Pod", "apiVersion": "v1", "metadata": {{"name": "a-x", "namespace": "ml",
                    "creationTimestamp": "2026-11-28T{time}Z",
                    "ownerReferences": [{{"kind": "StatefulSet", "name": "a", "controller": true}}]}},
                  "status": {{"phase": "Running"}}}}"#
            );
            let objects = [HEALTHY_NODE, &refused("StatefulSet", "a"), &pod];
            let (found, text) = codes(&list_objects(&objects));
            assert_eq!(found.len(), expected, "{text}");
        }
    }

    #[test]
    fn events_that_are_not_repeated_are_silent() {
        for (time, expected) in [("11:30:00", 1), ("11:25:00", 0), ("10:50:00", 0)] {
            let old = refused("StatefulSet", "a").replace("11:50:00", time);
            let (found, text) = codes(&list_objects(&[HEALTHY_NODE, &old]));
            assert_eq!(found.len(), expected, "{text}");
        }
    }

    #[test]
    fn daemon_sets_with_all_pods_are_silent() {
        for (ready, expected) in [(1, 1), (2, 0)] {
            let status =
                format!(r#""status": {{"desiredNumberScheduled": 2, "numberReady": {ready}}}"#);
            let daemon_set = object("DaemonSet", "apps/v1", "a", &status);
            let objects = [HEALTHY_NODE, &refused("DaemonSet", "a"), &daemon_set];
            let (found, text) = codes(&list_objects(&objects));
            assert_eq!(found.len(), expected, "{text}");
        }
    }
}
