//! Nodes.

use serde::Deserialize;

use super::meta::{Condition, Metadata, Timestamp};
use super::null_as_default;
use super::pod::ResourceList;

/// A node.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Node {
    /// The metadata.
    pub metadata: Metadata,
    /// The specification.
    #[serde(deserialize_with = "null_as_default")]
    pub spec: NodeSpec,
    /// The status.
    #[serde(deserialize_with = "null_as_default")]
    pub status: NodeStatus,
}

/// The specification of a node.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeSpec {
    /// Whether the node is cordoned.
    #[serde(deserialize_with = "null_as_default")]
    pub unschedulable: bool,
    /// The taints.
    #[serde(deserialize_with = "null_as_default")]
    pub taints: Vec<NodeTaint>,
    /// The cloud's identifier of the machine, such as `aws:///us-east-1a/i-0123`.
    #[serde(rename = "providerID", deserialize_with = "null_as_default")]
    pub provider_id: String,
}

/// A taint of a node.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeTaint {
    /// The key.
    #[serde(deserialize_with = "null_as_default")]
    pub key: String,
    /// The value; may be empty.
    #[serde(deserialize_with = "null_as_default")]
    pub value: String,
    /// `NoSchedule`, `PreferNoSchedule` or `NoExecute`.
    #[serde(deserialize_with = "null_as_default")]
    pub effect: String,
    /// The time at which it was added; the node controller sets it for `NoExecute` only.
    #[serde(deserialize_with = "null_as_default")]
    pub time_added: Option<Timestamp>,
}

/// The status of a node.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeStatus {
    /// The resources of the node.
    #[serde(deserialize_with = "null_as_default")]
    pub capacity: ResourceList,
    /// The resources for pods; devices that are unhealthy are not included.
    #[serde(deserialize_with = "null_as_default")]
    pub allocatable: ResourceList,
    /// The conditions.
    #[serde(deserialize_with = "null_as_default")]
    pub conditions: Vec<Condition>,
    /// The versions of the node's software.
    #[serde(deserialize_with = "null_as_default")]
    pub node_info: NodeInfo,
}

/// The versions of a node's software.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeInfo {
    /// The operating system's name and version.
    #[serde(deserialize_with = "null_as_default")]
    pub os_image: String,
    /// The kernel's version.
    #[serde(deserialize_with = "null_as_default")]
    pub kernel_version: String,
    /// The kubelet's version.
    #[serde(deserialize_with = "null_as_default")]
    pub kubelet_version: String,
    /// The container runtime and its version, such as `containerd://2.1.0`.
    #[serde(deserialize_with = "null_as_default")]
    pub container_runtime_version: String,
}

impl Node {
    /// The condition of a type.
    pub fn condition(&self, kind: &str) -> Option<&Condition> {
        self.status.conditions.iter().find(|it| it.kind == kind)
    }

    /// Whether the condition `Ready` is `True`.
    pub fn is_ready(&self) -> bool {
        self.condition("Ready").is_some_and(Condition::is_true)
    }
}
