//! Queues: with Kueue, a job waits until its team's quota and the pool have free capacity for all of its pods.
//!
//! Each pool is a ResourceFlavor. Each team is a ClusterQueue with its guaranteed amounts on each pool, and has a
//! LocalQueue in each of its namespaces. All teams form one cohort: they borrow idle quota from each other up to their
//! limits, and the cohort itself has the capacity that is not guaranteed to any team.

mod cluster_queue;
mod cohort;
mod flavor;
mod provisioning;
mod topology;

use std::collections::BTreeSet;

use serde_json::json;

use gpuc_model::check::Checked;
use gpuc_model::plan::Object;
use gpuc_model::{DEFAULT_QUEUE, Team};
use gpuc_syntax::node::Origin;

/// The API that has queues, at the version that Kueue stores.
const API_VERSION: &str = "kueue.x-k8s.io/v1beta2";

/// The folder of the manifests.
const COMPONENT: &str = "queues";

/// Kueue's objects.
pub(super) fn objects(cluster: &Checked<'_>) -> Vec<Object> {
    if !cluster.has_queues() {
        return Vec::new();
    }
    let grants = cluster.teams.iter().flat_map(Team::grants);
    let pools: BTreeSet<usize> = grants.map(|grant| grant.pool).collect();
    let pools = pools.into_iter().map(|index| &cluster.pools[index]);
    let mut objects = Vec::new();
    for pool in pools {
        objects.push(flavor::pool_flavor(cluster, pool));
        objects.extend(provisioning::objects(cluster, pool).into_iter().flatten());
    }
    objects.extend(unpinned_flavor(cluster));
    objects.extend(topology::object(cluster));
    objects.push(cohort::object(cluster));
    for team in &cluster.teams {
        objects.push(cluster_queue::object(cluster, team));
        let spaces = team.namespaces.iter();
        objects.extend(spaces.map(|space| local_queue(&space.value, &team.name.value, space.span)));
    }
    objects.extend(priority_classes(cluster));
    objects
}

/// The flavor of resources that are counted on all nodes: CPU and memory, if teams have a quota of them, and devices
/// that pods claim for their interconnect.
fn unpinned_flavor(cluster: &Checked<'_>) -> Option<Object> {
    let counted = cluster.teams.iter().flat_map(Team::unpinned_resources);
    let claimed = cluster.queued_claims().into_iter();
    let mut inputs = (counted.map(|(_, _, span)| span))
        .chain(claimed.flat_map(|claim| claim.spans))
        .peekable();
    inputs.peek()?;
    let reason = "CPU and memory of a team, and network devices, are counted on all nodes";
    Some(flavor::unpinned_flavor(Origin::rule(inputs, reason)))
}

/// The LocalQueue of a namespace. Its name makes it the default for jobs that name no queue.
///
/// Source: `LocalQueueDefaulting`, on since 0.12, in kubernetes-sigs/kueue `pkg/features/kube_features.go`, read
/// 2026-11-21.
fn local_queue(namespace: &str, team: &str, span: gpuc_syntax::source::Span) -> Object {
    let object = json!({
        "apiVersion": API_VERSION,
        "kind": "LocalQueue",
        "metadata": {
            "name": DEFAULT_QUEUE,
            "namespace": namespace,
            "labels": {"app.kubernetes.io/managed-by": "gpuc"},
        },
        "spec": {"clusterQueue": team},
    });
    let reason =
        "jobs of the team's namespaces wait in its queue, including those without a queue label";
    Object::new(COMPONENT, &object, Origin::rule([span], reason))
}

/// WorkloadPriorityClasses with the names of the PriorityClasses. A job without one uses its pods' priority.
fn priority_classes(cluster: &Checked<'_>) -> impl Iterator<Item = Object> {
    cluster.config.priorities.iter().map(|priority| {
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
        let reason = "a job can have a queue priority that its pods do not have";
        Object::new(COMPONENT, &object, Origin::rule(inputs, reason))
    })
}
