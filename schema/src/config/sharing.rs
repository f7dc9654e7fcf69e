//! `nodePools.sharing`: how containers share a pool's GPUs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Spanned;

pub use crate::node_config::SharePlacement;

/// How containers share a pool's GPUs.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Sharing {
    /// Each GPU is allocated to one container at a time.
    #[default]
    None,
    /// Time-slicing: containers take turns on a GPU. GPU memory is not limited per container.
    TimeSlicing(TimeSlicing),
    /// NVIDIA Multi-Process Service (MPS): containers run concurrently, each limited to a part of the GPU's memory and
    /// threads.
    Mps(Mps),
    /// Multi-Instance GPU (MIG): GPUs are partitioned into MIG devices with dedicated memory and compute.
    Mig(MigSharing),
}

impl Sharing {
    /// The `placement` of the sharing method, if set.
    pub fn placement(&self) -> Option<Spanned<SharePlacement>> {
        match self {
            Self::None => None,
            Self::TimeSlicing(slicing) => slicing.placement,
            Self::Mps(mps) => mps.placement,
            Self::Mig(mig) => mig.placement,
        }
    }
}

/// Time-slicing of GPUs.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TimeSlicing {
    /// The number of replicas that each GPU is advertised as.
    #[schemars(range(min = 2, max = 48), extend("examples" = [4]))]
    pub replicas: Spanned<u32>,
    /// Advertises replicas as `nvidia.com/gpu.shared`, so that they cannot be mistaken for full GPUs. Cluster
    /// autoscalers support only `nvidia.com/gpu`.
    #[serde(default)]
    pub rename: Spanned<bool>,
    /// Which GPU of a node is allocated first if several have free replicas. Only if gpuc-runtime advertises the GPUs.
    /// Default: `distributed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placement: Option<Spanned<SharePlacement>>,
}

/// NVIDIA Multi-Process Service (MPS).
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Mps {
    /// The number of replicas that each GPU is advertised as. Each replica gets an equal part of the GPU's memory and
    /// threads. A container can request one replica.
    #[schemars(range(min = 2, max = 48), extend("examples" = [8]))]
    pub replicas: Spanned<u32>,
    /// Advertises replicas as `nvidia.com/gpu.shared`, so that they cannot be mistaken for full GPUs.
    #[serde(default)]
    pub rename: Spanned<bool>,
    /// Which GPU of a node is allocated first if several have free replicas. Only if gpuc-runtime advertises the GPUs.
    /// Default: `distributed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placement: Option<Spanned<SharePlacement>>,
}

/// GPUs that are partitioned into MIG devices.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MigSharing {
    /// The resource names of MIG devices.
    pub strategy: Spanned<MigStrategy>,
    /// Which GPU of a node is allocated first if several have a free MIG device. Only if gpuc-runtime advertises the
    /// GPUs. Default: `distributed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placement: Option<Spanned<SharePlacement>>,
    /// The MIG geometry of each GPU. A single entry without `gpus` applies to all GPUs.
    #[schemars(length(min = 1))]
    pub per_gpu: Vec<Spanned<GpuLayout>>,
}

/// The resource names of MIG devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum MigStrategy {
    /// All MIG devices of the pool are identical and advertised as `nvidia.com/gpu`.
    Single,
    /// MIG devices are advertised by profile: `nvidia.com/mig-3g.20gb`.
    Mixed,
}

impl MigStrategy {
    /// The name of the strategy in NVIDIA's tools.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Single => "single",
            Self::Mixed => "mixed",
        }
    }
}

/// The MIG geometry of some of a node's GPUs.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GpuLayout {
    /// The indexes of the GPUs on a node. Default: all GPUs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = r"^[0-9]+(-[0-9]+)?(,[0-9]+(-[0-9]+)?)*$"), extend("examples" = ["0-3", "0,2,4-7"]))]
    pub gpus: Option<Spanned<String>>,
    /// The MIG devices of each of these GPUs.
    #[schemars(length(min = 1))]
    pub layout: Vec<Slices>,
}

/// A number of MIG devices of one profile.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Slices {
    /// The MIG profile, as listed by `nvidia-smi mig -lgip`. The available profiles depend on the GPU model: see `gpuc
    /// catalog gpus a100-sxm4-40gb`.
    #[schemars(extend("examples" = ["1g.5gb", "3g.20gb", "1g.10gb+me"]))]
    pub profile: Spanned<String>,
    /// The number of MIG devices on each GPU.
    #[schemars(range(min = 1))]
    pub count: Spanned<u32>,
}
