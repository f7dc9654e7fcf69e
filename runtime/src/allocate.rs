//! Which devices a container gets, and how: the answer to the kubelet.

use std::collections::BTreeMap;

/// What one container gets, in the words of the kubelet's API.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Grant {
    /// Environment variables.
    pub envs: BTreeMap<String, String>,
    /// Files and folders of the host.
    pub mounts: Vec<Mount>,
    /// Device nodes.
    pub devices: Vec<DeviceNode>,
    /// Annotations of the container, for the container runtime.
    pub annotations: BTreeMap<String, String>,
    /// Qualified names of CDI devices.
    pub cdi_devices: Vec<String>,
}

/// A file or folder of the host.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Mount {
    /// In the container.
    pub container_path: String,
    /// On the host.
    pub host_path: String,
    /// Whether the container only reads it.
    pub read_only: bool,
}

/// A device node.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DeviceNode {
    /// In the container.
    pub container_path: String,
    /// On the host.
    pub host_path: String,
    /// `rw`, or `rwm` with the right to make it.
    pub permissions: String,
}
