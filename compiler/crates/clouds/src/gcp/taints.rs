//! Taints that GKE sets on nodes.

use gpuc_schema::Span;
use gpuc_schema::config::TaintEffect;

use gpuc_model::cloud::machine::CpuArchitecture;
use gpuc_model::{PoolSpec, PoolTaint, SetBy};
use gpuc_syntax::node::Origin;

use super::flex_start;

/// Taints of a pool that GKE sets automatically.
pub(super) fn automatic_taints(pool: &PoolSpec) -> Vec<PoolTaint> {
    let mut taints = Vec::new();
    if let Some(Some(gpus)) = pool.gpus.get() {
        taints.push(automatic_taint(
            "nvidia.com/gpu",
            "present",
            gpus.span,
            "GKE taints GPU nodes in a cluster that has or had a pool without GPUs; every cluster starts with one",
            "GoogleCloudPlatform/cluster-toolkit@10470803 modules/compute/gke-node-pool",
        ));
    }
    if pool.architecture() == CpuArchitecture::Arm64 {
        let machine = pool.machine_name.as_ref();
        taints.push(automatic_taint(
            "kubernetes.io/arch",
            CpuArchitecture::Arm64.label(),
            machine.map_or(pool.name.span, |machine| machine.span),
            "GKE taints Arm nodes",
            "cloud.google.com/kubernetes-engine/docs/how-to/prepare-arm-workloads-for-deployment",
        ));
    }
    if flex_start::is_queued(pool) {
        taints.push(automatic_taint(
            flex_start::QUEUED_KEY,
            "true",
            pool.settings.capacity.span,
            "GKE taints the nodes that only a ProvisioningRequest creates",
            "GoogleCloudPlatform/cluster-toolkit modules/compute/gke-node-pool, 2026-11-28",
        ));
    }
    taints
}

fn automatic_taint(
    key: &str,
    value: &str,
    span: Span,
    reason: &'static str,
    source: &'static str,
) -> PoolTaint {
    PoolTaint {
        key: key.to_owned(),
        value: value.to_owned(),
        effect: TaintEffect::NoSchedule,
        set_by: SetBy::Cloud,
        span,
        origin: Origin::fact([span], reason, source),
    }
}
