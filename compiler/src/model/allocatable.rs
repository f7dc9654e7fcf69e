//! What a node of a pool has for the pods of users: the machine, less what the cloud keeps, less what this tree's
//! DaemonSets ask for.
//!
//! Where the user says what a node has for pods, that counts. Else it is the most that there can be: what a virtual
//! machine does not see of its memory, and the DaemonSets that a cloud brings by itself, are nowhere to be looked up,
//! and are not taken off.

use gpuc_schema::config::{DevicePlugin, DriverOwner, Exporter, Quantity};
use gpuc_schema::{Span, Spanned};

use super::{Cluster, MachineType, Pool, Sharing};
use crate::cloud::reserved::{MIB, NodeSize, Reserved};

/// How much of something a node has, in thousandths of a core or in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// What the machine has; as much as is left where that is not known.
    pub whole: u64,
    /// The most that pods of users can ask for, all of them together.
    pub left: u64,
    /// Where the user says it; without, it is estimated.
    pub said: Option<Span>,
}

/// A `DaemonSet` that gpuc puts on nodes, and what each of its pods asks for.
#[derive(Clone, Debug)]
pub struct Daemon {
    /// What it is called, without its pool.
    pub name: &'static str,
    /// How much.
    pub asks: Reserved,
}

/// What a container of gpuc-runtime asks for: thousandths of a core, and MiB.
pub const RUNTIME_ASKS: (u64, u64) = (10, 32);

/// What a pod of charts asks for where nobody lays values over them, in the same.
///
/// Source: the charts' `values.yaml`: NVIDIA/dcgm-exporter@4.5.3-4.8.2 `deployment/`, aws/eks-charts
/// `stable/aws-efa-k8s-device-plugin`, kubernetes-sigs/node-feature-discovery `deployment/helm` (`worker`), read
/// 2026-11-21.
const EXPORTER_ASKS: (u64, u64) = (100, 128);
const DISCOVERY_ASKS: (u64, u64) = (5, 64);

impl Daemon {
    /// One that asks for thousandths of a core and MiB.
    pub fn new(name: &'static str, (cpu, mib): (u64, u64)) -> Self {
        let memory = mib * MIB;
        let asks = Reserved { cpu, memory };
        Self { name, asks }
    }
}

impl Cluster {
    /// The CPU and the memory of a pool's node, as far as its size is known.
    pub fn room(&self, pool: &Pool) -> (Option<Room>, Option<Room>) {
        let daemons = self.daemons(pool);
        let daemons = daemons
            .iter()
            .fold(Reserved::default(), |sum, daemon| Reserved {
                cpu: sum.cpu + daemon.asks.cpu,
                memory: sum.memory + daemon.asks.memory,
            });
        let size = size(pool);
        // Who makes a pool by hand may have told its kubelets anything.
        let reserved = self.cloud.facts().reserved.filter(|_| !pool.is_existing());
        let kept = reserved
            .zip(size)
            .map(|(of_node, size)| of_node(pool, size));
        let kept = kept.unwrap_or_default();
        let said = pool.written.allocatable.as_ref();
        let room = |whole: Option<u64>, kept: u64, daemons: u64, said: Option<(u64, Span)>| {
            let left = match said {
                Some((said, _)) => said,
                None => whole?.saturating_sub(kept),
            };
            Some(Room {
                whole: whole.unwrap_or(left),
                left: left.saturating_sub(daemons),
                said: said.map(|(_, span)| span),
            })
        };
        let cpu = said.and_then(|it| thousandths(it.cpu.as_ref()?));
        let memory = said.and_then(|it| thousandths(it.memory.as_ref()?));
        let memory = memory.map(|(amount, span)| (amount / 1000, span));
        let whole = size.map(|it| it.memory).filter(|memory| *memory > 0);
        (
            room(size.map(|it| it.cpu), kept.cpu, daemons.cpu, cpu),
            room(whole, kept.memory, daemons.memory, memory),
        )
    }

    /// The `DaemonSets` of this tree whose pods run on a pool's nodes and ask for something.
    pub fn daemons(&self, pool: &Pool) -> Vec<Daemon> {
        let charts = &self.written.charts;
        let mut daemons = self.cloud.daemons(&self.written, pool);
        if pool.has_gpus() && pool.is_advertised_by(DevicePlugin::Gpuc) {
            // Beside the plugin stands what lets containers use a GPU together.
            let is_shared = matches!(pool.sharing.get(), Some(Sharing::Mps { .. }));
            let containers = if is_shared { 2 } else { 1 };
            let (cpu, mib) = RUNTIME_ASKS;
            daemons.push(Daemon::new(
                "gpuc-runtime",
                (containers * cpu, containers * mib),
            ));
        }
        let exporter = charts.dcgm_exporter.as_ref();
        if self.has_exporter(pool) && exporter.is_none_or(|settings| settings.values.is_empty()) {
            daemons.push(Daemon::new("dcgm-exporter", EXPORTER_ASKS));
        }
        let discovery = charts.node_feature_discovery.as_ref();
        if discovery.is_some_and(|settings| settings.values.is_empty()) {
            daemons.push(Daemon::new("node-feature-discovery-worker", DISCOVERY_ASKS));
        }
        daemons
    }

    /// Whether a pool has a release of dcgm-exporter of its own. Where the GPU Operator installs a pool's driver or
    /// plugin, it brings the exporter too.
    pub fn has_exporter(&self, pool: &Pool) -> bool {
        let monitoring = self.written.monitoring.as_ref();
        let is_dcgm = monitoring.is_some_and(|it| it.exporter.value == Exporter::Dcgm);
        let by_operator = pool.driver.value == DriverOwner::Operator
            || pool.is_advertised_by(DevicePlugin::Operator);
        is_dcgm && pool.has_gpus() && !by_operator
    }
}

fn thousandths(amount: &Spanned<Quantity>) -> Option<(u64, Span)> {
    Some((amount.thousandths()?, amount.span))
}

/// How large a pool's machines are, as far as that is known. No memory stands for one that is not.
fn size(pool: &Pool) -> Option<NodeSize> {
    let (vcpus, memory) = match pool.machine.get()? {
        MachineType::Catalog(machine) => (machine.vcpus, machine.memory_mib),
        MachineType::Cpu(Some(cpu)) => (cpu.vcpus, Some(cpu.memory_mib)),
        _ => return None,
    };
    Some(NodeSize {
        cpu: u64::from(vcpus) * 1000,
        memory: u64::from(memory.unwrap_or(0)) * MIB,
    })
}
