//! `stack`: who installs the driver and who advertises GPUs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Spanned;

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
    /// Who advertises GPUs to the kubelet. Default: `gpuc`.
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
