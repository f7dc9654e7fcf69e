//! What queues are called, and where in the network nodes are.

use gpuc_schema::config::{Quantity, QueueTopology};
use gpuc_schema::{Span, Spanned};
use serde_json::{Value, json};

use super::{Cluster, Team};

/// The label of a team's namespaces, with the team's name.
pub const TEAM_LABEL: &str = "gpuc.dev/team";

/// The queue of a team's namespace. Kueue puts jobs there that name no queue.
pub const QUEUE: &str = "default";

/// The label by which a job names its queue.
///
/// Source: kubernetes-sigs/kueue@v0.19.2 `pkg/controller/constants`, `QueueLabel` (from memory).
pub const QUEUE_LABEL: &str = "kueue.x-k8s.io/queue-name";

/// The labels that say where in the network a node is, from the widest part to the node: those that the file lists,
/// otherwise those that the cloud gives the first of the pools.
pub fn topology_levels(cluster: &Cluster, topology: &QueueTopology) -> Vec<String> {
    if !topology.levels.is_empty() {
        return topology.levels.iter().map(|it| it.value.clone()).collect();
    }
    let mut pools = topology.pools.iter().filter_map(|name| cluster.pool(name));
    let levels = pools.next().map(|pool| cluster.cloud.network_levels(pool));
    levels
        .unwrap_or_default()
        .iter()
        .map(|it| (*it).to_owned())
        .collect()
}

impl Team {
    /// What its queue counts wherever it is used, CPU, memory and pods, and where that is written.
    pub fn counted_anywhere(&self) -> impl Iterator<Item = (&'static str, Value, Span)> {
        let quota = self.written.quota.as_ref();
        let amount = |name, amount: Option<&Spanned<Quantity>>| {
            amount.map(|it| (name, json!(it.value), it.span))
        };
        let cpu = amount("cpu", quota.and_then(|it| it.cpu.as_ref()));
        let memory = amount("memory", quota.and_then(|it| it.memory.as_ref()));
        let pods = quota.and_then(|it| it.pods.as_ref());
        let pods = pods.map(|it| ("pods", json!(it.value), it.span));
        [cpu, memory, pods].into_iter().flatten()
    }
}
