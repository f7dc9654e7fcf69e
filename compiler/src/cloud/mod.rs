//! Clouds: one folder each, and what every one of them must answer.
//!
//! Nothing outside a cloud's own folder names it. Checks, charts and lowering ask its [`Facts`] and methods, so that
//! another cloud is another folder and a line in [`CLOUDS`].

pub mod aws;
pub mod azure;
pub mod cpu;
pub mod gcp;
pub mod machine;
mod memory;
pub mod onprem;

use std::ops::RangeInclusive;

use gpuc_schema::config::{
    Autoscaler, CloudSection, DevicePlugin, DriverOwner, GpuCluster, NodePool, OsFamily, Rdma,
    Sharing,
};
use gpuc_schema::gpu::GpuModel;

use crate::check::{Checked, Rule};
use crate::model::{KubernetesVersion, Label, Offer, Pool, PoolTaint};
use crate::plan::{Object, Provisioning, ResourceKind};
use cpu::CpuMachine;
use machine::Machine;

/// Every cloud, by the key it has in the file.
pub static CLOUDS: &[&dyn Cloud] = &[&aws::AWS, &azure::Azure, &gcp::Gke, &onprem::OnPrem];

/// The cloud that a section of the file speaks of.
pub fn of(section: &CloudSection) -> &'static dyn Cloud {
    let cloud = CLOUDS.iter().find(|cloud| cloud.owns(section));
    *cloud.unwrap_or_else(|| unreachable!("every section of `cloud` has its folder in CLOUDS"))
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
            DriverOwner::Operator => Some("/run/nvidia/driver"),
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

    /// Whether a pool's nodes have network cards of NVIDIA's for this; otherwise why not, and what to do, in words.
    fn rdma(&self, pool: &Pool, rdma: &Rdma) -> Result<(), NoRdma>;

    /// Whether the cloud itself cuts a pool's GPUs into slices when it makes the nodes.
    fn cuts_gpus(&self, pool: &Pool) -> bool {
        let _ = pool;
        false
    }

    /// Kubernetes objects that only this cloud needs.
    fn objects(&self, cluster: &Checked<'_>) -> Vec<Object> {
        let _ = cluster;
        Vec::new()
    }

    /// Rules that only this cloud has.
    fn rules(&self) -> &'static [&'static Rule];

    /// The kinds of resources it makes, with what becomes of a change of each field.
    fn resources(&self) -> &'static [&'static ResourceKind];

    /// What to make.
    fn provision(&self, cluster: &Checked<'_>) -> Provisioning;
}

/// Why a pool's nodes have no network cards for RDMA.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoRdma {
    /// Why, in words.
    pub why: String,
    /// What to write instead.
    pub help: &'static str,
}

/// What a machine type's name says of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MachineName {
    /// A machine without GPUs, of this size.
    Cpu(CpuMachine),
    /// A machine with accelerators that are not NVIDIA's: whose.
    OtherAccelerator(&'static str),
    /// It looks like a machine type; nothing more is known.
    Plausible,
    /// No machine type of this cloud is called so.
    Impossible,
}

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
    /// Label prefixes that users may not set, each with the reason.
    pub reserved_prefixes: &'static [(&'static str, &'static str)],
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
    /// Whether an autoscaler knows what the nodes of an empty pool will offer, however their GPUs are shared, because
    /// gpuc writes it where the autoscaler looks. If not, it believes what the machine type says.
    pub template_resources: bool,
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
    /// The folder on the host below which the driver is installed.
    pub driver_root: &'static str,
    /// The runtime class by which a pod gets NVIDIA's container runtime, where it is not the default one.
    pub runtime_class: Option<RuntimeClass>,
    /// The Kubernetes versions it is made for.
    pub kubernetes: RangeInclusive<KubernetesVersion>,
    /// Where this stands.
    pub source: &'static str,
}

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
