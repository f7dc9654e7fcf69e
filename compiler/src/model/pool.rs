//! A pool as gpuc understands it.

use gpuc_schema::config::{
    Allocation, Capacity, DevicePlugin, DriverOwner, Extra, NodeLabels, NodePool, OsFamily,
    TaintEffect,
};
use gpuc_schema::gpu::GpuModel;
use gpuc_schema::{Span, Spanned};

use super::{DeviceClass, Known, Offer, RDMA_RESOURCE, Sharing};
use crate::cloud::cpu::CpuMachine;
use crate::cloud::machine::{CpuArchitecture, Fraction, Machine};
use crate::node::Origin;

/// A group of like nodes.
#[derive(Clone, Debug)]
pub struct Pool {
    /// What the user wrote.
    pub written: NodePool,
    /// Its place in the list, from 0.
    pub index: usize,
    /// Its name.
    pub name: Spanned<String>,
    /// What its nodes are.
    pub machine: Known<MachineType>,
    /// The GPUs of a node, if it has any.
    pub gpus: Known<Option<PoolGpus>>,
    /// How many nodes, over all zones.
    pub nodes: Known<NodeRange>,
    /// The operating system.
    pub os: Spanned<OsFamily>,
    /// Who installs the driver.
    pub driver: Spanned<DriverOwner>,
    /// The driver's version or branch, where the user says it.
    pub driver_version: Option<Spanned<String>>,
    /// How pods get the GPUs.
    pub allocation: Spanned<Allocation>,
    /// Who advertises the GPUs, where a device plugin does; where pods claim them, nobody, and no cloud's plugin.
    pub plugin: Spanned<DevicePlugin>,
    /// The image of gpuc-runtime.
    pub runtime_image: Option<Spanned<String>>,
    /// The image that installs the driver.
    pub driver_image: Option<Spanned<String>>,
    /// What containers get beside their GPUs, where a node has it.
    pub extras: Vec<Spanned<Extra>>,
    /// Where gpuc-runtime writes labels.
    pub node_labels: Spanned<NodeLabels>,
    /// How containers share the GPUs.
    pub sharing: Known<Sharing>,
    /// What a node offers to pods by a device plugin; nothing without GPUs, and nothing where pods claim them.
    pub offers: Known<Vec<Offer>>,
    /// What pods claim where `allocation` is `dra`, by name; nothing elsewhere, and nothing where `offers` is a hole.
    pub classes: Vec<DeviceClass>,
    /// What else a node offers to pods: network interfaces.
    pub fabric: Vec<Offer>,
    /// The labels that gpuc has put on the nodes, by key.
    pub labels: Vec<Label>,
    /// Labels that pick out the pool's nodes: the pool label, or an existing pool's selector.
    pub selector: Vec<Label>,
    /// Every taint that its nodes have, whoever sets it, by key and effect.
    pub taints: Vec<PoolTaint>,
    /// The taint with which its nodes register and which gpuc-runtime takes off when their GPUs are cut. It is not
    /// among [`Self::taints`]: what runs on the pool does not tolerate it, but waits.
    pub startup_taint: Option<PoolTaint>,
    /// What a pod that must run there tolerates, one for each taint that keeps pods away.
    pub tolerations: Vec<Toleration>,
}

impl Pool {
    /// Whether its machines are reserved, so that there is none beside those that run.
    pub fn is_reserved(&self) -> bool {
        matches!(
            self.written.capacity.value,
            Capacity::Reservation(_) | Capacity::CapacityBlock(_)
        )
    }
}

/// What the nodes of a pool are.
#[derive(Clone, Copy, Debug)]
pub enum MachineType {
    /// A machine of the catalog.
    Catalog(&'static Machine),
    /// A machine without GPUs of its own; what its name says of it.
    Cpu(Option<CpuMachine>),
    /// Hosts of the user's.
    Host,
}

/// The GPUs of a node.
#[derive(Clone, Copy, Debug)]
pub struct PoolGpus {
    /// The card.
    pub model: &'static GpuModel,
    /// How many on a node.
    pub per_node: u32,
    /// The part of a card that one of them is, when it is less than one.
    pub fraction: Option<Fraction>,
    /// How many the cloud's API says a node has: what an autoscaler believes of a node that is not there yet.
    pub reported: u32,
    /// Where the card was chosen: the machine type, or the model.
    pub chosen: Span,
}

/// How many nodes a pool has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeRange {
    /// The fewest.
    pub min: u32,
    /// The most.
    pub max: u32,
    /// Where the fewest stands.
    pub min_span: Span,
    /// Where the most stands.
    pub max_span: Span,
}

impl NodeRange {
    /// Whether the pool has the same number of nodes at any time.
    pub fn is_fixed(&self) -> bool {
        self.min == self.max
    }
}

/// A label of a node.
#[derive(Clone, Debug)]
pub struct Label {
    /// The key.
    pub key: String,
    /// The value.
    pub value: String,
    /// Why.
    pub origin: Origin,
}

/// A taint of a node.
#[derive(Clone, Debug)]
pub struct PoolTaint {
    /// The key.
    pub key: String,
    /// The value, perhaps empty.
    pub value: String,
    /// What happens to pods that do not tolerate it.
    pub effect: TaintEffect,
    /// Who puts it there.
    pub set_by: SetBy,
    /// Where it comes from.
    pub span: Span,
    /// Why.
    pub origin: Origin,
}

/// Who puts a taint on a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetBy {
    /// gpuc's script.
    Gpuc,
    /// The cloud, by itself.
    Cloud,
}

/// What a pod says to be let onto a tainted node.
#[derive(Clone, Debug)]
pub struct Toleration {
    /// The taint's key.
    pub key: String,
    /// The taint's value; `Exists` is asked for when it is empty.
    pub value: String,
    /// The taint's effect.
    pub effect: TaintEffect,
    /// Why.
    pub origin: Origin,
}

impl Pool {
    /// The taints that its nodes get from gpuc when they register.
    pub fn registered_taints(&self) -> impl Iterator<Item = &PoolTaint> {
        let by_gpuc = |taint: &&PoolTaint| taint.set_by == SetBy::Gpuc;
        let lasting = self.taints.iter().filter(by_gpuc);
        lasting.chain(&self.startup_taint)
    }

    /// Whether its nodes have GPUs; a hole counts as no.
    pub fn has_gpus(&self) -> bool {
        matches!(self.gpus.get(), Some(Some(_)))
    }

    /// Whether this plugin advertises its GPUs, if it has any.
    pub fn is_advertised_by(&self, plugin: DevicePlugin) -> bool {
        self.allocation.value == Allocation::DevicePlugin && self.plugin.value == plugin
    }

    /// Whether pods that use its network may do what `baseline` refuses: pin memory that cards read and write, or see
    /// folders and devices of the node.
    pub fn fabric_is_privileged(&self) -> bool {
        let mut fabric = self.fabric.iter();
        let shares_cards = fabric.any(|offer| offer.resource == RDMA_RESOURCE);
        shares_cards || self.written.network.gpudirect.is_some()
    }

    /// Whether the user made it by hand.
    pub fn is_existing(&self) -> bool {
        self.written.existing.is_some()
    }

    /// What its CPUs run, where that is known; amd64 for hosts of the user's and for names that say nothing.
    pub fn architecture(&self) -> CpuArchitecture {
        match self.machine.get() {
            Some(MachineType::Catalog(machine)) => machine.architecture,
            Some(MachineType::Cpu(Some(cpu))) => cpu.architecture,
            _ => CpuArchitecture::Amd64,
        }
    }
}
