//! `nodePools.network.gpudirect`: GPUDirect-TCPX, GPUDirect-TCPXO and GPUDirect RDMA on GKE.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Empty;
use crate::Spanned;

/// Who provides the networks through which GPUs communicate with GPUs on other nodes.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Gpudirect {
    /// Networks that exist, one for each network interface that the machine type has for its GPUs, in order: eight with
    /// `a3-megagpu-8g`, four with `a3-highgpu-8g`. Each one is a separate VPC network in the cluster's project; Google
    /// recommends an MTU of 8244. With `a3-ultragpu-8g` and `a4-highgpu-8g` nine, and five with `a4x-highgpu-4g`: the
    /// second interface of the host, then a subnetwork for each adapter, all in one VPC network with the network
    /// profile `ZONE-vpc-roce`.
    Interfaces(#[schemars(length(min = 1, max = 9))] Vec<Spanned<GpudirectInterface>>),
    /// gpuc's scripts create the networks, for all pools of the cluster together: a VPC network and a subnetwork for
    /// each interface, with firewall rules; with GPUDirect RDMA, one VPC network with the network profile
    /// `ZONE-vpc-roce` for the adapters, and one for the second interface of the host.
    Create(GpudirectNetworks),
    /// GKE creates the networks, and its network driver allocates the adapters to pods through ResourceClaims. For
    /// machine types with GPUDirect RDMA: `a3-ultragpu-8g`, `a4-highgpu-8g`, `a4x-highgpu-4g` and
    /// `a4x-maxgpu-4g-metal`. The cluster needs Dataplane V2, and the pool one zone.
    Managed(Empty),
}

impl Gpudirect {
    /// Whether GKE creates the networks.
    pub const fn is_managed(&self) -> bool {
        matches!(self, Self::Managed(_))
    }
}

/// The networks that gpuc creates for GPUDirect.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GpudirectNetworks {
    /// The range of their addresses: `/20` or larger, without overlap with the subnetwork of the cluster. Each
    /// subnetwork gets a 32nd of it. Pools with the same key share the networks, so all set the same range. Default:
    /// 192.168.0.0/16.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["192.168.0.0/16"]))]
    pub cidr: Option<Spanned<String>>,
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
