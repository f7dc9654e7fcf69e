//! Clusters of other providers and distributions.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Spanned;

/// A cluster that gpuc does not create. No script creates, labels or taints its nodes: `existing.selector` of a pool
/// selects them. On CoreWeave, gpuc writes the NodePool of a pool with `machine`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExistingPlatform {
    /// The service or the distribution of the cluster. It determines who may install the driver and advertise GPUs, and
    /// where the kubelet and the container runtime have their files.
    pub provider: Spanned<Provider>,
    /// The kubeconfig context of the cluster. Every script that accesses Kubernetes names it. Default: `metadata.name`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["cks-prod"]))]
    pub context: Option<Spanned<String>>,
}

/// The service or the distribution of a cluster that gpuc does not create.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Provider {
    /// CoreWeave Kubernetes Service. CoreWeave installs the driver and advertises the GPUs.
    Coreweave,
    /// Nebius Managed Service for Kubernetes.
    Nebius,
    /// Oracle Kubernetes Engine.
    Oci,
    /// Lambda's managed Kubernetes.
    Lambda,
    /// Crusoe Managed Kubernetes.
    Crusoe,
    /// RKE2.
    Rke2,
    /// K3s.
    K3s,
    /// k0s.
    K0s,
    /// MicroK8s.
    Microk8s,
    /// Talos Linux. Its system extensions install the driver and the container toolkit.
    Talos,
    /// OpenShift, with the GPU Operator of its OperatorHub.
    Openshift,
    /// kubeadm, and other clusters with containerd in its default folders.
    Kubeadm,
}
