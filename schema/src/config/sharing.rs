//! `nodePools.sharing`: how containers share a pool's GPUs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Spanned;

pub use crate::node_config::SharePlacement;

/// How containers share a pool's GPUs.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Sharing {
    /// A GPU belongs to one container at a time.
    #[default]
    None,
    /// Containers take turns on a GPU. Nothing keeps them from using all of its memory.
    TimeSlicing(TimeSlicing),
    /// Containers run side by side through NVIDIA's Multi-Process Service, each with a share of memory and threads.
    Mps(Mps),
    /// A GPU is cut into slices with memory and compute of their own (Multi-Instance GPU).
    Mig(MigSharing),
}

impl Sharing {
    /// What was written about which GPU goes first.
    pub fn placement(&self) -> Option<Spanned<SharePlacement>> {
        match self {
            Self::None => None,
            Self::TimeSlicing(slicing) => slicing.placement,
            Self::Mps(mps) => mps.placement,
            Self::Mig(mig) => mig.placement,
        }
    }
}

/// Containers take turns on a GPU.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TimeSlicing {
    /// How many containers share one GPU.
    #[schemars(range(min = 2, max = 48), extend("examples" = [4]))]
    pub replicas: Spanned<u32>,
    /// Offer shares as `nvidia.com/gpu.shared`, so that nobody takes one for a whole GPU. Cluster autoscalers know
    /// only `nvidia.com/gpu`.
    #[serde(default)]
    pub rename: Spanned<bool>,
    /// Which GPU of a node goes first where several have room. Where gpuc-runtime advertises the GPUs. Default:
    /// `distributed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placement: Option<Spanned<SharePlacement>>,
}

/// Containers run side by side on a GPU.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Mps {
    /// How many containers share one GPU; each gets that part of its memory and threads, and can ask for one share.
    #[schemars(range(min = 2, max = 48), extend("examples" = [8]))]
    pub replicas: Spanned<u32>,
    /// Offer shares as `nvidia.com/gpu.shared`, so that nobody takes one for a whole GPU.
    #[serde(default)]
    pub rename: Spanned<bool>,
    /// Which GPU of a node goes first where several have room. Where gpuc-runtime advertises the GPUs. Default:
    /// `distributed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placement: Option<Spanned<SharePlacement>>,
}

/// GPUs cut into slices.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MigSharing {
    /// What slices are called.
    pub strategy: Spanned<MigStrategy>,
    /// Which GPU of a node goes first where several have a free slice. Where gpuc-runtime advertises the GPUs. Default:
    /// `distributed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placement: Option<Spanned<SharePlacement>>,
    /// The slices of each GPU. One entry without `gpus` stands for all of them.
    #[schemars(length(min = 1))]
    pub per_gpu: Vec<Spanned<GpuLayout>>,
}

/// What MIG slices are called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum MigStrategy {
    /// All slices of the pool are alike and offered as `nvidia.com/gpu`.
    Single,
    /// Slices are offered by profile: `nvidia.com/mig-3g.20gb`.
    Mixed,
}

/// The slices of some of a node's GPUs.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GpuLayout {
    /// Which GPUs of a node, by index. Default: all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = r"^[0-9]+(-[0-9]+)?(,[0-9]+(-[0-9]+)?)*$"), extend("examples" = ["0-3", "0,2,4-7"]))]
    pub gpus: Option<Spanned<String>>,
    /// The slices of each of these GPUs.
    #[schemars(length(min = 1))]
    pub layout: Vec<Slices>,
}

/// Some slices of one profile.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Slices {
    /// The profile, as `nvidia-smi mig -lgip` names it. Which ones exist depends on the card:
    /// `gpuc catalog gpus a100-sxm4-40gb`.
    #[schemars(extend("examples" = ["1g.5gb", "3g.20gb", "1g.10gb+me"]))]
    pub profile: Spanned<String>,
    /// How many on one GPU.
    #[schemars(range(min = 1))]
    pub count: Spanned<u32>,
}
