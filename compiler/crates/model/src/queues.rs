//! Names of queues, topology levels, and the unpinned resources that queues count.

use gpuc_schema::Span;
use gpuc_schema::config::QueueTopology;
use serde_json::{Value, json};

use super::{Cluster, Quantity, Team};

/// The label of a team's namespaces, with the team's name.
pub const TEAM_LABEL: &str = "gpuc.dev/team";

/// The queue of a team's namespace. Kueue adds jobs without a queue to it.
pub const DEFAULT_QUEUE: &str = "default";

/// The label with the name of a job's queue.
///
/// Source: kubernetes-sigs/kueue@v0.19.2 `pkg/controller/constants`, `QueueLabel` (from memory).
pub const QUEUE_LABEL: &str = "kueue.x-k8s.io/queue-name";

/// The labels with the location of a node in the network, from the widest level to the node: those in the file,
/// otherwise those that the cloud sets on the first of the pools.
pub fn topology_levels(cluster: &Cluster, topology: &QueueTopology) -> Vec<String> {
    if !topology.levels.is_empty() {
        return topology.levels.iter().map(|it| it.value.clone()).collect();
    }
    topology
        .pools
        .iter()
        .find_map(|name| cluster.pool(name))
        .map(|pool| cluster.cloud.network_levels(pool))
        .unwrap_or_default()
        .iter()
        .map(|it| (*it).to_owned())
        .collect()
}

impl Team {
    /// The resources that the team's queue counts on all nodes, with their amounts and locations: CPU, memory and pods.
    pub fn unpinned_resources(&self) -> impl Iterator<Item = (&'static str, Value, Span)> {
        let quota = self.quota.as_ref();
        let amount =
            |name, amount: Option<&Quantity>| amount.map(|it| (name, json!(it.text), it.span));
        let cpu = amount("cpu", quota.and_then(|it| it.cpu.as_ref()));
        let memory = amount("memory", quota.and_then(|it| it.memory.as_ref()));
        let pods = quota.and_then(|it| it.pods.as_ref());
        let pods = pods.map(|it| ("pods", json!(it.value), it.span));
        [cpu, memory, pods].into_iter().flatten()
    }
}
