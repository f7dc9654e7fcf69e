//! Queues: with Kueue a job waits until its team's quota and the pool have room for all of its pods.
//!
//! Each pool is a flavor, each team a ClusterQueue that counts what was promised to it on each pool, with a LocalQueue
//! in each of its namespaces. All teams are one cohort: what one leaves idle the others may borrow, as far as the file
//! lets them, and the cohort itself has what was promised to nobody.

mod cluster_queue;
mod cohort;
mod flavor;
mod topology;

use std::collections::BTreeSet;

use serde_json::json;

use crate::check::Checked;
use crate::model::{QUEUE, Team};
use crate::node::Origin;
use crate::plan::Object;

/// The API that has queues, at the version that Kueue stores.
const API_VERSION: &str = "kueue.x-k8s.io/v1beta2";

/// The folder of the manifests.
const COMPONENT: &str = "queues";

/// Everything that Kueue is told.
pub(super) fn objects(cluster: &Checked<'_>) -> Vec<Object> {
    if !cluster.has_queues() {
        return Vec::new();
    }
    let grants = cluster.teams.iter().flat_map(Team::grants);
    let pools: BTreeSet<usize> = grants.map(|grant| grant.pool).collect();
    let pools = pools.into_iter().map(|index| &cluster.pools[index]);
    let mut objects: Vec<Object> = pools.map(|pool| flavor::of_pool(cluster, pool)).collect();
    objects.extend(anywhere(cluster));
    objects.extend(topology::object(cluster));
    objects.push(cohort::object(cluster));
    for team in &cluster.teams {
        objects.push(cluster_queue::object(cluster, team));
        let spaces = team.namespaces.iter();
        objects.extend(spaces.map(|space| local_queue(&space.value, &team.name.value, space.span)));
    }
    objects.extend(priorities(cluster));
    objects
}

/// The flavor of CPU and memory, where teams have a quota of them.
fn anywhere(cluster: &Checked<'_>) -> Option<Object> {
    let counted = cluster.teams.iter().flat_map(Team::counted_anywhere);
    let mut inputs = counted.map(|(_, _, span)| span).peekable();
    inputs.peek()?;
    let why = "CPU and memory of a team are counted on whatever nodes they are";
    Some(flavor::anywhere(Origin::rule(inputs, why)))
}

/// The queue that jobs of a namespace wait in. A queue of this name takes jobs that name none.
///
/// Source: `LocalQueueDefaulting`, on since 0.12, in kubernetes-sigs/kueue `pkg/features/kube_features.go`, read
/// 2026-11-21.
fn local_queue(namespace: &str, team: &str, span: crate::source::Span) -> Object {
    let object = json!({
        "apiVersion": API_VERSION,
        "kind": "LocalQueue",
        "metadata": {
            "name": QUEUE,
            "namespace": namespace,
            "labels": {"app.kubernetes.io/managed-by": "gpuc"},
        },
        "spec": {"clusterQueue": team},
    });
    let why = "jobs of the team's namespaces wait in its queue, also those that name none";
    Object::new(COMPONENT, &object, Origin::rule([span], why))
}

/// Priorities for queues, called as those of pods: a job that names none of these waits by its pods' priority.
fn priorities(cluster: &Checked<'_>) -> impl Iterator<Item = Object> {
    cluster.written.priorities.iter().map(|priority| {
        let mut object = json!({
            "apiVersion": API_VERSION,
            "kind": "WorkloadPriorityClass",
            "metadata": {
                "name": priority.value.name.value,
                "labels": {"app.kubernetes.io/managed-by": "gpuc"},
            },
            "value": priority.value.value.value,
        });
        if let Some(description) = &priority.value.description {
            object["description"] = json!(description.value);
        }
        let inputs = [priority.value.name.span, priority.value.value.span];
        let why = "a job can wait by a priority that its pods do not have";
        Object::new(COMPONENT, &object, Origin::rule(inputs, why))
    })
}
