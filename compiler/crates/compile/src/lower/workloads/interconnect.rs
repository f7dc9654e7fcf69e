//! The interconnect resources and settings of pods that communicate between nodes.

use gpuc_schema::config::Task;
use serde_json::{Map, Value, json};

use gpuc_model::cloud::{InterconnectSettings, PodAdditions};
use gpuc_model::{AdvertisedResource, Cluster, PodGpuRequest, Pool, RDMA_RESOURCE};

/// The interconnect requirements of a pod.
#[derive(Default)]
pub(super) struct InterconnectNeeds {
    /// The resources that it requests in addition to its GPUs.
    pub(super) resources: Map<String, Value>,
    /// Huge pages, which it requests only together with memory: Kubernetes allows huge pages only with memory or CPU.
    pub(super) huge_pages: Option<String>,
    /// Its environment variables.
    pub(super) env: &'static [(&'static str, &'static str)],
    /// The additional capabilities of its container.
    pub(super) capabilities: Vec<&'static str>,
    /// Its injected components; their capabilities are included in `capabilities`.
    pub(super) additions: PodAdditions,
}

/// Whether the pods of a task communicate with pods on other nodes.
pub(super) fn uses_interconnect(task: Task<'_>) -> bool {
    task.nodes().is_some_and(|nodes| nodes.value > 1)
}

/// The interconnect requirements of a task's pods on a pool.
pub(super) fn interconnect_needs(
    cluster: &Cluster,
    task: Task<'_>,
    gpu_request: PodGpuRequest<'_>,
    pool: &Pool,
) -> InterconnectNeeds {
    let has_interconnect =
        !pool.interconnect.is_empty() || pool.settings.network.gpudirect.is_some();
    if !uses_interconnect(task) || !has_interconnect {
        return InterconnectNeeds::default();
    }
    let InterconnectSettings {
        env,
        huge_pages_mib,
        additions,
    } = cluster.cloud.interconnect_settings(pool);
    let fraction = NodeFraction::new(gpu_request, pool);
    let mut needs = InterconnectNeeds {
        env,
        huge_pages: (huge_pages_mib > 0).then(|| {
            // Whole pages of 2 MiB.
            let mib = fraction.scale(huge_pages_mib / 2) * 2;
            // In the form in which the API server stores it: it counts another one as a change with every apply.
            if mib.is_multiple_of(1024) {
                format!("{}Gi", mib / 1024)
            } else {
                format!("{mib}Mi")
            }
        }),
        capabilities: additions.capabilities.to_vec(),
        additions,
        ..InterconnectNeeds::default()
    };
    // RDMA devices access pinned memory. Source: NVIDIA Network Operator 26.4, deployment examples: test pods of shared
    // RDMA devices have `IPC_LOCK` (from memory).
    let is_shared = |resource: &AdvertisedResource| resource.name == RDMA_RESOURCE;
    // Pods with EFA do not need the capability: those of aws/aws-k8s-tester@7652d764
    // `test/cases/nvidia/manifests/mpi-job-nccl-test-multi-node.yaml` have none, read 2026-11-22.
    if pool.interconnect.iter().any(is_shared) {
        needs.capabilities.push("IPC_LOCK");
    }
    for resource in &pool.interconnect {
        // One shared RDMA device gives access to all adapters; network interfaces are allocated one by one.
        let count = if is_shared(resource) {
            1
        } else {
            fraction.scale(resource.per_node)
        };
        needs
            .resources
            .insert(resource.name.clone(), json!(count.to_string()));
    }
    needs
}

/// The fraction of a node's GPUs that a pod requests.
struct NodeFraction {
    requested: u64,
    per_node: u64,
}

impl NodeFraction {
    fn new(gpu_request: PodGpuRequest<'_>, pool: &Pool) -> Self {
        let per_node = u64::from(gpu_request.per_node(pool, false)).max(1);
        Self {
            requested: u64::from(gpu_request.count).min(per_node),
            per_node,
        }
    }

    /// The same fraction of an amount per node, at least 1.
    fn scale(&self, per_node: u32) -> u64 {
        (u64::from(per_node) * self.requested / self.per_node).max(1)
    }
}
