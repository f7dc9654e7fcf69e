//! The words of a CDI spec, as far as they are used here.
//!
//! Source: cncf-tags/container-device-interface `SPEC.md`, read 2026-11.

use serde::Serialize;

use crate::allocate::Node;

/// The version of the format. 0.5.0 is the first that lets a device's name begin with a digit, as an IMEX channel's
/// does, and a node have another path on the host; nothing here is younger, so that old container runtimes read it too.
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
    /// What every container gets that gets one of them.
    pub container_edits: ContainerEdits,
}

/// A device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Device {
    /// Its name within the kind.
    pub name: String,
    /// What a container gets with it.
    pub container_edits: ContainerEdits,
}

/// Changes to a container.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ContainerEdits {
    /// Variables: `NAME=value`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<String>,
    /// Device nodes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub device_nodes: Vec<DeviceNode>,
    /// Files and folders of the host.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mounts: Vec<Mount>,
    /// Programs that run before the container does.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hooks: Vec<Hook>,
}

/// A device node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DeviceNode {
    /// In the container.
    pub path: String,
    /// On the host, where that is another path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host_path: Option<String>,
}

/// A file or folder of the host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Mount {
    /// On the host.
    pub host_path: String,
    /// In the container.
    pub container_path: String,
    /// How.
    pub options: Vec<&'static str>,
}

/// A program of the host that runs before the container does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Hook {
    /// When.
    pub hook_name: &'static str,
    /// The program.
    pub path: String,
    /// Its words, its own name first.
    pub args: Vec<String>,
}

impl Spec {
    /// The spec of a kind.
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
    /// A device that is these nodes.
    pub(super) fn new(name: &str, nodes: &[Node]) -> Self {
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

impl From<&Node> for DeviceNode {
    fn from(node: &Node) -> Self {
        let elsewhere = node.host_path != node.path;
        Self {
            path: node.path.clone(),
            host_path: elsewhere.then(|| node.host_path.clone()),
        }
    }
}
