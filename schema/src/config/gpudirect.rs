//! `nodePools.network.gpudirect`: GPUs that reach those of other machines past the CPU, over networks of their own.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Spanned;

/// GPUs that reach those of other machines past the CPU, over networks of their own.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Gpudirect {
    /// The network of each of the machine's interfaces for GPUs, in their order: eight with `a3-megagpu-8g`, four with
    /// `a3-highgpu-8g`. gpuc makes none of them: each is a VPC network of its own in the cluster's project, for whose
    /// packets Google advises an MTU of 8244.
    #[schemars(length(min = 1, max = 8))]
    pub interfaces: Vec<Spanned<GpudirectInterface>>,
}

/// The network of one interface.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GpudirectInterface {
    /// The VPC network's name.
    #[schemars(extend("examples" = ["gpu-0"]))]
    pub network: Spanned<String>,
    /// The name of its subnetwork in the cluster's region. Pods know the network by it.
    #[schemars(extend("examples" = ["gpu-0-us-central1"]))]
    pub subnetwork: Spanned<String>,
}
