//! Names of queues, topology levels, and the unpinned resources that queues count.

use std::collections::{BTreeMap, BTreeSet};

use gpuc_schema::Span;
use gpuc_schema::config::QueueTopology;
use serde_json::{Value, json};

use super::{Cluster, Quantity, Team};

/// Devices of a DeviceClass that pods of workloads claim for their interconnect. Kueue admits no job with a claim of a
/// class that its configuration does not map to a resource, or of a resource that its queue does not cover.
///
/// Source: kubernetes-sigs/kueue@ff69552e `pkg/dra/claims.go`, 2026-08-23.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueuedClaim {
    /// The resource in the quota of queues: `gpuc.dev/rdma`.
    pub resource: String,
    /// The DeviceClass.
    pub device_class: &'static str,
    /// The number of devices of all pools at their maximum number of nodes.
    pub total: u64,
    /// The locations of the settings that cause the claims.
    pub spans: Vec<Span>,
}

/// The DeviceClass of IMEX channels in ComputeDomains.
///
/// Source: kubernetes-sigs/dra-driver-nvidia-gpu@v0.4.0
/// `deployments/helm/dra-driver-nvidia-gpu/templates/deviceclass-compute-domain-default-channel.yaml`, 2026-11-28.
const CHANNEL_CLASS: &str = "compute-domain-default-channel.nvidia.com";

impl Cluster {
    /// The DeviceClasses of which teams have a quota. Queues count them under their own names.
    pub fn granted_classes(&self) -> BTreeSet<&str> {
        let grants = self.teams.iter().flat_map(Team::grants);
        let claimed = grants.filter(|grant| {
            let pool = &self.pools[grant.pool];
            pool.classes
                .iter()
                .any(|class| class.name == grant.resource)
        });
        claimed.map(|grant| grant.resource.as_str()).collect()
    }

    /// The devices that pods of workloads claim for their interconnect, by resource.
    pub fn queued_claims(&self) -> Vec<QueuedClaim> {
        let mut claims: BTreeMap<String, QueuedClaim> = BTreeMap::new();
        let mut add = |name: &str, device_class, total, span| {
            let resource = format!("gpuc.dev/{name}");
            let claim = claims
                .entry(resource.clone())
                .or_insert_with(|| QueuedClaim {
                    resource,
                    device_class,
                    total: 0,
                    spans: Vec::new(),
                });
            claim.total += total;
            claim.spans.push(span);
        };
        for (pool, _) in self.gpu_pools() {
            let nodes = pool.nodes.get().map_or(0, |nodes| u64::from(nodes.max));
            let network = &pool.settings.network;
            if let Some(written) = &network.gpudirect {
                for claim in self
                    .cloud
                    .interconnect_settings(self, pool)
                    .additions
                    .claims
                {
                    let total = nodes * u64::from(claim.count);
                    add(claim.name, claim.device_class, total, written.span);
                }
            }
            if let Some(written) = network.compute_domains {
                add("imex-channel", CHANNEL_CLASS, nodes, written.span);
            }
        }
        claims.into_values().collect()
    }
}

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
