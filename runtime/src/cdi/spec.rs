//! The parts of the CDI spec that gpuc uses.
//!
//! Source: cncf-tags/container-device-interface `SPEC.md`, read 2026-11.

use serde::Serialize;

use crate::allocate::HostDeviceNode;

/// The version of the format. 0.5.0 is the first that allows a device name to begin with a digit, as for an IMEX
/// channel, and a different host path of a node. Newer features are not used, so that old container runtimes work too.
const VERSION: &str = "0.5.0";

/// A spec: the devices of one kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Spec {
    /// The version of the format.
    pub cdi_version: &'static str,
    /// Vendor and class.
    pub kind: String,
    /// The devices. There is at least one.
    pub devices: Vec<Device>,
    /// Edits for every container with one of the devices.
    pub container_edits: ContainerEdits,
}

/// A device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Device {
    /// Its name within the kind.
    pub name: String,
    /// Edits for a container with the device.
    pub container_edits: ContainerEdits,
}

/// Changes to a container.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ContainerEdits {
    /// Environment variables: `NAME=value`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<String>,
    /// Device nodes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub device_nodes: Vec<DeviceNode>,
    /// Files and directories of the host.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mounts: Vec<Mount>,
    /// Programs that run before the container starts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hooks: Vec<Hook>,
}

/// A device node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DeviceNode {
    /// The path in the container.
    pub path: String,
    /// The path on the host, if it differs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host_path: Option<String>,
}

/// A file or directory of the host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Mount {
    /// The path on the host.
    pub host_path: String,
    /// The path in the container.
    pub container_path: String,
    /// The mount options.
    pub options: Vec<&'static str>,
}

/// A program of the host that runs before the container starts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Hook {
    /// The time of the call.
    pub hook_name: &'static str,
    /// The path of the program.
    pub path: String,
    /// Its arguments, beginning with its own name.
    pub args: Vec<String>,
}

impl Spec {
    /// Creates the spec of a kind.
    pub(super) fn new(kind: String, devices: Vec<Device>, container_edits: ContainerEdits) -> Self {
        Self {
            cdi_version: VERSION,
            kind,
            devices,
            container_edits,
        }
    }
}

impl Device {
    /// Creates a device with these nodes.
    pub(super) fn new(name: &str, nodes: &[HostDeviceNode]) -> Self {
        let device_nodes = nodes.iter().map(DeviceNode::from).collect();
        Self {
            name: name.to_owned(),
            container_edits: ContainerEdits {
                device_nodes,
                ..ContainerEdits::default()
            },
        }
    }
}

impl From<&HostDeviceNode> for DeviceNode {
    fn from(node: &HostDeviceNode) -> Self {
        let elsewhere = node.host_path != node.path;
        Self {
            path: node.path.clone(),
            host_path: elsewhere.then(|| node.host_path.clone()),
        }
    }
}
