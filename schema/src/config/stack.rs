//! `stack`: the components that install the driver and advertise GPUs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Spanned;

pub use crate::node_config::Extra;

/// The components that install the driver and advertise GPUs. A pool can override each setting.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Stack {
    /// The component that installs the NVIDIA driver. Default: `preinstalled`. On premises: `host`. On GKE with a
    /// device plugin other than the cloud's: `daemonSet`. On AKS with the GPU Operator's device plugin: `operator`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver: Option<Spanned<DriverOwner>>,
    /// The driver's version or branch, if gpuc installs the driver. With the GPU Operator, a full version. Default: a
    /// version that supports the pool's GPU model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["580", "595"]))]
    pub driver_version: Option<Spanned<String>>,
    /// How GPUs are allocated to pods: by a device plugin, or by Dynamic Resource Allocation (DRA), through
    /// ResourceClaims. Default: `devicePlugin`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allocation: Option<Spanned<Allocation>>,
    /// Whether pods can request GPUs with `allocation: dra` in `resources.limits`, under the names that a device plugin
    /// advertises, such as `nvidia.com/gpu`. The pool's DeviceClasses take these names, and Kubernetes creates the
    /// ResourceClaims. One DeviceClass of the cluster can have a name. Requires Kubernetes 1.36 or later. Default:
    /// `false`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extended_resources: Option<Spanned<bool>>,
    /// The device plugin that advertises GPUs to the kubelet, if `allocation` is `devicePlugin`. Default: `gpuc`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_plugin: Option<Spanned<DevicePlugin>>,
    /// The image of gpuc-runtime, with a tag or digest. Required if `devicePlugin` is `gpuc`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["registry.acme.dev/gpuc-runtime:0.1.0"]))]
    pub runtime_image: Option<Spanned<String>>,
    /// The image that installs the driver, if `driver` is `daemonSet`. Default: on GKE, the installer in the node
    /// image.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["registry.acme.dev/nvidia-driver-installer:1.0.0"]))]
    pub driver_image: Option<Spanned<String>>,
    /// Additional components that the device plugin injects into containers with GPUs, if the node has them. The GPU
    /// Operator installs the drivers of `gdrcopy` and `gds` together with the GPU driver. gpuc installs no other
    /// drivers of components. A pool's list replaces the cluster's list. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = [["gdrcopy", "gds"]]))]
    pub extras: Option<Vec<Spanned<Extra>>>,
    /// Where gpuc-runtime writes the labels that describe a node's GPUs. Default: `node`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_labels: Option<Spanned<NodeLabels>>,
}

/// The component that installs the NVIDIA driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum DriverOwner {
    /// The node image includes the driver, or the cloud installs it.
    Preinstalled,
    /// The NVIDIA GPU Operator.
    Operator,
    /// A DaemonSet that gpuc deploys, running `driverImage`.
    DaemonSet,
    /// The host's package manager, run by gpuc's script for the node. On premises.
    Host,
}

/// The device plugin that advertises GPUs to the kubelet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum DevicePlugin {
    /// gpuc-runtime.
    Gpuc,
    /// The NVIDIA device plugin, installed by its Helm chart.
    Nvidia,
    /// The NVIDIA device plugin, installed by the GPU Operator.
    Operator,
    /// The device plugin of the cloud or of the node's operating system.
    Cloud,
}

/// Where gpuc-runtime writes the labels that describe a node's GPUs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum NodeLabels {
    /// To the Node object.
    #[default]
    Node,
    /// To a file in `/etc/kubernetes/node-feature-discovery/features.d`, for clusters where only Node Feature Discovery
    /// labels nodes.
    FeatureFile,
    /// No labels are written.
    None,
}

/// How GPUs are allocated to pods.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Allocation {
    /// A device plugin advertises GPUs, and pods request a number of them.
    DevicePlugin,
    /// The NVIDIA DRA driver publishes GPUs in ResourceSlices, and pods request them with ResourceClaims. Requires
    /// Kubernetes 1.34 or later.
    Dra,
}
