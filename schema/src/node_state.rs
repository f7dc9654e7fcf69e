//! What gpuc-runtime publishes about the GPUs of its node, for `gpuc doctor`: an annotation of the Node.

use serde::{Deserialize, Serialize};

/// The annotation of the Node. Its value is a [`NodeGpus`] as JSON.
pub const GPUS_ANNOTATION: &str = "gpuc.dev/gpus";

/// The GPUs of a node as the driver reports them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeGpus {
    /// The version of the driver: `570.86.15`.
    pub driver: String,
    /// The CUDA version that the driver supports: `12.8`.
    pub cuda: String,
    /// The GPUs by the driver's index.
    pub gpus: Vec<NodeGpu>,
}

/// A GPU of a node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeGpu {
    /// The driver's index.
    pub index: u32,
    /// The UUID; empty if the GPU has never responded.
    pub uuid: String,
    /// The model: `NVIDIA H100 80GB HBM3`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub model: String,
    /// The PCI address: `00000000:19:00.0`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub pci: String,
    /// Whether MIG mode is on; absent if the GPU does not support MIG.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mig: Option<bool>,
    /// Whether MIG mode changes with the next reset of the GPU.
    #[serde(skip_serializing_if = "is_false")]
    pub needs_reset: bool,
    /// The profiles of its MIG devices: `1g.10gb`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub profiles: Vec<String>,
    /// The NVLink partition in a rack-scale system, as in the label `nvidia.com/gpu.clique`: `<cluster UUID>.<number>`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clique: Option<String>,
    /// Why the GPU or one of its MIG devices is not healthy: `Xid 79`. Absent if it is healthy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_false(value: &bool) -> bool {
    !value
}
