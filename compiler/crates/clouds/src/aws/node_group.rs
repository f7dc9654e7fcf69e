//! A pool as a managed node group: the resolved settings, for eksctl's file and for the field tables.

use std::collections::BTreeSet;

use gpuc_model::cloud::machine::CpuArchitecture;
use gpuc_model::{Cluster, MachineType, NodeRange, Pool, PoolTaint};
use gpuc_schema::config::{Autoscaler, Capacity, OsFamily, Placement, TaintEffect};
use gpuc_schema::{Span, Spanned};

use super::machines::{self, Ec2Instance};
use super::{cpu, karpenter};

/// A pool as a managed node group.
pub(super) struct NodeGroup<'c> {
    /// The cluster.
    pub(super) cluster: &'c Cluster,
    /// The pool.
    pub(super) pool: &'c Pool,
    /// The instance type, and the span that selects it.
    pub(super) machine: Spanned<&'c str>,
    /// The range of the number of nodes.
    pub(super) nodes: NodeRange,
}

/// The capacity type of a node group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CapacityType {
    OnDemand,
    Spot,
    Block,
}

impl CapacityType {
    /// The value in the EKS API.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::OnDemand => "ON_DEMAND",
            Self::Spot => "SPOT",
            Self::Block => "CAPACITY_BLOCK",
        }
    }
}

impl<'c> NodeGroup<'c> {
    /// The node group of a pool without unresolved values.
    pub(super) fn new(cluster: &'c Cluster, pool: &'c Pool) -> Self {
        let gpus = pool.gpus.expect_resolved().as_ref();
        let written = pool.machine_name.as_ref();
        let machine = match (pool.machine.expect_resolved(), written) {
            (MachineType::Catalog(machine), _) => {
                let span = gpus.map_or(pool.name.span, |gpus| gpus.span);
                Spanned::new(machine.name, span)
            }
            (_, Some(name)) => Spanned::new(name.value.as_str(), name.span),
            _ => unreachable!("a machine type that is not set is picked from the catalog"),
        };
        Self {
            cluster,
            pool,
            machine,
            nodes: *pool.nodes.expect_resolved(),
        }
    }

    /// The instance types, first choice first.
    pub(super) fn machine_types(&self) -> Vec<&'c str> {
        [self.machine.value]
            .into_iter()
            .chain(self.alternatives())
            .collect()
    }

    /// The instance types that EC2 may create instead.
    pub(super) fn alternatives(&self) -> impl Iterator<Item = &'c str> + use<'c> {
        let names = self.pool.settings.alternative_machines.iter();
        names.map(|name| name.as_str())
    }

    /// The spans of the instance types that EC2 may create instead.
    pub(super) fn alternative_spans(&self) -> impl Iterator<Item = Span> + use<'c> {
        let names = self.pool.settings.alternative_machines.iter();
        names.map(|name| name.span)
    }

    /// The catalog entry of its machine type, if it has GPUs.
    pub(super) fn instance(&self) -> Option<&'static Ec2Instance> {
        machines::find(self.machine.value)
    }

    /// The image type in EKS; for images that EKS does not publish, eksctl's name of the family.
    pub(super) fn ami_type(&self) -> String {
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

    /// Whether EKS publishes its image, reports it, and updates it to a new Kubernetes version.
    pub(super) fn has_eks_image(&self) -> bool {
        matches!(
            self.pool.os.value,
            OsFamily::AmazonLinux2023 | OsFamily::Bottlerocket
        )
    }

    /// Whether the operating system advertises the GPUs.
    pub(super) fn advertises_by_itself(&self) -> bool {
        let os = self.cluster.cloud.os(self.pool.os.value);
        os.is_some_and(|os| os.has_device_plugin)
    }

    /// The zones in the file, sorted and without duplicates.
    pub(super) fn zones(&self) -> BTreeSet<&'c str> {
        self.pool
            .settings
            .zones
            .iter()
            .map(|zone| zone.as_str())
            .collect()
    }

    /// The subnets in the file, sorted and without duplicates.
    pub(super) fn subnets(&self) -> BTreeSet<&'c str> {
        let subnets = &self.pool.settings.subnets;
        subnets.iter().map(|subnet| subnet.as_str()).collect()
    }

    /// The spans of the zones and subnets in the file.
    pub(super) fn location_spans(&self) -> Vec<Span> {
        let settings = &self.pool.settings;
        let locations = settings.zones.iter().chain(&settings.subnets);
        locations.map(|location| location.span).collect()
    }

    /// The capacity type.
    pub(super) fn capacity_type(&self) -> CapacityType {
        Self::capacity_type_of(self.pool)
    }

    /// The capacity type of a pool.
    pub(super) fn capacity_type_of(pool: &Pool) -> CapacityType {
        match &pool.settings.capacity.value {
            // The rule `capacity-unavailable` rejects flex-start.
            Capacity::OnDemand | Capacity::Reservation(_) | Capacity::FlexStart(_) => {
                CapacityType::OnDemand
            }
            Capacity::Spot(_) => CapacityType::Spot,
            Capacity::CapacityBlock(_) => CapacityType::Block,
        }
    }

    /// The capacity reservation of the machines.
    pub(super) fn reservation(&self) -> Option<&'c Spanned<String>> {
        match &self.pool.settings.capacity.value {
            Capacity::Reservation(reservation) => Some(&reservation.id),
            Capacity::CapacityBlock(block) => Some(&block.id),
            Capacity::OnDemand | Capacity::Spot(_) | Capacity::FlexStart(_) => None,
        }
    }

    /// The span that enables EFA.
    pub(super) fn efa_span(&self) -> Option<Span> {
        self.pool.settings.network.efa.as_ref().map(|efa| efa.span)
    }

    /// The placement group in the file. For compact placement eksctl creates one automatically, as it does for every
    /// node group with EFA and without a placement group or a reservation.
    pub(super) fn placement_group(&self) -> Option<&'c Spanned<String>> {
        match &self.pool.settings.network.placement.as_ref()?.value {
            Placement::Group(name) => Some(name),
            Placement::Compact => None,
        }
    }

    /// The maximum number of unavailable nodes during an upgrade.
    pub(super) fn max_unavailable(&self) -> Spanned<u32> {
        let upgrade = self.pool.settings.upgrade.as_ref();
        let written = upgrade.and_then(|upgrade| upgrade.max_unavailable);
        written.unwrap_or(Spanned::without_span(1))
    }

    /// The update strategy. By default, EKS starts the new nodes of an upgrade before it terminates the old ones. Pools
    /// with a reservation have no spare machines, so EKS terminates the old nodes first.
    ///
    /// Source: EKS `NodegroupUpdateConfig.updateStrategy` (botocore 1.43.11), 2026-11-21. eksctl's file has no key for
    /// it (eksctl-io/eksctl @99984adb).
    pub(super) fn update_strategy(&self) -> &'static str {
        if self.pool.is_reserved() {
            "MINIMAL"
        } else {
            "DEFAULT"
        }
    }

    /// The update configuration in the EKS API.
    pub(super) fn update_config(&self) -> serde_json::Value {
        serde_json::json!({
            "maxUnavailable": self.max_unavailable().value,
            "updateStrategy": self.update_strategy(),
        })
    }

    /// Whether EKS replaces unhealthy nodes.
    pub(super) fn repair(&self) -> Spanned<bool> {
        let written = self.pool.settings.auto_repair;
        written.unwrap_or(Spanned::without_span(false))
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

/// The pools that are managed node groups: neither existing nor provisioned by Karpenter.
pub(super) fn managed_pools(cluster: &Cluster) -> impl Iterator<Item = &Pool> {
    cluster
        .pools
        .iter()
        .filter(|pool| !pool.is_existing() && !karpenter::provisions(cluster, pool))
}

/// The name of an image family in eksctl.
pub(super) fn family_name(family: OsFamily) -> String {
    match serde_json::to_value(family) {
        Ok(serde_json::Value::String(name)) => name,
        _ => unreachable!("a unit variant is serialized as its name"),
    }
}

/// The name of a taint effect in the EKS API.
pub(super) fn api_effect_name(effect: TaintEffect) -> &'static str {
    match effect {
        TaintEffect::NoSchedule => "NO_SCHEDULE",
        TaintEffect::PreferNoSchedule => "PREFER_NO_SCHEDULE",
        TaintEffect::NoExecute => "NO_EXECUTE",
    }
}
