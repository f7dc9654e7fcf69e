//! `nodePools.network.gpudirect`: GPUDirect-TCPX and GPUDirect-TCPXO on GKE.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Spanned;

/// GPUDirect-TCPXO or GPUDirect-TCPX: GPUs communicate with GPUs on other nodes over dedicated networks, without the
/// CPU.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Gpudirect {
    /// The network of each GPU network interface of the machine, in order: eight with `a3-megagpu-8g`, four with
    /// `a3-highgpu-8g`. gpuc does not create these networks. Each one is a separate VPC network in the cluster's
    /// project; Google recommends an MTU of 8244.
    #[schemars(length(min = 1, max = 8))]
    pub interfaces: Vec<Spanned<GpudirectInterface>>,
}

/// The network of one network interface.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GpudirectInterface {
    /// The name of the VPC network.
    #[schemars(extend("examples" = ["gpu-0"]))]
    pub network: Spanned<String>,
    /// The name of the network's subnetwork in the cluster's region. Pods refer to the network by this name.
    #[schemars(extend("examples" = ["gpu-0-us-central1"]))]
    pub subnetwork: Spanned<String>,
}
