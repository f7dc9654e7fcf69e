//! Clouds: one folder each, and the traits that they implement: [`Catalog`], [`NodeFacts`] and [`Provision`], together
//! [`Cloud`].
//!
//! Code outside a cloud's folder does not name it. Checks, charts and lowering use its [`CloudFacts`] and methods, so a
//! new cloud is a new folder in `gpuc-clouds` and a line in its list.

pub mod cpu;
mod facts;
mod labels;
pub mod machine;
pub mod ownership;
pub mod reserved;
pub mod storage;
mod support;
mod types;

use std::collections::BTreeMap;

use gpuc_schema::config::{
    Autoscaler, CloudSection, DevicePlugin, DriverOwner, GpuCluster, LocalDisks, NodePool,
    OsFamily, Rdma, Sharing,
};
use gpuc_schema::gpu::GpuModel;
use gpuc_schema::{Span, Spanned};
use serde_json::{Map, Value};

use crate::check::{Checked, Rule};
use crate::fabric::{BandwidthFloor, Fabric};
use crate::plan::{AutoUpgrade, NodeProvisioner, Object, Provisioning, ResourceKind};
use crate::{AdvertisedResource, Cluster, DaemonSetRequests, Label, Pool, PoolSpec, PoolTaint};
pub use facts::{
    CloudFacts, DRIVER_DIR, Injection, KUBELET_DIR, NO_DRIVER_CONTAINER, NameRule, NodeRepair,
    OperatorSupport, OsFacts, RuntimeClass,
};
pub use labels::topology_labels;
use machine::Machine;
pub use machine::MachineName;
use storage::VolumeType;
pub use support::{SupportFacts, SupportWindow};
pub use types::{CloudLabel, DiskRange, NoRdma, NodeDisk, ProvisioningClass};

/// Settings of pods that use a pool's interconnect.
#[derive(Clone, Debug, Default)]
pub struct InterconnectSettings {
    /// Environment variables and their values.
    pub env: &'static [(&'static str, &'static str)],
    /// The memory in 2 MiB huge pages that a node reserves for it and that a pod with all of its GPUs uses, in MiB; 0
    /// if it reserves none.
    pub huge_pages_mib: u32,
    /// Components that are injected into the pods.
    pub additions: PodAdditions,
}

/// Components that are injected into a pod.
#[derive(Clone, Debug, Default)]
pub struct PodAdditions {
    /// Annotations.
    pub annotations: Map<String, Value>,
    /// Volumes, with names that are longer than those in the file can be.
    pub volumes: Vec<Value>,
    /// Volume mounts of the main container.
    pub mounts: Vec<Value>,
    /// Sidecar containers, which start before the main container.
    pub sidecars: Vec<Value>,
    /// Additional capabilities of the main container.
    pub capabilities: &'static [&'static str],
    /// A shell command that sets environment variables before the program of the main container starts.
    pub setup: Option<&'static str>,
    /// Labels that the pod selects its nodes by, in addition to those of the pool.
    pub node_selector: Map<String, Value>,
    /// Devices that the pod claims.
    pub claims: Vec<PodClaim>,
}

/// Devices of a DeviceClass of the cloud that a pod claims.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PodClaim {
    /// The name of the claim in the pod.
    pub name: &'static str,
    /// The DeviceClass.
    pub device_class: &'static str,
    /// The number of devices.
    pub count: u32,
}

/// The machine types of a cloud.
pub trait Catalog {
    /// Its machine types with GPUs.
    fn machines(&self) -> Vec<&'static Machine>;

    /// The machine type with GPUs and with this name.
    fn machine(&self, name: &str) -> Option<&'static Machine>;

    /// Classifies a machine type that the catalog does not contain by its name.
    fn machine_name(&self, name: &str) -> MachineName;

    /// Whether GPUs can be attached to a machine type without built-in GPUs. `None` if the cloud does not support this;
    /// an error has the reason for messages.
    fn attach(
        &self,
        machine: &str,
        model: &'static GpuModel,
        count: u32,
    ) -> Option<Result<(), String>> {
        let _ = (machine, model, count);
        None
    }

    /// A machine type of common size to which these GPUs can be attached.
    fn machine_for_attachment(&self, model: &'static GpuModel, count: u32) -> Option<&'static str> {
        let _ = (model, count);
        None
    }

    /// The GPU models that can be attached to a machine type.
    fn attachable_models(&self) -> Vec<&'static GpuModel> {
        Vec::new()
    }
}

/// The properties of a pool's nodes in a cloud. The methods with a [`PoolSpec`] are called during resolution.
pub trait NodeFacts {
    /// The default installer of the driver for a device plugin.
    fn default_driver(&self, plugin: DevicePlugin) -> DriverOwner;

    /// The default device plugin on nodes without one in their image, with the reason; `None` for gpuc's.
    fn default_plugin(&self) -> Option<(DevicePlugin, &'static str)> {
        None
    }

    /// The driver version that this cloud's installer uses by default, in the format of the file.
    fn driver_version(&self, _pool: &Pool) -> Option<String> {
        None
    }

    /// The operating system of a pool's nodes, as Node Feature Discovery labels it: `ID` and `VERSION_ID` of
    /// `/etc/os-release`. `None` if the file does not determine it: Google selects the release of its Ubuntu, and hosts
    /// with RHEL can have a compatible distribution.
    fn os_release(&self, _cluster: &Cluster, pool: &Pool) -> Option<&'static str> {
        match pool.os.value {
            OsFamily::Ubuntu2004 => Some("ubuntu20.04"),
            OsFamily::Ubuntu2204 => Some("ubuntu22.04"),
            OsFamily::Ubuntu2404 => Some("ubuntu24.04"),
            _ => None,
        }
    }

    /// Labels that this cloud requires on a pool's nodes, in addition to the pool label and the labels in the file.
    fn required_labels(&self, autoscaler: Spanned<Autoscaler>, pool: &PoolSpec) -> Vec<Label>;

    /// Taints that the cloud sets on a pool's nodes automatically.
    fn automatic_taints(&self, pool: &PoolSpec) -> Vec<PoolTaint>;

    /// Labels that the cloud sets on a pool's nodes automatically, if this is certain.
    fn own_labels(&self, cluster: &Cluster, pool: &Pool) -> Vec<CloudLabel> {
        let _ = (cluster, pool);
        Vec::new()
    }

    /// The class of the ProvisioningRequests that create a pool's nodes, if nodes are created only on request.
    fn provisioning_class(&self, pool: &PoolSpec) -> Option<ProvisioningClass> {
        let _ = pool;
        None
    }

    /// The prefixes of labels of this cloud that a pool's nodes do not have.
    fn absent_label_prefixes(&self, cluster: &Cluster, pool: &Pool) -> &'static [&'static str] {
        let _ = (cluster, pool);
        &[]
    }

    /// The network topology labels of a pool's nodes, from the widest level to the node itself; empty if the cloud does
    /// not set them.
    fn network_levels(&self, pool: &Pool) -> &'static [&'static str] {
        let _ = pool;
        &[]
    }

    /// Resources that a pool's nodes advertise for their interconnect.
    fn interconnect_resources(&self, pool: &PoolSpec) -> Vec<AdvertisedResource> {
        let _ = pool;
        Vec::new()
    }

    /// Settings of pods that use a pool's interconnect, in addition to its resources
    /// ([`Self::interconnect_resources`]).
    fn interconnect_settings(&self, cluster: &Cluster, pool: &Pool) -> InterconnectSettings {
        let _ = (cluster, pool);
        InterconnectSettings::default()
    }

    /// The network between the nodes of a pool for data of GPUs, if gpuc configures one for this cloud. RDMA, which the
    /// file names, is independent of the cloud.
    fn network_fabric(&self, pool: &Pool) -> Option<Fabric> {
        let _ = pool;
        None
    }

    /// The bandwidth of networks between machines of this cloud.
    fn bandwidth_floors(&self) -> &'static [BandwidthFloor] {
        &[]
    }

    /// The names of all interconnect resources.
    fn all_interconnect_resources(&self) -> &'static [&'static str] {
        &[]
    }

    /// The DaemonSets that only this cloud needs on a pool's nodes, with the requests of their pods.
    fn daemons(&self, config: &GpuCluster, pool: &Pool) -> Vec<DaemonSetRequests> {
        let _ = (config, pool);
        Vec::new()
    }

    /// Whether a pool's nodes have NVIDIA network adapters for RDMA; an error has the reason and the help.
    fn rdma(&self, pool: &Pool, rdma: &Rdma) -> Result<(), NoRdma>;

    /// Whether a pool's machines support GPUDirect over the networks in the file; an error has the reason and the help.
    /// `None` if the cloud has no such networks.
    fn gpudirect(&self, pool: &Pool) -> Option<Result<(), NoRdma>> {
        let _ = pool;
        None
    }

    /// Whether the cloud partitions a pool's GPUs into MIG devices when it creates the nodes.
    fn partitions_gpus(&self, pool: &PoolSpec) -> bool {
        let _ = pool;
        false
    }

    /// The supported sizes of the boot disk of a pool's nodes; `None` if the cloud does not create it.
    fn boot_disk(&self, cluster: &Cluster, pool: &Pool) -> Option<DiskRange> {
        let _ = (cluster, pool);
        None
    }

    /// The disk of a pool's nodes for container storage, if known: by default the boot disk, if the cloud creates it.
    fn node_disk(&self, cluster: &Cluster, pool: &Pool) -> Option<NodeDisk> {
        let is_created = !pool.is_existing() && self.boot_disk(cluster, pool).is_some();
        is_created.then(|| NodeDisk::boot(pool))
    }

    /// The supported uses of the local disks of a pool's machines; the first is the default. Empty without known local
    /// disks.
    fn local_disks(&self, pool: &Pool) -> &'static [LocalDisks] {
        let _ = pool;
        &[]
    }
}

/// The resources and objects that a cloud needs for a cluster.
pub trait Provision {
    /// The name of the cluster in the cloud, if it has one. It alone identifies the cluster in the cloud's API and is
    /// immutable: another name is another cluster.
    ///
    /// Sources: <https://docs.aws.amazon.com/eks/latest/APIReference/API_UpdateClusterConfig.html> and
    /// <https://learn.microsoft.com/rest/api/aks/managedclusters/createorupdate>, whose names stand in the URI alone,
    /// read 2026-11-22; the same for GKE (from memory).
    fn remote_name<'c>(&self, _cluster: &'c Cluster) -> Option<&'c str> {
        None
    }

    /// The container of the cluster in the cloud, in addition to account and location, with its kind. A cluster in
    /// another container is another cluster, even with the same name.
    fn container<'c>(&self, _cluster: &'c Cluster) -> Option<(&'static str, &'c str)> {
        None
    }

    /// The kinds of resources that it creates, with how a change of each field is applied.
    fn resources(&self) -> &'static [&'static ResourceKind];

    /// The provisioning plan of a cluster.
    fn provision(&self, cluster: &Checked<'_>) -> Provisioning;

    /// The tags with which the Cluster Autoscaler knows the nodes of an empty group, for a pool whose nodes another
    /// tool creates; empty if it needs none.
    fn autoscaler_tags(&self, _cluster: &Cluster, _pool: &Pool) -> BTreeMap<String, String> {
        BTreeMap::new()
    }

    /// Sentences about what upgrades the node images of the pools that gpuc creates, for the README of the tree.
    fn node_image_notes(&self, _cluster: &Cluster) -> Vec<String> {
        Vec::new()
    }

    /// Sentences about who can reach the API server and log in, for the README of the tree.
    fn access_notes(&self, _cluster: &Cluster) -> Vec<String> {
        Vec::new()
    }

    /// The source for the fact that an autoscaled pool keeps nodes above a reduced maximum until they are unneeded.
    fn keeps_above_maximum(&self) -> Option<&'static str> {
        None
    }

    /// The automatic upgrades of a pool's nodes: if the value increases, nodes are recreated without a script.
    fn auto_upgrades(&self, _cluster: &Cluster, _pool: &Pool) -> Vec<AutoUpgrade> {
        Vec::new()
    }

    /// The component in the cluster that provisions a pool's nodes, if no script does.
    fn node_provisioner(
        &self,
        _cluster: &Cluster,
        _pool: &Pool,
    ) -> Option<&'static NodeProvisioner> {
        None
    }

    /// The values of the Cluster Autoscaler's chart for the cloud and the cluster, with their spans. `None` if gpuc
    /// does not install it.
    fn autoscaler_values(&self, cluster: &Checked<'_>) -> Option<(serde_json::Value, Vec<Span>)> {
        let _ = cluster;
        None
    }

    /// The values of Karpenter's chart for the cloud and the cluster, with their spans. `None` if gpuc does not install
    /// it.
    fn karpenter_values(&self, cluster: &Checked<'_>) -> Option<(serde_json::Value, Vec<Span>)> {
        let _ = cluster;
        None
    }

    /// The parameters of a volume type that depend on this cluster: key, value, and span.
    fn volume_parameters(
        &self,
        cluster: &Checked<'_>,
        volumes: &VolumeType,
    ) -> Vec<(&'static str, String, Span)> {
        let _ = (cluster, volumes);
        Vec::new()
    }

    /// The environment variables with which the GPU Operator's container toolkit finds this cloud's container runtime.
    fn operator_toolkit(&self, config: &GpuCluster) -> &'static [(&'static str, &'static str)] {
        let _ = config;
        &[]
    }

    /// Sentences about what the user must configure in a cluster that gpuc does not create, for the README of the tree.
    fn platform_notes(&self, _cluster: &Cluster) -> Vec<String> {
        Vec::new()
    }

    /// Kubernetes objects that only this cloud needs.
    fn objects(&self, cluster: &Checked<'_>) -> Vec<Object> {
        let _ = cluster;
        Vec::new()
    }
}

/// A cloud, which provides node pools.
pub trait Cloud: Catalog + NodeFacts + Provision + Sync {
    /// The constant properties of the cloud.
    fn facts(&self) -> &'static CloudFacts;

    /// The cloud that a section of the file configures, if the section is this cloud's: itself, or a variant of it.
    fn for_section(&'static self, section: &CloudSection) -> Option<&'static dyn Cloud>;

    /// Rules that apply only to this cloud.
    fn rules(&self) -> &'static [&'static Rule];

    /// The properties of the node image of an operating system.
    fn os(&self, family: OsFamily) -> Option<&'static OsFacts> {
        self.facts().os.iter().find(|os| os.family == family)
    }

    /// The root folder of NVIDIA's driver on a pool's hosts, if its node image is known. The GPU Operator uses its own
    /// folder with every image.
    ///
    /// Source: NVIDIA/k8s-dra-driver-gpu@v0.4.0 values.yaml, the remark on `nvidiaDriverRoot`.
    fn driver_root(&self, pool: &Pool) -> Option<&'static str> {
        match pool.driver.value {
            DriverOwner::Operator => Some(DRIVER_DIR),
            _ => Some(self.os(pool.os.value)?.driver_root),
        }
    }
}

/// The namespace and service account of the Cluster Autoscaler, to which a cloud grants permissions.
pub const AUTOSCALER: (&str, &str) = ("kube-system", "cluster-autoscaler");

/// The namespace and service account of Karpenter, to which a cloud grants permissions.
pub const KARPENTER: (&str, &str) = ("kube-system", "karpenter");

/// Labels that the kubelet sets and overwrites:
/// <https://kubernetes.io/docs/reference/labels-annotations-taints/>, read 2026-11-21.
pub const HOSTNAME: (&str, &str) = (
    "kubernetes.io/hostname",
    "the kubelet sets it to the name of the node",
);
/// The label with the node's CPU architecture; set as [`HOSTNAME`] is.
pub const ARCHITECTURE: (&str, &str) = (
    "kubernetes.io/arch",
    "the kubelet sets it to the architecture of the node",
);
/// The label with the node's operating system; set as [`HOSTNAME`] is.
pub const OPERATING_SYSTEM: (&str, &str) = (
    "kubernetes.io/os",
    "the kubelet sets it to the operating system of the node",
);

/// A label that the cloud controller manager sets, according to the same page.
pub const INSTANCE_TYPE: (&str, &str) = (
    "node.kubernetes.io/instance-type",
    "the cloud sets it to the machine type of the node",
);

/// Whether the file sets `sharing` for a pool.
pub fn has_sharing_setting(pool: &NodePool) -> bool {
    !matches!(pool.sharing.value, Sharing::None)
}
