//! What pods on several nodes need of the fast network of their pool, where it has one.

use gpuc_schema::config::Task;
use serde_json::{Map, Value, json};

use crate::cloud::{FabricSettings, PodParts};
use crate::model::{Cluster, GpuAsk, Offer, Pool, RDMA_RESOURCE};

/// What a pod needs.
#[derive(Default)]
pub(super) struct Needs {
    /// What it asks for beside its GPUs.
    pub(super) resources: Map<String, Value>,
    /// What it needs only where it says how much memory it wants: Kubernetes takes huge pages with memory or CPU alone.
    pub(super) huge_pages: Option<String>,
    /// Its environment.
    pub(super) env: &'static [(&'static str, &'static str)],
    /// What its container may do that others may not.
    pub(super) capabilities: Vec<&'static str>,
    /// What else it has; its container's capabilities are those above.
    pub(super) parts: PodParts,
}

/// Whether the pods of a task talk to others on other nodes.
pub(super) fn is_used(task: Task<'_>) -> bool {
    task.nodes().is_some_and(|nodes| nodes.value > 1)
}

/// What a pod of a task needs on a pool.
pub(super) fn needs(cluster: &Cluster, task: Task<'_>, ask: GpuAsk<'_>, pool: &Pool) -> Needs {
    let has_one = !pool.fabric.is_empty() || pool.written.network.gpudirect.is_some();
    if !is_used(task) || !has_one {
        return Needs::default();
    }
    let FabricSettings {
        env,
        huge_pages_mib,
        parts,
    } = cluster.cloud.fabric_settings(pool);
    let part = Part::of(ask, pool);
    let mut needs = Needs {
        env,
        huge_pages: (huge_pages_mib > 0).then(|| {
            // Whole pages of 2 MiB.
            let mib = part.of_all(huge_pages_mib / 2) * 2;
            format!("{mib}Mi")
        }),
        capabilities: parts.capabilities.to_vec(),
        parts,
        ..Needs::default()
    };
    // What is read and written by a card cannot move. Source: NVIDIA Network Operator 26.4, deployment examples: test
    // pods of shared RDMA devices have `IPC_LOCK` (from memory).
    let shares_cards = |offer: &Offer| offer.resource == RDMA_RESOURCE;
    // Pods with EFA need none: those of aws/aws-k8s-tester@7652d764
    // `test/cases/nvidia/manifests/mpi-job-nccl-test-multi-node.yaml` have none, read 2026-11-22.
    if pool.fabric.iter().any(shares_cards) {
        needs.capabilities.push("IPC_LOCK");
    }
    for offer in &pool.fabric {
        // Cards that pods share are had whole by each; interfaces are handed out one by one.
        let shared = offer.resource == RDMA_RESOURCE;
        let count = if shared {
            1
        } else {
            part.of_all(offer.per_node)
        };
        needs
            .resources
            .insert(offer.resource.clone(), json!(count.to_string()));
    }
    needs
}

/// The part of a node that a pod takes, by its GPUs.
struct Part {
    asked: u64,
    per_node: u64,
}

impl Part {
    fn of(ask: GpuAsk<'_>, pool: &Pool) -> Self {
        let per_node = u64::from(ask.per_node(pool, false)).max(1);
        Self {
            asked: u64::from(ask.count).min(per_node),
            per_node,
        }
    }

    /// As much of what a node has; one at least.
    fn of_all(&self, all: u32) -> u64 {
        (u64::from(all) * self.asked / self.per_node).max(1)
    }
}
