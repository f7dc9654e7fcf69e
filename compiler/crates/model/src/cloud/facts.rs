//! The constant properties of clouds and of their node images.

use std::ops::RangeInclusive;

use gpuc_schema::config::{Autoscaler, DevicePlugin, DriverOwner, OsFamily};

use super::reserved::{NodeSize, Reserved};
use super::storage::StorageFacts;
use super::support::SupportFacts;
use crate::{KubernetesVersion, Pool};

/// The directory on a node in which the GPU Operator's driver container provides the driver.
///
/// Source: NVIDIA/gpu-operator@v26.7.0 deployments/gpu-operator/values.yaml, `hostPaths.driverInstallDir`.
pub const DRIVER_DIR: &str = "/run/nvidia/driver";

/// The kubelet's directory by default.
///
/// Source: kubernetes.io/docs/reference/command-line-tools-reference/kubelet, `--root-dir`, 2026-11-29.
pub const KUBELET_DIR: &str = "/var/lib/kubelet";

/// The constant properties of a cloud.
#[derive(Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "the facts are independent of each other"
)]
pub struct CloudFacts {
    /// Its key in the file: `aws`.
    pub key: &'static str,
    /// The name of its Kubernetes service: `Amazon EKS`.
    pub name: &'static str,
    /// The supported autoscalers; the first is the default.
    pub autoscalers: &'static [Autoscaler],
    /// The supported node images; the first is the default.
    pub os: &'static [OsFacts],
    /// Whether it creates machines. If not, pools consist of the user's hosts.
    pub creates_machines: bool,
    /// The directory of the kubelet on its nodes.
    pub kubelet_dir: &'static str,
    /// The Kubernetes versions that it supports, and until when.
    pub support: &'static SupportFacts,
    /// The known regions; empty if the cloud has no regions.
    pub regions: &'static [&'static str],
    /// The region of a location; `None` if the name does not have the format of a location.
    pub region_of: fn(&str) -> Option<&str>,
    /// The term for a machine type, for messages: `EC2 instance type`.
    pub machine_term: &'static str,
    /// The rule for names of node pools.
    pub pool_name: NameRule,
    /// The rule for names of clusters.
    pub cluster_name: NameRule,
    /// The source for the fact that a taint requires a value; `None` if it does not.
    pub taint_needs_value: Option<&'static str>,
    /// The source for the fact that a removed taint of a pool is not restored, because nodes get the pool's taints only
    /// when they register. `None` if it is restored, or if nodes register without gpuc.
    pub startup_taints_source: Option<&'static str>,
    /// Whether pods that request an extended resource tolerate taints with the same key automatically, because the
    /// cloud enables the admission controller `ExtendedResourceToleration`.
    pub tolerates_requested_resources: bool,
    /// Whether it supports compact placement of a pool's nodes within one zone.
    pub has_compact_placement: bool,
    /// Whether the nodes of a pool can have several machine types.
    pub has_alternative_machines: bool,
    /// Reserved label prefixes, each with the reason.
    pub reserved_prefixes: &'static [(&'static str, &'static str)],
    /// Deprecated labels that the cloud still sets, each with its replacement.
    pub deprecated_labels: &'static [(&'static str, &'static str)],
    /// Labels without a prefix that its nodes have, and other nodes only if they are set manually.
    pub bare_labels: &'static [&'static str],
    /// The prefixes of labels that only its nodes have.
    pub label_prefixes: &'static [&'static str],
    /// The resource name prefixes of accelerators that are not NVIDIA's, each with a description.
    pub other_accelerators: &'static [(&'static str, &'static str)],
    /// The supported installers of the driver.
    pub drivers: &'static [DriverOwner],
    /// Whether gpuc has a DaemonSet that installs the driver here.
    pub has_driver_daemon_set: bool,
    /// Keywords that the cloud accepts as a driver version. If there are any, the cloud installs the selected driver.
    pub driver_keywords: &'static [&'static str],
    /// The supported device plugins.
    pub plugins: &'static [DevicePlugin],
    /// The maximum number of nodes of a pool.
    pub max_nodes: u32,
    /// The supported kinds of capacity, by key in the file: `onDemand`, `spot`, `reservation`, `capacityBlock`.
    pub capacity_kinds: &'static [&'static str],
    /// Whether the cloud runs the control plane, so that pods cannot reach its components.
    pub has_managed_control_plane: bool,
    /// Whether gpuc tells the autoscaler which resources the nodes of an empty pool will advertise, including shared
    /// GPUs. If not, the autoscaler derives them from the machine type.
    pub announces_node_resources: bool,
    /// The supported volumes; `None` if gpuc knows of none.
    pub storage: Option<&'static StorageFacts>,
    /// Whether it replaces unhealthy nodes.
    pub node_repair: NodeRepair,
    /// Whether a pool selects the release of its node image. If not, what does: the end of a help.
    pub node_image: Result<(), &'static str>,
    /// How to find out whether the network of a cluster enforces `NetworkPolicies`, for messages.
    pub policy_enforcement_check: &'static str,
    /// Lower bounds of the resources that a node reserves, by pool and size. `None` if nodes are the user's hosts,
    /// whose size is unknown.
    pub reserved_resources: Option<fn(&Pool, NodeSize) -> Reserved>,
}

/// Whether a cloud replaces unhealthy nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeRepair {
    /// Always: it cannot be turned off.
    Always,
    /// If it is enabled.
    IfEnabled,
    /// Never.
    Never,
}

/// The rule for valid names.
#[derive(Debug)]
pub struct NameRule {
    /// A description of the allowed characters: `lower-case letters, digits and -, starting with a letter`.
    pub description: &'static str,
    /// The maximum length.
    pub max: usize,
    /// Whether the characters of a name are valid, regardless of its length.
    pub is_valid: fn(&str) -> bool,
    /// The source of the rule.
    pub source: &'static str,
}

/// The properties of the node image of an operating system in a cloud.
#[derive(Debug)]
pub struct OsFacts {
    /// The family.
    pub family: OsFamily,
    /// Whether the image contains the driver, or the cloud installs it.
    pub has_driver: bool,
    /// Whether the operating system advertises the GPUs itself, and no other plugin may.
    pub has_device_plugin: bool,
    /// How containers get devices from gpuc's plugin.
    pub injection: Injection,
    /// Whether unprivileged containers select GPUs by a mount below `/var/run/nvidia-container-devices` instead of by
    /// `NVIDIA_VISIBLE_DEVICES`.
    pub visible_by_mount: bool,
    /// The folder on the host below which the driver is installed.
    pub driver_root: &'static str,
    /// The RuntimeClass of NVIDIA's container runtime, if it is not the default runtime.
    pub runtime_class: Option<RuntimeClass>,
    /// The properties of its nodes for the GPU Operator.
    pub operator_support: OperatorSupport,
    /// The supported Kubernetes versions.
    pub kubernetes: RangeInclusive<KubernetesVersion>,
    /// The source of these facts.
    pub source: &'static str,
}

/// The properties of a node image for the GPU Operator: whether the operator can install the driver, and what it finds
/// if something else installs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OperatorSupport {
    /// Whether the operator can install the driver; an error is a predicate whose subject is the name of the image.
    pub driver: Result<(), &'static str>,
    /// Whether NVIDIA's container toolkit is installed with the driver, so that the operator does not deploy it.
    pub toolkit: bool,
    /// The RuntimeClass whose handler that toolkit configures in the container runtime.
    pub runtime_class: &'static str,
    /// The folder of the driver and of the operator's toolkit, if it is neither the operator's default nor the root of
    /// the node.
    pub driver_dir: Option<&'static str>,
}

/// The error of [`OperatorSupport::driver`] for an operating system without NVIDIA driver containers.
///
/// Source: NVIDIA/gpu-driver-container `.github/image-matrix.json` @7f9a9e3f, read 2026-11-21.
pub const NO_DRIVER_CONTAINER: &str = "is not supported by NVIDIA's driver containers";

/// A RuntimeClass: its name, and its handler in the container runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RuntimeClass {
    /// The name of the RuntimeClass object.
    pub name: &'static str,
    /// The handler.
    pub handler: &'static str,
}

/// How containers get devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Injection {
    /// NVIDIA's container runtime is the node's default and reads `NVIDIA_VISIBLE_DEVICES`.
    EnvironmentVariable,
    /// The node's container runtime reads CDI specs.
    Cdi,
    /// There is no NVIDIA container runtime: the kubelet passes device nodes and mounts the driver.
    DeviceNodes {
        /// The folder on the host that holds the driver's `bin` and `lib64`.
        host: &'static str,
        /// The mount path in containers.
        container: &'static str,
    },
}
