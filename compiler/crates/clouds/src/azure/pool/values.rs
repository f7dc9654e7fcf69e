//! Settings of a pool as AKS expects them.

use gpuc_model::SetBy;
use gpuc_schema::config::{Capacity, DriverOwner, Eviction, LocalDisks, Placement};
use serde_json::{Map, Value, json};

use super::super::{create_section, os, section, system_pool};
use super::PoolSettings;

/// The maximum surge of a pool that is created without flags; the maximum of unavailable nodes is 0.
///
/// Source: learn.microsoft.com/azure/aks/upgrade-aks-cluster, read 2026-11-21.
const DEFAULT_SURGE: &str = "10%";

/// How many nodes AKS replaces at the same time.
#[derive(PartialEq)]
pub(super) struct Upgrade {
    max_surge: String,
    max_unavailable: String,
}

impl Upgrade {
    /// Whether AKS uses these settings without flags.
    pub(super) fn is_default(&self) -> bool {
        self.max_surge == DEFAULT_SURGE && self.max_unavailable == "0"
    }

    pub(super) fn flags(&self) -> [(&'static str, String); 2] {
        [
            ("--max-surge", self.max_surge.clone()),
            ("--max-unavailable", self.max_unavailable.clone()),
        ]
    }

    /// The settings as AKS reports them.
    pub(super) fn to_json(&self) -> Value {
        json!({"maxSurge": self.max_surge, "maxUnavailable": self.max_unavailable})
    }
}

impl PoolSettings<'_> {
    pub(super) fn vm_size(&self) -> &str {
        match self.pool.machine.expect_resolved() {
            gpuc_model::MachineType::Catalog(machine) => machine.name,
            _ => self.pool.machine_name.as_ref().map_or_else(
                || unreachable!("GPUC1003 rejects pools without a machine"),
                |name| name.as_str(),
            ),
        }
    }

    pub(super) fn os_sku(&self) -> &'static str {
        os::sku(self.pool.os.value).unwrap_or_else(|| {
            unreachable!("a rule rejects operating systems that AKS does not support")
        })
    }

    pub(super) fn mode(&self) -> &'static str {
        let system = system_pool(self.cluster);
        if system.is_some_and(|system| system.index == self.pool.index) {
            "System"
        } else {
            "User"
        }
    }

    /// Whether AKS installs the GPU driver. It is always set on pools with GPUs.
    pub(super) fn driver(&self) -> Option<&'static str> {
        let preinstalled = self.pool.driver.value == DriverOwner::Preinstalled;
        let word = if preinstalled { "Install" } else { "None" };
        self.pool.has_gpus().then_some(word)
    }

    /// Type of the boot disk, if the file sets `localDisks`.
    pub(super) fn disk_type(&self) -> Option<&'static str> {
        let written = self.pool.settings.local_disks?;
        Some(if written.value == LocalDisks::Boot {
            "Ephemeral"
        } else {
            "Managed"
        })
    }

    pub(super) fn zones(&self) -> Vec<String> {
        let mut zones: Vec<_> = self
            .pool
            .settings
            .zones
            .iter()
            .map(|zone| zone.value.clone())
            .collect();
        zones.sort();
        zones.dedup();
        zones
    }

    /// The subnet of the pool; by default the subnet of the cluster.
    pub(super) fn subnet(&self) -> Option<&str> {
        let cluster = create_section(self.cluster).and_then(|create| create.subnet.as_ref());
        let subnet = self.pool.settings.subnets.first().or(cluster);
        subnet.map(|subnet| subnet.as_str())
    }

    pub(super) fn reservation(&self) -> Option<&str> {
        match &self.pool.settings.capacity.value {
            Capacity::Reservation(reservation) => Some(&reservation.id),
            _ => None,
        }
    }

    pub(super) fn placement(&self) -> Option<&str> {
        match &self.pool.settings.network.placement.as_ref()?.value {
            Placement::Group(id) => Some(id),
            Placement::Compact => None,
        }
    }

    /// Eviction policy and maximum price of a spot pool.
    pub(super) fn spot_terms(&self) -> Option<(&'static str, f64)> {
        let Capacity::Spot(spot) = &self.pool.settings.capacity.value else {
            return None;
        };
        let eviction = match spot.eviction.as_ref().map(|eviction| eviction.value) {
            Some(Eviction::Deallocate) => "Deallocate",
            Some(Eviction::Delete) | None => "Delete",
        };
        let price = spot.max_price.as_ref().map_or(-1.0, |price| price.value);
        Some((eviction, price))
    }

    /// The surge and unavailable nodes. `None` on spot pools, which have neither: AKS answers "Spot pools can't set max
    /// surge" and "Spot pools can't set maxUnavailable" (hashicorp/terraform-provider-azurerm#19355 and #31129).
    pub(super) fn upgrade(&self) -> Option<Upgrade> {
        if self.spot_terms().is_some() {
            return None;
        }
        let upgrade = self.pool.settings.upgrade.as_ref();
        let surge = upgrade.and_then(|upgrade| upgrade.max_surge);
        let unavailable = upgrade.and_then(|upgrade| upgrade.max_unavailable);
        let (surge, unavailable) = match (surge, unavailable) {
            // No reserved machine is free for a surge node: AKS deletes a node before it creates its replacement.
            (None, None) if self.pool.is_reserved() && upgrade.is_none() => (Some(0), 1),
            // Without the preview, only one of the two settings can be above 0.
            (None, Some(unavailable)) if unavailable.value > 0 => (Some(0), unavailable.value),
            (surge, unavailable) => {
                let unavailable = unavailable.map_or(0, |count| count.value);
                (surge.map(|count| count.value), unavailable)
            }
        };
        let max_surge = surge.map_or_else(|| DEFAULT_SURGE.to_owned(), |count| count.to_string());
        Some(Upgrade {
            max_surge,
            max_unavailable: unavailable.to_string(),
        })
    }

    pub(super) fn labels(&self) -> Map<String, Value> {
        let labels = self.pool.labels.iter();
        labels
            .map(|label| (label.key.clone(), json!(label.value)))
            .collect()
    }

    pub(super) fn taints(&self) -> Vec<String> {
        let gpuc_taints = (self.pool.taints.iter()).filter(|taint| taint.set_by == SetBy::Gpuc);
        let mut taints: Vec<_> = gpuc_taints
            .map(|taint| format!("{}={}:{}", taint.key, taint.value, taint.effect.as_str()))
            .collect();
        taints.sort();
        taints
    }

    /// The tags of the cluster and of the pool. Tags of the pool take precedence.
    pub(super) fn tags(&self) -> Map<String, Value> {
        let cluster = section(&self.cluster.config).tags.iter();
        let tags = cluster.chain(&self.pool.settings.tags);
        tags.map(|(key, value)| (key.value.clone(), json!(value.value)))
            .collect()
    }
}
