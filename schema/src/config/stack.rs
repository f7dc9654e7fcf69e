//! `stack`: who installs the driver and who advertises GPUs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Spanned;

pub use crate::node_config::Extra;

/// Who installs the driver and who advertises GPUs. A pool may override any of it.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Stack {
    /// Who installs the NVIDIA driver. Default: `preinstalled`; on premises `host`; on GKE with a plugin other than
    /// the cloud's, `daemonSet`; on AKS with the operator's plugin, `operator`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver: Option<Spanned<DriverOwner>>,
    /// The driver's version or branch, where gpuc installs it; with the GPU Operator a whole version. Default: the one
    /// that suits the pool's card.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["580", "595"]))]
    pub driver_version: Option<Spanned<String>>,
    /// How pods get GPUs: by a device plugin, which counts them, or by Dynamic Resource Allocation, where they claim
    /// them. Default: `devicePlugin`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allocation: Option<Spanned<Allocation>>,
    /// Who advertises GPUs to the kubelet, where `allocation` is `devicePlugin`. Default: `gpuc`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_plugin: Option<Spanned<DevicePlugin>>,
    /// The image of gpuc-runtime, with a tag or digest; needed where `devicePlugin` is `gpuc`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["registry.acme.dev/gpuc-runtime:0.1.0"]))]
    pub runtime_image: Option<Spanned<String>>,
    /// The image that installs the driver where `driver` is `daemonSet`. Default: on GKE, the installer that the node
    /// image carries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["registry.acme.dev/nvidia-driver-installer:1.0.0"]))]
    pub driver_image: Option<Spanned<String>>,
    /// What containers with GPUs get beside them, where a node has it; somebody else installs its drivers. A pool's own
    /// list takes the place of the cluster's. Default: nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = [["gdrcopy", "gds"]]))]
    pub extras: Option<Vec<Spanned<Extra>>>,
    /// Where gpuc-runtime writes what it knows of a node's GPUs as labels. Default: `node`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_labels: Option<Spanned<NodeLabels>>,
}

/// Who installs the NVIDIA driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum DriverOwner {
    /// The node image has it, or the cloud installs it.
    Preinstalled,
    /// The NVIDIA GPU Operator.
    Operator,
    /// A DaemonSet of gpuc's that runs `driverImage`.
    DaemonSet,
    /// The node's own package manager, by gpuc's script for the node. On premises.
    Host,
}

/// Who advertises GPUs to the kubelet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum DevicePlugin {
    /// gpuc-runtime.
    Gpuc,
    /// NVIDIA's device plugin, by its Helm chart.
    Nvidia,
    /// NVIDIA's device plugin, by the GPU Operator.
    Operator,
    /// The cloud, or the node's operating system.
    Cloud,
}

/// Where gpuc-runtime writes labels about a node's GPUs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum NodeLabels {
    /// To the node.
    #[default]
    Node,
    /// To a file in `/etc/kubernetes/node-feature-discovery/features.d`, for clusters where Node Feature Discovery
    /// alone labels nodes.
    FeatureFile,
    /// Nowhere.
    None,
}

/// How pods get GPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Allocation {
    /// A device plugin counts GPUs, and pods ask for a number of them.
    DevicePlugin,
    /// NVIDIA's driver for Dynamic Resource Allocation describes GPUs, and pods claim those that fit. From Kubernetes
    /// 1.34.
    Dra,
}
