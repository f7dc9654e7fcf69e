//! What a pool is as a managed node group: every choice made, for eksctl's file and for the field tables alike.

use std::collections::BTreeSet;

use gpuc_schema::config::{Autoscaler, Capacity, OsFamily, Placement, TaintEffect};
use gpuc_schema::{Span, Spanned};

use super::machines::{self, Ec2Instance};
use super::{cpu, karpenter};
use crate::cloud::machine::CpuArchitecture;
use crate::model::{Cluster, MachineType, NodeRange, Pool, PoolTaint};

/// A pool as a managed node group.
pub(super) struct NodeGroup<'c> {
    /// The cluster.
    pub(super) cluster: &'c Cluster,
    /// The pool.
    pub(super) pool: &'c Pool,
    /// The instance type, and where it was chosen.
    pub(super) machine: Spanned<&'c str>,
    /// How many nodes.
    pub(super) nodes: NodeRange,
}

/// How EKS has the machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CapacityType {
    OnDemand,
    Spot,
    Block,
}

impl CapacityType {
    /// As the EKS API says it.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::OnDemand => "ON_DEMAND",
            Self::Spot => "SPOT",
            Self::Block => "CAPACITY_BLOCK",
        }
    }
}

impl<'c> NodeGroup<'c> {
    /// The node group of a pool without holes.
    pub(super) fn new(cluster: &'c Cluster, pool: &'c Pool) -> Self {
        let gpus = pool.gpus.sure().as_ref();
        let written = pool.written.machine.as_ref();
        let machine = match (pool.machine.sure(), written) {
            (MachineType::Catalog(machine), _) => {
                let span = gpus.map_or(pool.name.span, |gpus| gpus.chosen);
                Spanned::new(machine.name, span)
            }
            (_, Some(name)) => Spanned::new(name.value.as_str(), name.span),
            _ => unreachable!("a machine that nobody wrote was picked from the catalog"),
        };
        Self {
            cluster,
            pool,
            machine,
            nodes: *pool.nodes.sure(),
        }
    }

    /// What the table says of its machine, if it has GPUs.
    pub(super) fn instance(&self) -> Option<&'static Ec2Instance> {
        machines::find(self.machine.value)
    }

    /// What EKS calls its image; eksctl's name of the family for images that EKS does not make.
    pub(super) fn image(&self) -> String {
        let arm = cpu::architecture(self.machine.value) == CpuArchitecture::Arm64;
        let architecture = if arm { "ARM_64" } else { "x86_64" };
        let instance = self.instance();
        let with_driver = match self.pool.os.value {
            OsFamily::AmazonLinux2023 => instance.and_then(|instance| instance.ami_al2023),
            OsFamily::Bottlerocket => instance.and_then(|instance| instance.ami_bottlerocket),
            family => return family_name(family),
        };
        with_driver.map_or_else(
            || match self.pool.os.value {
                OsFamily::Bottlerocket => format!("BOTTLEROCKET_{architecture}"),
                _ => format!("AL2023_{architecture}_STANDARD"),
            },
            str::to_owned,
        )
    }

    /// Whether its image is one that EKS makes, moves to a new Kubernetes version and reports.
    pub(super) fn has_eks_image(&self) -> bool {
        matches!(
            self.pool.os.value,
            OsFamily::AmazonLinux2023 | OsFamily::Bottlerocket
        )
    }

    /// Whether the operating system advertises the GPUs.
    pub(super) fn advertises_by_itself(&self) -> bool {
        let os = self.cluster.cloud.os(self.pool.os.value);
        os.is_some_and(|os| os.advertises)
    }

    /// The zones that the user names, in order, each once.
    pub(super) fn zones(&self) -> BTreeSet<&'c str> {
        self.pool
            .written
            .zones
            .iter()
            .map(|zone| zone.as_str())
            .collect()
    }

    /// The subnets that the user names, in order, each once.
    pub(super) fn subnets(&self) -> BTreeSet<&'c str> {
        let subnets = &self.pool.written.subnets;
        subnets.iter().map(|subnet| subnet.as_str()).collect()
    }

    /// Where the user says where nodes are.
    pub(super) fn place_spans(&self) -> Vec<Span> {
        let written = &self.pool.written;
        let places = written.zones.iter().chain(&written.subnets);
        places.map(|place| place.span).collect()
    }

    /// How EKS has the machines.
    pub(super) fn capacity(&self) -> CapacityType {
        Self::capacity_of(self.pool)
    }

    /// How EKS has the machines of a pool.
    pub(super) fn capacity_of(pool: &Pool) -> CapacityType {
        match &pool.written.capacity.value {
            Capacity::OnDemand | Capacity::Reservation(_) => CapacityType::OnDemand,
            Capacity::Spot(_) => CapacityType::Spot,
            Capacity::CapacityBlock(_) => CapacityType::Block,
        }
    }

    /// The capacity reservation that the machines come from.
    pub(super) fn reservation(&self) -> Option<&'c Spanned<String>> {
        match &self.pool.written.capacity.value {
            Capacity::Reservation(reservation) => Some(&reservation.id),
            Capacity::CapacityBlock(block) => Some(&block.id),
            Capacity::OnDemand | Capacity::Spot(_) => None,
        }
    }

    /// Where EFA is asked for.
    pub(super) fn efa(&self) -> Option<Span> {
        self.pool.written.network.efa.as_ref().map(|efa| efa.span)
    }

    /// The placement group that the user has. For compact placement eksctl makes one by itself, as it does for every
    /// group with EFA that has neither a group nor a reservation.
    pub(super) fn placement_group(&self) -> Option<&'c Spanned<String>> {
        match &self.pool.written.network.placement.as_ref()?.value {
            Placement::Group(name) => Some(name),
            Placement::Compact => None,
        }
    }

    /// How many nodes may be missing during an upgrade.
    pub(super) fn max_unavailable(&self) -> Spanned<u32> {
        let upgrade = self.pool.written.upgrade.as_ref();
        let written = upgrade.and_then(|upgrade| upgrade.max_unavailable);
        written.unwrap_or(Spanned::unwritten(1))
    }

    /// Whether EKS starts the nodes of an upgrade before it ends the old ones. Reserved machines are all taken, so that
    /// there the old ones end first.
    ///
    /// Source: EKS `NodegroupUpdateConfig.updateStrategy` (botocore 1.43.11), 2026-11-21. eksctl's file has no word for
    /// it (eksctl-io/eksctl @99984adb).
    pub(super) fn update_strategy(&self) -> &'static str {
        if self.pool.is_reserved() {
            "MINIMAL"
        } else {
            "DEFAULT"
        }
    }

    /// What EKS is told of upgrades.
    pub(super) fn update_config(&self) -> serde_json::Value {
        serde_json::json!({
            "maxUnavailable": self.max_unavailable().value,
            "updateStrategy": self.update_strategy(),
        })
    }

    /// Whether EKS replaces nodes that are broken.
    pub(super) fn repair(&self) -> Spanned<bool> {
        let written = self.pool.written.auto_repair;
        written.unwrap_or(Spanned::unwritten(false))
    }

    /// The taints with which the node group's nodes register.
    pub(super) fn taints(&self) -> impl Iterator<Item = &'c PoolTaint> + use<'c> {
        self.pool.registered_taints()
    }

    /// Whether the Cluster Autoscaler adds its nodes.
    pub(super) fn is_autoscaled(&self) -> bool {
        self.cluster.autoscaler.value == Autoscaler::ClusterAutoscaler
    }
}

/// The pools that are managed node groups: neither made by hand nor Karpenter's.
pub(super) fn pools(cluster: &Cluster) -> impl Iterator<Item = &Pool> {
    let made = cluster.pools.iter().filter(|pool| !pool.is_existing());
    made.filter(|pool| !karpenter::makes(cluster, pool))
}

/// As eksctl names a family of images.
pub(super) fn family_name(family: OsFamily) -> String {
    match serde_json::to_value(family) {
        Ok(serde_json::Value::String(name)) => name,
        _ => unreachable!("a unit variant is written as its name"),
    }
}

/// As Kubernetes and eksctl name an effect.
pub(super) fn effect_name(effect: TaintEffect) -> &'static str {
    match effect {
        TaintEffect::NoSchedule => "NoSchedule",
        TaintEffect::PreferNoSchedule => "PreferNoSchedule",
        TaintEffect::NoExecute => "NoExecute",
    }
}

/// As the EKS API names an effect.
pub(super) fn api_effect_name(effect: TaintEffect) -> &'static str {
    match effect {
        TaintEffect::NoSchedule => "NO_SCHEDULE",
        TaintEffect::PreferNoSchedule => "PREFER_NO_SCHEDULE",
        TaintEffect::NoExecute => "NO_EXECUTE",
    }
}
