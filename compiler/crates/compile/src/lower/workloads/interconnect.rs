//! The interconnect resources and settings of pods that communicate between nodes.

use gpuc_schema::config::Task;
use serde_json::{Map, Value, json};

use gpuc_model::cloud::{InterconnectSettings, PodAdditions, PodClaim};
use gpuc_model::plan::Object;
use gpuc_model::{AdvertisedResource, PodGpuRequest, Pool, RDMA_RESOURCE};

use super::WorkloadContext;
use crate::lower::claims;

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
    /// The names of its ResourceClaims in the pod, each with that of the template.
    pub(super) claims: Vec<(&'static str, String)>,
}

impl InterconnectNeeds {
    /// Adds node labels and ResourceClaims to the spec of a pod.
    pub(super) fn add_to_spec(&self, spec: &mut Value) {
        for (key, value) in &self.additions.node_selector {
            spec["nodeSelector"][key] = value.clone();
        }
        if self.claims.is_empty() {
            return;
        }
        let claims = (self.claims.iter())
            .map(|(name, template)| json!({"name": name, "resourceClaimTemplateName": template}));
        let own = spec["resourceClaims"].as_array().cloned();
        let all: Vec<Value> = own.into_iter().flatten().chain(claims).collect();
        spec["resourceClaims"] = json!(all);
    }

    /// The command of a container: the settings of the interconnect first, if it has any, then the command of the file.
    pub(super) fn command(&self, command: &[&str]) -> Vec<String> {
        let own = command.iter().map(|word| (*word).to_owned());
        let Some(setup) = self.additions.setup.filter(|_| !command.is_empty()) else {
            return own.collect();
        };
        // `$0` is the name of the shell in its messages.
        let shell = [
            "/bin/bash",
            "-c",
            &format!("{setup} && exec \"$@\""),
            "bash",
        ];
        shell.map(str::to_owned).into_iter().chain(own).collect()
    }
}

/// Whether the pods of a task communicate with pods on other nodes.
pub(super) fn uses_interconnect(task: Task<'_>) -> bool {
    task.nodes().is_some_and(|nodes| nodes.value > 1)
}

/// The interconnect requirements of a task's pods on a pool.
pub(super) fn interconnect_needs(
    work: &WorkloadContext<'_>,
    gpu_request: PodGpuRequest<'_>,
    pool: &Pool,
) -> InterconnectNeeds {
    let network = &pool.settings.network;
    let has_interconnect = !pool.interconnect.is_empty()
        || network.gpudirect.is_some()
        || network.compute_domains.is_some();
    if !uses_interconnect(work.task) || !has_interconnect {
        return InterconnectNeeds::default();
    }
    let InterconnectSettings {
        env,
        huge_pages_mib,
        additions,
    } = work.cluster.cloud.interconnect_settings(work.cluster, pool);
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
        claims: (additions.claims.iter())
            .map(|claim| (claim.name, template_name(work, claim.name)))
            .chain(
                (network.compute_domains.iter())
                    .map(|_| (CHANNEL_CLAIM, template_name(work, CHANNEL_CLAIM))),
            )
            .collect(),
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

/// The name of the template of a claim: names are unique in the namespace of the workload.
fn template_name(work: &WorkloadContext<'_>, claim: &str) -> String {
    format!("{}-{claim}", work.name())
}

/// The name of the claim of an IMEX channel in a pod.
const CHANNEL_CLAIM: &str = "imex-channel";

/// The ComputeDomain of a workload: its controller starts an IMEX daemon on each node of its pods, and creates the
/// template of their claims. The deprecated number of nodes is 0, so that a pod starts as soon as the daemon of its own
/// node is ready.
///
/// Source: kubernetes-sigs/dra-driver-nvidia-gpu@v0.4.0 `api/nvidia.com/resource/v1beta1/computedomain.go` and
/// `site/content/docs`, read 2026-11-28.
fn compute_domain(work: &WorkloadContext<'_>) -> Value {
    json!({
        "apiVersion": "resource.nvidia.com/v1beta1",
        "kind": "ComputeDomain",
        "metadata": work.metadata(work.name()),
        "spec": {
            "numNodes": 0,
            "channel": {
                "allocationMode": "Single",
                "resourceClaimTemplate": {"name": template_name(work, CHANNEL_CLAIM)},
            },
        },
    })
}

/// The objects behind the ResourceClaims of a workload's pods for their interconnect: templates, and the ComputeDomain,
/// whose controller creates its template.
pub(super) fn claim_objects(work: &WorkloadContext<'_>) -> Vec<Object> {
    let needs = super::pod::combined_needs(work, &work.pools);
    let mut claims = needs.claims.iter();
    let has_domain = claims.any(|(name, _)| *name == CHANNEL_CLAIM);
    let domain = has_domain.then(|| work.object(super::COMPONENT, &compute_domain(work)));
    let template = |claim: &PodClaim| {
        json!({
            "apiVersion": claims::API_VERSION,
            "kind": "ResourceClaimTemplate",
            "metadata": work.metadata(&template_name(work, claim.name)),
            "spec": {"spec": {"devices": {"requests": [{
                "name": claim.name,
                "exactly": {
                    "deviceClassName": claim.device_class,
                    "allocationMode": "ExactCount",
                    "count": claim.count,
                },
            }]}}},
        })
    };
    (needs.additions.claims.iter())
        .map(|claim| work.object(super::COMPONENT, &template(claim)))
        .chain(domain)
        .collect()
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
