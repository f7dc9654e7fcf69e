//! A resolved node pool.
//!
//! [`PoolSpec`] is resolved from the file alone. [`Pool`] adds everything that also depends on the cloud and on the
//! other pools: labels, taints, tolerations and interconnect resources. A function with a `&PoolSpec` can therefore run
//! before those exist.

use std::ops::Deref;

use gpuc_schema::config::{
    Allocation, Amounts, Capacity, DevicePlugin, DriverOwner, ExistingPool, Extra, FlexStart,
    LocalDisks, Network, NodeImage, NodeLabels, NodePool, OsFamily, SharePlacement, Taint,
    TaintEffect, TextMap, Upgrade,
};
use gpuc_schema::gpu::GpuModel;
use gpuc_schema::{Span, Spanned};
use gpuc_syntax::node::Origin;

use super::{
    AdvertisedResource, CapacityPeriod, DeviceClass, NodeRange, RDMA_RESOURCE, Resolved, Sharing,
};
use crate::cloud::cpu::CpuMachine;
use crate::cloud::machine::{CpuArchitecture, Fraction, Machine};

/// The properties of a pool that are resolved from the file alone.
#[derive(Clone, Debug)]
pub struct PoolSpec {
    /// The settings that need no resolution.
    pub settings: PoolSettings,
    /// The index in the list of pools.
    pub index: usize,
    /// The name.
    pub name: Spanned<String>,
    /// The machine type of the nodes.
    pub machine: Resolved<MachineType>,
    /// The name of the machine type in the file; unset if gpuc selects the machine type, and for hosts.
    pub machine_name: Option<Spanned<String>>,
    /// The GPUs of a node, if it has any.
    pub gpus: Resolved<Option<PoolGpus>>,
    /// The number of nodes, over all zones.
    pub nodes: Resolved<NodeRange>,
    /// The operating system.
    pub os: Spanned<OsFamily>,
    /// The component that installs the driver.
    pub driver: Spanned<DriverOwner>,
    /// The version or branch of the driver, if it is set.
    pub driver_version: Option<Spanned<String>>,
    /// How GPUs are allocated to pods.
    pub allocation: Spanned<Allocation>,
    /// Whether the DeviceClasses take the names of the resources that a device plugin would advertise.
    pub extended_resources: Spanned<bool>,
    /// The device plugin that advertises the GPUs. With DRA it has no meaning, and is not the cloud's plugin.
    pub plugin: Spanned<DevicePlugin>,
    /// The image of gpuc-runtime.
    pub runtime_image: Option<Spanned<String>>,
    /// The image that installs the driver.
    pub driver_image: Option<Spanned<String>>,
    /// Components that are injected into containers in addition to their GPUs, if a node has them.
    pub extras: Vec<Spanned<Extra>>,
    /// Where gpuc-runtime publishes labels.
    pub node_labels: Spanned<NodeLabels>,
    /// How containers share the GPUs.
    pub sharing: Resolved<Sharing>,
    /// The location of `sharing`.
    pub sharing_span: Span,
    /// How gpuc-runtime distributes replicas and MIG devices over the GPUs of a node, if it is set.
    pub sharing_placement: Option<Spanned<SharePlacement>>,
    /// The extended resources that a device plugin advertises on a node; empty without GPUs and with DRA.
    pub advertised: Resolved<Vec<AdvertisedResource>>,
    /// The DeviceClasses if `allocation` is `dra`, by name; empty otherwise, and if `advertised` is unresolved.
    pub classes: Vec<DeviceClass>,
    /// The labels that the user adds, for rules about their keys and values. [`Pool::labels`] contains the labels of
    /// the nodes.
    pub user_labels: TextMap,
    /// The taints that the user adds, for rules about their keys and values. [`Pool::taints`] contains the taints of
    /// the nodes.
    pub user_taints: Vec<Spanned<Taint>>,
}

/// The settings of a pool that need no resolution: they are used as they are in the file.
#[derive(Clone, Debug)]
pub struct PoolSettings {
    /// The zones of the nodes.
    pub zones: Vec<Spanned<String>>,
    /// The subnets of the nodes.
    pub subnets: Vec<Spanned<String>>,
    /// The node names of on-premises hosts.
    pub hosts: Vec<Spanned<String>>,
    /// The purchase option of the machines.
    pub capacity: Spanned<Capacity>,
    /// High-performance networking.
    pub network: Network,
    /// The release of the node image.
    pub node_image: Option<Spanned<NodeImage>>,
    /// The size of the boot disk in GiB.
    pub disk_gib: Spanned<u32>,
    /// The use of the local disks.
    pub local_disks: Option<Spanned<LocalDisks>>,
    /// The machine types that the cloud may create instead of the pool's.
    pub alternative_machines: Vec<Spanned<String>>,
    /// The maximum number of pods on a node.
    pub max_pods: Option<Spanned<u32>>,
    /// The allocatable CPU and memory of a node, which override the estimate.
    pub allocatable: Option<Amounts>,
    /// Whether guaranteed quotas may exceed the pool's GPUs.
    pub overcommit: Spanned<bool>,
    /// The team or group that the pool is dedicated to.
    pub dedicated_to: Option<Spanned<String>>,
    /// The tags of the pool's cloud resources.
    pub tags: TextMap,
    /// The replacement of nodes during an upgrade.
    pub upgrade: Option<Spanned<Upgrade>>,
    /// Whether the cloud replaces unhealthy nodes.
    pub auto_repair: Option<Spanned<bool>>,
    /// The selector of a pool that was created outside gpuc.
    pub existing: Option<Spanned<ExistingPool>>,
}

impl From<&NodePool> for PoolSettings {
    /// Copies the settings. Every field of the file is named: a new one is either a setting or resolved.
    fn from(pool: &NodePool) -> Self {
        let NodePool {
            zones,
            subnets,
            hosts,
            capacity,
            network,
            node_image,
            disk_gib,
            local_disks,
            alternative_machines,
            max_pods,
            allocatable,
            overcommit,
            dedicated_to,
            tags,
            upgrade,
            auto_repair,
            existing,
            name: _,
            machine: _,
            gpu: _,
            nodes: _,
            os: _,
            sharing: _,
            labels: _,
            taints: _,
            stack: _,
        } = pool.clone();
        Self {
            zones,
            subnets,
            hosts,
            capacity,
            network,
            node_image,
            disk_gib,
            local_disks,
            alternative_machines,
            max_pods,
            allocatable,
            overcommit,
            dedicated_to,
            tags,
            upgrade,
            auto_repair,
            existing,
        }
    }
}

/// A group of identical nodes.
#[derive(Clone, Debug)]
pub struct Pool {
    /// The properties that are resolved from the file alone. They are also accessible as fields of the pool.
    pub spec: PoolSpec,
    /// Other extended resources that a node advertises: network interfaces.
    pub interconnect: Vec<AdvertisedResource>,
    /// The labels that gpuc sets on the nodes, by key.
    pub labels: Vec<Label>,
    /// The labels that select the nodes of the pool: the pool label, or the selector of an existing pool.
    pub selector: Vec<Label>,
    /// All taints of the nodes, set by gpuc or by the cloud, by key and effect.
    pub taints: Vec<PoolTaint>,
    /// The taint with which the nodes register and which gpuc-runtime removes when their GPUs are partitioned. It is
    /// not in [`Self::taints`]: pods do not tolerate it, but wait for its removal.
    pub startup_taint: Option<PoolTaint>,
    /// The tolerations of a pod that must run on the nodes, one for each taint that repels pods.
    pub tolerations: Vec<Toleration>,
}

/// A pool is its specification with derived properties. Most readers need both, and no field is in both types.
impl Deref for Pool {
    type Target = PoolSpec;

    fn deref(&self) -> &PoolSpec {
        &self.spec
    }
}

impl PoolSpec {
    /// Whether a value is unresolved. Every field is named, as in [`check`](crate::check::check).
    fn has_unresolved_values(&self) -> bool {
        let Self {
            machine,
            gpus,
            nodes,
            sharing,
            advertised,
            settings: _,
            index: _,
            name: _,
            machine_name: _,
            os: _,
            driver: _,
            driver_version: _,
            allocation: _,
            extended_resources: _,
            plugin: _,
            runtime_image: _,
            driver_image: _,
            extras: _,
            node_labels: _,
            sharing_span: _,
            sharing_placement: _,
            classes: _,
            user_labels: _,
            user_taints: _,
        } = self;
        machine.is_unresolved()
            || gpus.is_unresolved()
            || nodes.is_unresolved()
            || sharing.is_unresolved()
            || advertised.is_unresolved()
    }

    /// Whether the machines are reserved, so that no additional machine is available.
    pub fn is_reserved(&self) -> bool {
        matches!(
            self.settings.capacity.value,
            Capacity::Reservation(_) | Capacity::CapacityBlock(_)
        )
    }

    /// The time during which the machines are available, if they are in a capacity block. `None` if its times are
    /// invalid, which a rule reports.
    pub fn capacity_period(&self) -> Option<CapacityPeriod> {
        match &self.settings.capacity.value {
            Capacity::CapacityBlock(block) => CapacityPeriod::from_block(block).ok(),
            Capacity::OnDemand
            | Capacity::Spot(_)
            | Capacity::Reservation(_)
            | Capacity::FlexStart(_) => None,
        }
    }

    /// The machine types of the nodes, first choice first; empty if the machine type is unresolved, and for hosts.
    pub fn machine_types(&self) -> Vec<&str> {
        let first = match self.machine.get() {
            Some(MachineType::Catalog(machine)) => Some(machine.name),
            Some(MachineType::Cpu(_)) => self.machine_name.as_ref().map(|name| name.as_str()),
            Some(MachineType::Host) | None => None,
        };
        let others = self.settings.alternative_machines.iter();
        let others = others.map(|name| name.as_str());
        first.map_or(Vec::new(), |first| {
            [first].into_iter().chain(others).collect()
        })
    }

    /// The settings of flex-start machines.
    pub fn flex_start(&self) -> Option<&FlexStart> {
        match &self.settings.capacity.value {
            Capacity::FlexStart(flex) => Some(flex),
            _ => None,
        }
    }

    /// Whether the nodes have GPUs; false if this is unresolved.
    pub fn has_gpus(&self) -> bool {
        matches!(self.gpus.get(), Some(Some(_)))
    }

    /// Whether this device plugin advertises the GPUs, if the pool has any.
    pub fn is_advertised_by(&self, plugin: DevicePlugin) -> bool {
        self.allocation.value == Allocation::DevicePlugin && self.plugin.value == plugin
    }

    /// Whether the pool exists already, so that gpuc does not create it.
    pub fn is_existing(&self) -> bool {
        self.settings.existing.is_some()
    }

    /// The CPU architecture; amd64 for on-premises hosts and if it does not follow from the machine type.
    pub fn architecture(&self) -> CpuArchitecture {
        match self.machine.get() {
            Some(MachineType::Catalog(machine)) => machine.architecture,
            Some(MachineType::Cpu(Some(cpu))) => cpu.architecture,
            _ => CpuArchitecture::Amd64,
        }
    }

    /// The CPU architecture of the machine, if it is known.
    pub(crate) fn known_architecture(&self) -> Option<CpuArchitecture> {
        match self.machine.get()? {
            MachineType::Catalog(machine) => Some(machine.architecture),
            MachineType::Cpu(cpu) => Some((*cpu)?.architecture),
            MachineType::Host => None,
        }
    }
}

impl Pool {
    /// Whether a value is unresolved. Every field is named, as in [`check`](crate::check::check).
    pub(crate) fn has_unresolved_values(&self) -> bool {
        let Self {
            spec,
            interconnect: _,
            labels: _,
            selector: _,
            taints: _,
            startup_taint: _,
            tolerations: _,
        } = self;
        spec.has_unresolved_values()
    }

    /// The taints of gpuc with which the nodes register.
    pub fn registered_taints(&self) -> impl Iterator<Item = &PoolTaint> {
        self.taints
            .iter()
            .filter(|taint| taint.set_by == SetBy::Gpuc)
            .chain(&self.startup_taint)
    }

    /// Whether pods that use the interconnect require permissions beyond the pod security level `baseline`: to pin
    /// memory for network devices, or to access directories and devices of the node.
    pub fn is_interconnect_privileged(&self) -> bool {
        let mut interconnect = self.interconnect.iter();
        let has_rdma = interconnect.any(|resource| resource.name == RDMA_RESOURCE);
        has_rdma || self.settings.network.gpudirect.is_some()
    }
}

/// The machine type of the nodes of a pool.
#[derive(Clone, Copy, Debug)]
pub enum MachineType {
    /// A machine of the catalog.
    Catalog(&'static Machine),
    /// A machine that includes no GPUs; its size, if it follows from the name.
    Cpu(Option<CpuMachine>),
    /// An on-premises host.
    Host,
}

/// The GPUs of a node.
#[derive(Clone, Copy, Debug)]
pub struct PoolGpus {
    /// The GPU model.
    pub model: &'static GpuModel,
    /// The number on each node.
    pub per_node: u32,
    /// The fraction of a physical GPU, for virtual GPUs.
    pub fraction: Option<Fraction>,
    /// The number that the cloud's API reports, which an autoscaler assumes for a node that does not exist yet.
    pub reported: u32,
    /// The location of the setting that determines the GPU model: the machine type, or the model.
    pub span: Span,
    /// The location of the number in `gpu`, if it is set.
    pub count_span: Option<Span>,
}

/// A label of a node.
#[derive(Clone, Debug)]
pub struct Label {
    /// The key.
    pub key: String,
    /// The value.
    pub value: String,
    /// The origin.
    pub origin: Origin,
}

/// A taint of a node.
#[derive(Clone, Debug)]
pub struct PoolTaint {
    /// The key.
    pub key: String,
    /// The value, which may be empty.
    pub value: String,
    /// The effect.
    pub effect: TaintEffect,
    /// The component that sets it.
    pub set_by: SetBy,
    /// The location of the setting that causes it.
    pub span: Span,
    /// The origin.
    pub origin: Origin,
}

impl PoolTaint {
    /// Whether another taint has the same key, value and effect.
    pub fn is_same(&self, other: &Self) -> bool {
        (&self.key, &self.value, self.effect) == (&other.key, &other.value, other.effect)
    }

    /// Whether a taint in the file has the same key, value and effect.
    pub fn is_written_as(&self, taint: &Taint) -> bool {
        (&self.key, &self.value, self.effect)
            == (&taint.key.value, &taint.value.value, taint.effect.value)
    }
}

/// The component that sets a taint on a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetBy {
    /// gpuc's script.
    Gpuc,
    /// The cloud.
    Cloud,
}

/// A toleration of a pod.
#[derive(Clone, Debug)]
pub struct Toleration {
    /// The key of the taint.
    pub key: String,
    /// The value of the taint; if it is empty, the operator is `Exists`.
    pub value: String,
    /// The effect of the taint.
    pub effect: TaintEffect,
    /// The origin.
    pub origin: Origin,
}
