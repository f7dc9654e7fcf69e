//! The taints that GKE puts on nodes by itself.

use gpuc_schema::Span;
use gpuc_schema::config::TaintEffect;

use crate::cloud::machine::CpuArchitecture;
use crate::model::{Pool, PoolTaint, SetBy};
use crate::node::Origin;

/// The taints of a pool that nobody asked for.
pub(super) fn automatic(pool: &Pool) -> Vec<PoolTaint> {
    let mut taints = Vec::new();
    if let Some(Some(gpus)) = pool.gpus.get() {
        taints.push(taint(
            "nvidia.com/gpu",
            "present",
            gpus.chosen,
            "GKE taints nodes with GPUs in a cluster that has or had a pool without; every cluster had its first",
            "GoogleCloudPlatform/cluster-toolkit@10470803 modules/compute/gke-node-pool",
        ));
    }
    if pool.architecture() == CpuArchitecture::Arm64 {
        let machine = pool.written.machine.as_ref();
        taints.push(taint(
            "kubernetes.io/arch",
            CpuArchitecture::Arm64.label(),
            machine.map_or(pool.name.span, |machine| machine.span),
            "GKE taints Arm nodes",
            "cloud.google.com/kubernetes-engine/docs/how-to/prepare-arm-workloads-for-deployment",
        ));
    }
    taints
}

fn taint(
    key: &str,
    value: &str,
    span: Span,
    what: &'static str,
    source: &'static str,
) -> PoolTaint {
    PoolTaint {
        key: key.to_owned(),
        value: value.to_owned(),
        effect: TaintEffect::NoSchedule,
        set_by: SetBy::Cloud,
        span,
        origin: Origin::fact([span], what, source),
    }
}
