//! The allocatable CPU and memory of a node for the pods of users: the capacity of the machine, minus the reservations
//! of the cloud, minus the requests of the DaemonSets in the generated tree.
//!
//! `allocatable` of a pool overrides the estimate. Otherwise the result is an upper bound: the memory that is invisible
//! to a virtual machine and the DaemonSets that a cloud installs itself are not documented, and not subtracted.

use gpuc_schema::config::{DevicePlugin, DriverOwner, Exporter, Quantity};
use gpuc_schema::{Span, Spanned};

use super::{Cluster, DaemonSetRequests, MachineType, Pool, Sharing};
use crate::cloud::reserved::{MIB, NodeSize, Reserved};

/// The amount of a resource on a node, in thousandths of a core or in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeCapacity {
    /// The capacity of the machine; the allocatable amount if the capacity is unknown.
    pub total: u64,
    /// The maximum of the requests of all pods of users.
    pub allocatable: u64,
    /// The location of `allocatable`; if unset, the amount is estimated.
    pub span: Option<Span>,
}

/// The requests of a container of gpuc-runtime: thousandths of a core, and MiB.
///
/// It uses less than 1 thousandth of a core. The request is its share of busy processors: with 10, the 99th percentile
/// of an Allocate is 12 ms, with 100 it is 4 ms, as without cgroups (`benches/README.md`, 2026-11-27).
pub const RUNTIME_REQUESTS: (u64, u64) = (100, 32);

/// The default requests of the pods of charts, in the same units.
///
/// Source: the charts' `values.yaml`: NVIDIA/dcgm-exporter@4.5.3-4.8.2 `deployment/`, aws/eks-charts
/// `stable/aws-efa-k8s-device-plugin`, kubernetes-sigs/node-feature-discovery `deployment/helm` (`worker`), read
/// 2026-11-21.
const EXPORTER_REQUESTS: (u64, u64) = (100, 128);
const DISCOVERY_REQUESTS: (u64, u64) = (5, 64);

impl Cluster {
    /// The CPU and the memory of a node of a pool, if they are known.
    pub fn node_capacity(&self, pool: &Pool) -> (Option<NodeCapacity>, Option<NodeCapacity>) {
        let daemons =
            self.daemon_set_requests(pool)
                .iter()
                .fold(Reserved::default(), |sum, daemon| Reserved {
                    cpu: sum.cpu + daemon.requests.cpu,
                    memory: sum.memory + daemon.requests.memory,
                });
        let size = node_size(pool);
        // The kubelets of an existing pool can have any reservations.
        let reservations = self
            .cloud
            .facts()
            .reserved_resources
            .filter(|_| !pool.is_existing());
        let reserved = reservations
            .zip(size)
            .map(|(of_node, size)| of_node(pool, size))
            .unwrap_or_default();
        let allocatable = pool.settings.allocatable.as_ref();
        let amount = |capacity: Option<u64>,
                      reserved: u64,
                      daemons: u64,
                      allocatable: Option<(u64, Span)>| {
            let available = match allocatable {
                Some((allocatable, _)) => allocatable,
                None => capacity?.saturating_sub(reserved),
            };
            Some(NodeCapacity {
                total: capacity.unwrap_or(available),
                allocatable: available.saturating_sub(daemons),
                span: allocatable.map(|(_, span)| span),
            })
        };
        let cpu = allocatable.and_then(|it| thousandths(it.cpu.as_ref()?));
        let memory = allocatable
            .and_then(|it| thousandths(it.memory.as_ref()?))
            .map(|(amount, span)| (amount / 1000, span));
        let memory_capacity = size.map(|it| it.memory).filter(|memory| *memory > 0);
        (
            amount(size.map(|it| it.cpu), reserved.cpu, daemons.cpu, cpu),
            amount(memory_capacity, reserved.memory, daemons.memory, memory),
        )
    }

    /// The `DaemonSets` of the generated tree whose pods run on the nodes of a pool and have requests.
    pub fn daemon_set_requests(&self, pool: &Pool) -> Vec<DaemonSetRequests> {
        let charts = &self.config.charts;
        let mut daemons = self.cloud.daemons(&self.config, pool);
        if pool.has_gpus() && pool.is_advertised_by(DevicePlugin::Gpuc) {
            // With MPS, the pod also has the container of the control daemon.
            let is_mps = matches!(pool.sharing.get(), Some(Sharing::Mps { .. }));
            let containers = if is_mps { 2 } else { 1 };
            let (cpu, mib) = RUNTIME_REQUESTS;
            daemons.push(DaemonSetRequests::new(
                "gpuc-runtime",
                (containers * cpu, containers * mib),
            ));
        }
        let exporter = charts.dcgm_exporter.as_ref();
        if self.has_exporter(pool) && exporter.is_none_or(|settings| settings.values.is_empty()) {
            daemons.push(DaemonSetRequests::new("dcgm-exporter", EXPORTER_REQUESTS));
        }
        let discovery = charts.node_feature_discovery.as_ref();
        if discovery.is_some_and(|settings| settings.values.is_empty()) {
            daemons.push(DaemonSetRequests::new(
                "node-feature-discovery-worker",
                DISCOVERY_REQUESTS,
            ));
        }
        daemons
    }

    /// Whether gpuc deploys dcgm-exporter to a pool. If the GPU Operator installs the driver or the device plugin of
    /// the pool, it also deploys the exporter.
    pub fn has_exporter(&self, pool: &Pool) -> bool {
        let monitoring = self.config.monitoring.as_ref();
        let is_dcgm = monitoring.is_some_and(|it| it.exporter.value == Exporter::Dcgm);
        let is_driver_by_operator = pool.driver.value == DriverOwner::Operator
            || pool.is_advertised_by(DevicePlugin::Operator);
        is_dcgm && pool.has_gpus() && !is_driver_by_operator
    }
}

fn thousandths(amount: &Spanned<Quantity>) -> Option<(u64, Span)> {
    Some((amount.thousandths()?, amount.span))
}

/// The size of the machines of a pool, if it is known. The memory is 0 if it is unknown.
fn node_size(pool: &Pool) -> Option<NodeSize> {
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
