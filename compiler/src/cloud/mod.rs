//! Clouds: one folder each, and what every one of them must answer.
//!
//! Nothing outside a cloud's own folder names it. Checks, charts and lowering ask its [`Facts`] and methods, so that
//! another cloud is another folder and a line in [`CLOUDS`].

mod answers;
pub mod aws;
pub mod azure;
pub mod cpu;
pub mod gcp;
mod labels;
pub mod machine;
mod memory;
pub mod onprem;
pub mod reserved;
pub mod storage;

use std::ops::RangeInclusive;

use gpuc_schema::Span;
use gpuc_schema::config::{
    Autoscaler, CloudSection, DevicePlugin, DriverOwner, GpuCluster, LocalDisks, NodePool,
    OsFamily, Rdma, Sharing,
};
use gpuc_schema::gpu::GpuModel;
use serde_json::{Map, Value};

use crate::check::{Checked, Rule};
use crate::model::operator::DRIVER_DIR;
use crate::model::{Cluster, Daemon, KubernetesVersion, Label, Offer, Pool, PoolTaint};
use crate::plan::{Followed, Maker, Object, Provisioning, ResourceKind};
pub use answers::{DiskRange, NoRdma, NodeDisk};
pub use labels::OwnLabel;
use labels::{labels_of_others, labels_of_place};
use machine::Machine;
pub use machine::MachineName;
use reserved::{NodeSize, Reserved};
use storage::{StorageFacts, VolumeType};

/// Every cloud, by the key it has in the file.
pub static CLOUDS: &[&dyn Cloud] = &[&aws::AWS, &azure::Azure, &gcp::Gke, &onprem::OnPrem];

/// The cloud that a section of the file speaks of.
pub fn of(section: &CloudSection) -> &'static dyn Cloud {
    let cloud = CLOUDS.iter().find(|cloud| cloud.owns(section));
    *cloud.unwrap_or_else(|| unreachable!("every section of `cloud` has its folder in CLOUDS"))
}

/// What pods that use a pool's fast network are told.
#[derive(Clone, Debug, Default)]
pub struct FabricSettings {
    /// Variables and their values.
    pub env: &'static [(&'static str, &'static str)],
    /// The huge pages of 2 MiB that a node keeps for it and that a pod with all of its GPUs uses, in MiB; 0 where it
    /// keeps none.
    pub huge_pages_mib: u32,
    /// What else they have.
    pub parts: PodParts,
}

/// Parts of a pod, beside what users write of it.
#[derive(Clone, Debug, Default)]
pub struct PodParts {
    /// Annotations.
    pub annotations: Map<String, Value>,
    /// Volumes, with names longer than users may give.
    pub volumes: Vec<Value>,
    /// Where its own container sees them.
    pub mounts: Vec<Value>,
    /// Containers that start before its own and stay beside it.
    pub sidecars: Vec<Value>,
    /// What its own container may do that others may not.
    pub capabilities: &'static [&'static str],
}

/// A cloud: where node pools come from.
pub trait Cloud: Sync {
    /// What is always true of it.
    fn facts(&self) -> &'static Facts;

    /// Whether this section of the file is its own.
    fn owns(&self, section: &CloudSection) -> bool;

    /// Its machines with GPUs, by name.
    fn machines(&self) -> Vec<&'static Machine>;

    /// The machine with GPUs of this name.
    fn machine(&self, name: &str) -> Option<&'static Machine>;

    /// What a machine type's name says of it when the catalog does not have it.
    fn machine_name(&self, name: &str) -> MachineName;

    /// GPUs added to a machine type that has none of its own. `None` where the cloud has no such thing; otherwise
    /// whether it goes, with the reason in words.
    fn attach(
        &self,
        machine: &str,
        model: &'static GpuModel,
        count: u32,
    ) -> Option<Result<(), String>> {
        let _ = (machine, model, count);
        None
    }

    /// What is known of an operating system's node image here.
    fn os(&self, family: OsFamily) -> Option<&'static OsFacts> {
        self.facts().os.iter().find(|os| os.family == family)
    }

    /// The folder below which NVIDIA's driver is on a pool's hosts, if its node image is known: the GPU Operator has
    /// its own, whatever the image.
    ///
    /// Source: NVIDIA/k8s-dra-driver-gpu@v0.4.0 values.yaml, the remark on `nvidiaDriverRoot`.
    fn driver_root(&self, pool: &Pool) -> Option<&'static str> {
        match pool.driver.value {
            DriverOwner::Operator => Some(DRIVER_DIR),
            _ => Some(self.os(pool.os.value)?.driver_root),
        }
    }

    /// Who installs the driver when nobody says, given who advertises the GPUs.
    fn default_driver(&self, plugin: DevicePlugin) -> DriverOwner;

    /// Labels that gpuc must put on a pool's nodes for this cloud's sake, beside the pool label and the user's.
    fn labels(&self, config: &GpuCluster, pool: &Pool) -> Vec<Label>;

    /// Taints that the cloud puts on a pool's nodes by itself.
    fn taints(&self, config: &GpuCluster, pool: &Pool) -> Vec<PoolTaint>;

    /// Resources that a pool's nodes offer beside GPUs because of how they are connected.
    fn fabric(&self, pool: &Pool) -> Vec<Offer> {
        let _ = pool;
        Vec::new()
    }

    /// What pods that use a pool's fast network are told, beside the resources in its fabric.
    fn fabric_settings(&self, pool: &Pool) -> FabricSettings {
        let _ = pool;
        FabricSettings::default()
    }

    /// The DaemonSets that only this cloud needs on a pool's nodes, with what each of their pods asks for.
    fn daemons(&self, config: &GpuCluster, pool: &Pool) -> Vec<Daemon> {
        let _ = (config, pool);
        Vec::new()
    }

    /// The names of such resources, whichever pool offers them.
    fn fabric_resources(&self) -> &'static [&'static str] {
        &[]
    }

    /// Labels that the cloud puts on a pool's nodes by itself, as far as that is certain.
    fn own_labels(&self, cluster: &Cluster, pool: &Pool) -> Vec<OwnLabel> {
        let _ = (cluster, pool);
        Vec::new()
    }

    /// What begins the labels that a pool's nodes certainly do not have, because others than this cloud set them.
    fn absent_labels(&self, cluster: &Cluster, pool: &Pool) -> Vec<&'static str> {
        let _ = cluster;
        labels_of_others(self.facts().key, pool)
    }

    /// The labels that say where in its network a pool's node is, from the widest part to the node itself; none where
    /// it does not tell.
    fn network_levels(&self, pool: &Pool) -> &'static [&'static str] {
        let _ = pool;
        &[]
    }

    /// Whether a pool's nodes have network cards of NVIDIA's for this; otherwise why not, and what to do, in words.
    fn rdma(&self, pool: &Pool, rdma: &Rdma) -> Result<(), NoRdma>;

    /// How many networks the machines of a pool take for GPUDirect; otherwise why gpuc sets it up on none, and what to
    /// do, in words.
    fn gpudirect(&self, pool: &Pool) -> Result<usize, NoRdma> {
        let _ = pool;
        Err(NoRdma {
            why: format!("{} has no such networks", self.facts().name),
            help: "remove `gpudirect`",
        })
    }

    /// Whether the cloud itself cuts a pool's GPUs into slices when it makes the nodes.
    fn cuts_gpus(&self, pool: &Pool) -> bool {
        let _ = pool;
        false
    }

    /// What the Cluster Autoscaler's chart must be told of the cloud and the cluster, and where it follows from. `None`
    /// where gpuc does not install it.
    fn autoscaler_values(&self, cluster: &Checked<'_>) -> Option<(serde_json::Value, Vec<Span>)> {
        let _ = cluster;
        None
    }

    /// What Karpenter's chart must be told of the cloud and the cluster, and where it follows from. `None` where gpuc
    /// does not install it.
    fn karpenter_values(&self, cluster: &Checked<'_>) -> Option<(serde_json::Value, Vec<Span>)> {
        let _ = cluster;
        None
    }

    /// How large a boot disk of a pool's nodes may be; `None` where the cloud makes none.
    fn boot_disk(&self, cluster: &Cluster, pool: &Pool) -> Option<DiskRange> {
        let _ = (cluster, pool);
        None
    }

    /// The disk of a pool's nodes that holds what containers write, where it is known: the boot disk, as far as the
    /// cloud makes them.
    fn node_disk(&self, cluster: &Cluster, pool: &Pool) -> Option<NodeDisk> {
        let is_ours = !pool.is_existing() && self.boot_disk(cluster, pool).is_some();
        is_ours.then(|| NodeDisk::boot(pool))
    }

    /// What may become of the local disks of a pool's machines; the first is what does when nobody says. Nothing where
    /// they have none that is known.
    fn local_disks(&self, pool: &Pool) -> &'static [LocalDisks] {
        let _ = pool;
        &[]
    }

    /// What a driver must be told of this cluster to make such volumes: key, value, and where it follows from.
    fn volume_parameters(
        &self,
        cluster: &Checked<'_>,
        volumes: &VolumeType,
    ) -> Vec<(&'static str, String, Span)> {
        let _ = (cluster, volumes);
        Vec::new()
    }

    /// What the GPU Operator's container toolkit must be told to find this cloud's container runtime, as variables.
    fn operator_toolkit(&self, config: &GpuCluster) -> &'static [(&'static str, &'static str)] {
        let _ = config;
        &[]
    }

    /// Kubernetes objects that only this cloud needs.
    fn objects(&self, cluster: &Checked<'_>) -> Vec<Object> {
        let _ = cluster;
        Vec::new()
    }

    /// Rules that only this cloud has.
    fn rules(&self) -> &'static [&'static Rule];

    /// What the cloud calls the cluster, where it has a name for it. By this name alone its API finds a cluster, and
    /// nothing there takes another name for one that is there: under another name it is another cluster.
    ///
    /// Sources: <https://docs.aws.amazon.com/eks/latest/APIReference/API_UpdateClusterConfig.html> and
    /// <https://learn.microsoft.com/rest/api/aks/managedclusters/createorupdate>, whose names stand in the URI alone,
    /// read 2026-11-22; GKE likewise (from memory).
    fn called<'c>(&self, _cluster: &'c Cluster) -> Option<&'c str> {
        None
    }

    /// What holds the cluster in the cloud beside account and place, with what that is: in another one there is another
    /// cluster, whatever that is called.
    fn within<'c>(&self, _cluster: &'c Cluster) -> Option<(&'static str, &'c str)> {
        None
    }

    /// Where it is seen that nodes above a lower maximum of a pool that grows and shrinks stay until nothing needs
    /// them.
    fn keeps_above_maximum(&self) -> Option<&'static str> {
        None
    }

    /// The driver's version that this cloud's own installer takes where the user writes none, as users would write it.
    fn driver_version(&self, _pool: &Pool) -> Option<String> {
        None
    }

    /// What a pool's nodes follow by themselves: where it goes up they are made again, and no script does it.
    fn followed(&self, _cluster: &Cluster, _pool: &Pool) -> Vec<Followed> {
        Vec::new()
    }

    /// What in the cluster makes a pool's nodes, where no script does.
    fn maker(&self, _cluster: &Cluster, _pool: &Pool) -> Option<&'static Maker> {
        None
    }

    /// The kinds of resources it makes, with what becomes of a change of each field.
    fn resources(&self) -> &'static [&'static ResourceKind];

    /// What to make.
    fn provision(&self, cluster: &Checked<'_>) -> Provisioning;
}

/// The namespace and service account of the Cluster Autoscaler, by which a cloud gives its pods their rights.
pub const AUTOSCALER: (&str, &str) = ("kube-system", "cluster-autoscaler");

/// The namespace and service account of Karpenter, by which a cloud gives its pods their rights.
pub const KARPENTER: (&str, &str) = ("kube-system", "karpenter");

/// Labels that a kubelet sets to what it finds, whatever was there:
/// <https://kubernetes.io/docs/reference/labels-annotations-taints/>, read 2026-11-21.
const HOSTNAME: (&str, &str) = (
    "kubernetes.io/hostname",
    "the kubelet sets it to the node's name",
);
const ARCHITECTURE: (&str, &str) = (
    "kubernetes.io/arch",
    "the kubelet sets it to what the node is",
);
const OPERATING_SYSTEM: (&str, &str) = (
    "kubernetes.io/os",
    "the kubelet sets it to what the node runs",
);

/// A label that the cloud's controller sets, by the same page.
const INSTANCE_TYPE: (&str, &str) = (
    "node.kubernetes.io/instance-type",
    "the cloud sets it to the node's machine type",
);

/// What is always true of a cloud.
#[derive(Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a fact of its own, and none follows from others"
)]
pub struct Facts {
    /// Its key in the file: `aws`.
    pub key: &'static str,
    /// What people call its Kubernetes: `Amazon EKS`.
    pub name: &'static str,
    /// Who can add nodes to its pools; the first is the default.
    pub autoscalers: &'static [Autoscaler],
    /// What node images it has; the first is the default.
    pub os: &'static [OsFacts],
    /// Whether it makes machines. Where it does not, pools are hosts of the user's.
    pub makes_machines: bool,
    /// The regions that it is commonly known to have; none where there is no such thing.
    pub regions: &'static [&'static str],
    /// The region that a location is, or is in; `None` for what does not have the shape of one.
    pub region_of: fn(&str) -> Option<&str>,
    /// What it calls a machine type, for messages: `EC2 instance type`.
    pub machine_word: &'static str,
    /// How node pools may be called.
    pub pool_name: NameRule,
    /// How clusters may be called.
    pub cluster_name: NameRule,
    /// Whether a taint needs a value, with the source.
    pub taint_needs_value: Option<&'static str>,
    /// Where it is seen that a taint of a pool stays off a node once it is taken off, because a node gets it when it
    /// registers and not again. `None` where it would be put back, or where nodes register without gpuc.
    pub startup_taints: Option<&'static str>,
    /// Whether a pod that asks for an extended resource tolerates taints of the same key without saying so, because the
    /// cloud runs the admission controller `ExtendedResourceToleration`.
    pub tolerates_resources: bool,
    /// Whether it places a pool's nodes close together by itself, within one zone.
    pub places_compactly: bool,
    /// Label prefixes that users may not set, each with the reason.
    pub reserved_prefixes: &'static [(&'static str, &'static str)],
    /// Labels that it sets still and has others for, each with that.
    pub replaced_labels: &'static [(&'static str, &'static str)],
    /// Labels without a domain that its own nodes have, and others only where somebody puts them there.
    pub label_words: &'static [&'static str],
    /// What begins the labels that only its own nodes have.
    pub label_prefixes: &'static [&'static str],
    /// Resources of its machines' accelerators that are not NVIDIA's, by what begins their names, and whose they are.
    pub other_accelerators: &'static [(&'static str, &'static str)],
    /// Who may install the driver.
    pub drivers: &'static [DriverOwner],
    /// Whether gpuc has a DaemonSet that installs a driver here.
    pub driver_daemon_set: bool,
    /// Words that the cloud takes for a driver's version; where it has some, it installs the driver that they choose.
    pub driver_words: &'static [&'static str],
    /// Who may advertise GPUs.
    pub plugins: &'static [DevicePlugin],
    /// The most nodes of a pool.
    pub max_nodes: u32,
    /// The kinds of capacity it sells, by their key in the file: `onDemand`, `spot`, `reservation`, `capacityBlock`.
    pub capacities: &'static [&'static str],
    /// Whether the cloud runs the control plane, so that nothing in the cluster can reach its parts.
    pub managed_control_plane: bool,
    /// Whether an autoscaler knows what the nodes of an empty pool will offer, however their GPUs are shared, because
    /// gpuc writes it where the autoscaler looks. If not, it believes what the machine type says.
    pub template_resources: bool,
    /// What volumes it has; `None` where gpuc knows of none.
    pub storage: Option<&'static StorageFacts>,
    /// Whether it replaces broken nodes.
    pub repairs: Repairs,
    /// What shows whether the network of a cluster enforces `NetworkPolicies`, in words.
    pub policies_shown_by: &'static str,
    /// The least that a node keeps from pods, by its size and its pool. `None` where nodes are the user's, and nobody
    /// knows how large they are.
    pub reserved: Option<fn(&Pool, NodeSize) -> Reserved>,
}

/// Whether a cloud replaces broken nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repairs {
    /// Always: it cannot be turned off.
    Always,
    /// Where it is asked to.
    WhenAsked,
    /// Never.
    Never,
}

/// How something may be called.
#[derive(Debug)]
pub struct NameRule {
    /// The rule in words, after «may have»: `lower-case letters, digits and -, starting with a letter`.
    pub words: &'static str,
    /// The most characters.
    pub max: usize,
    /// Whether the characters are right, whatever the length.
    pub allows: fn(&str) -> bool,
    /// Where the rule stands.
    pub source: &'static str,
}

/// What is known of an operating system's node image in a cloud.
#[derive(Debug)]
pub struct OsFacts {
    /// The family.
    pub family: OsFamily,
    /// Whether the image has a driver, or the cloud puts one there.
    pub has_driver: bool,
    /// Whether the operating system advertises GPUs itself, and nothing else may.
    pub advertises: bool,
    /// How a container gets its devices from a plugin of ours.
    pub injection: Injection,
    /// Whether an unprivileged container names the GPUs that it sees by a mount below
    /// `/var/run/nvidia-container-devices` instead of by `NVIDIA_VISIBLE_DEVICES`.
    pub visible_by_mount: bool,
    /// The folder on the host below which the driver is installed.
    pub driver_root: &'static str,
    /// The runtime class by which a pod gets NVIDIA's container runtime, where it is not the default one.
    pub runtime_class: Option<RuntimeClass>,
    /// What the GPU Operator finds on its nodes.
    pub operator: ForOperator,
    /// The Kubernetes versions it is made for.
    pub kubernetes: RangeInclusive<KubernetesVersion>,
    /// Where this stands.
    pub source: &'static str,
}

/// What the GPU Operator finds on a node image where something else than the operator installs the driver, and
/// whether the operator could.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ForOperator {
    /// Whether the operator can install the driver; if not, why, in words that follow the image's name.
    pub driver: Result<(), &'static str>,
    /// Whether NVIDIA's container toolkit comes with the driver, so that the operator brings none.
    pub toolkit: bool,
    /// The runtime class whose handler that toolkit has given to the node's container runtime.
    pub runtime_class: &'static str,
    /// The folder that holds the driver and takes the operator's toolkit, where it is not the operator's usual one or
    /// the node's own root.
    pub driver_dir: Option<&'static str>,
}

/// The operating systems of NVIDIA's driver containers.
///
/// Source: NVIDIA/gpu-driver-container `.github/image-matrix.json` @7f9a9e3f, read 2026-11-21.
pub const NO_DRIVER_CONTAINER: &str = "is none that NVIDIA makes a driver container for";

/// A runtime class: its name, and the handler that the node's container runtime knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RuntimeClass {
    /// The RuntimeClass object's name.
    pub name: &'static str,
    /// The handler.
    pub handler: &'static str,
}

/// How a container gets its devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Injection {
    /// NVIDIA's container runtime is the node's default and reads `NVIDIA_VISIBLE_DEVICES`.
    EnvironmentVariable,
    /// The node's container runtime reads CDI specs.
    Cdi,
    /// No NVIDIA container runtime is there: the kubelet passes device nodes and mounts the driver.
    DeviceNodes {
        /// The folder on the host that holds the driver's `bin` and `lib64`.
        host: &'static str,
        /// Where containers see it.
        container: &'static str,
    },
}

/// Whether the user wrote any sharing for a pool.
pub fn shares(pool: &NodePool) -> bool {
    !matches!(pool.sharing.value, Sharing::None)
}
