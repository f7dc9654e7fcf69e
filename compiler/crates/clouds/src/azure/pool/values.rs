//! Settings of a pool as AKS expects them.

use gpuc_model::SetBy;
use gpuc_model::plan::FieldKind;
use gpuc_schema::config::{Capacity, DriverOwner, Eviction, LocalDisks, Placement};
use serde_json::{Map, Value, json};

use super::super::{create_section, os, section, system_pool};
use super::PoolSettings;
use super::kinds::{MAX_SURGE, MAX_UNAVAILABLE};

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

    /// Upgrade settings: flag, field and number.
    pub(super) fn upgrade(&self) -> Vec<(&'static str, &'static FieldKind, u32)> {
        let Some(upgrade) = &self.pool.settings.upgrade else {
            // No reserved machine is free for a surge node: AKS deletes a node before it creates its replacement.
            return if self.pool.is_reserved() {
                vec![
                    ("--max-surge", &MAX_SURGE, 0),
                    ("--max-unavailable", &MAX_UNAVAILABLE, 1),
                ]
            } else {
                Vec::new()
            };
        };
        let surge = upgrade.max_surge.map(|count| count.value);
        let unavailable = upgrade.max_unavailable.map(|count| count.value);
        // The default surge of AKS is one. Without the preview, only one of the two settings can be above 0.
        let surge = surge
            .or(unavailable.filter(|count| *count > 0).map(|_| 0))
            .map(|count| ("--max-surge", &MAX_SURGE, count));
        let unavailable = unavailable.map(|count| ("--max-unavailable", &MAX_UNAVAILABLE, count));
        surge.into_iter().chain(unavailable).collect()
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
