//! What a pool is, in Azure's words.

use gpuc_schema::config::{Capacity, DriverOwner, Eviction, LocalDisks, Placement};
use serde_json::{Map, Value, json};

use super::super::{created, os, section, system_pool};
use super::Settings;
use super::kinds::{MAX_SURGE, MAX_UNAVAILABLE};
use crate::model::SetBy;
use crate::plan::FieldKind;

impl Settings<'_> {
    pub(super) fn vm_size(&self) -> &str {
        match self.pool.machine.sure() {
            crate::model::MachineType::Catalog(machine) => machine.name,
            _ => self.pool.written.machine.as_ref().map_or_else(
                || unreachable!("GPUC1003 rejects pools without a machine"),
                |name| name.as_str(),
            ),
        }
    }

    pub(super) fn os_sku(&self) -> &'static str {
        os::sku(self.pool.os.value)
            .unwrap_or_else(|| unreachable!("a rule rejects operating systems that AKS has not"))
    }

    pub(super) fn mode(&self) -> &'static str {
        let system = system_pool(self.cluster);
        if system.is_some_and(|system| system.index == self.pool.index) {
            "System"
        } else {
            "User"
        }
    }

    /// Who installs the driver, on pools with GPUs: it is always said.
    pub(super) fn driver(&self) -> Option<&'static str> {
        let preinstalled = self.pool.driver.value == DriverOwner::Preinstalled;
        let word = if preinstalled { "Install" } else { "None" };
        self.pool.has_gpus().then_some(word)
    }

    /// Where the boot disk is, if the file says it.
    pub(super) fn disk_type(&self) -> Option<&'static str> {
        let written = self.pool.written.local_disks?;
        Some(if written.value == LocalDisks::Boot {
            "Ephemeral"
        } else {
            "Managed"
        })
    }

    pub(super) fn zones(&self) -> Vec<String> {
        let zones = self.pool.written.zones.iter();
        let mut zones: Vec<_> = zones.map(|zone| zone.value.clone()).collect();
        zones.sort();
        zones.dedup();
        zones
    }

    /// The pool's subnet, else that of the cluster.
    pub(super) fn subnet(&self) -> Option<&str> {
        let cluster = created(self.cluster).and_then(|create| create.subnet.as_ref());
        let subnet = self.pool.written.subnets.first().or(cluster);
        subnet.map(|subnet| subnet.as_str())
    }

    pub(super) fn reservation(&self) -> Option<&str> {
        match &self.pool.written.capacity.value {
            Capacity::Reservation(reservation) => Some(&reservation.id),
            _ => None,
        }
    }

    pub(super) fn placement(&self) -> Option<&str> {
        match &self.pool.written.network.placement.as_ref()?.value {
            Placement::Group(id) => Some(id),
            Placement::Compact => None,
        }
    }

    /// The eviction policy and the highest price of a spot pool.
    pub(super) fn spot(&self) -> Option<(&'static str, f64)> {
        let Capacity::Spot(spot) = &self.pool.written.capacity.value else {
            return None;
        };
        let eviction = match spot.eviction.as_ref().map(|eviction| eviction.value) {
            Some(Eviction::Deallocate) => "Deallocate",
            Some(Eviction::Delete) | None => "Delete",
        };
        let price = spot.max_price.as_ref().map_or(-1.0, |price| price.value);
        Some((eviction, price))
    }

    /// What AKS is told of upgrades: flag, field and number.
    pub(super) fn upgrade(&self) -> Vec<(&'static str, &'static FieldKind, u32)> {
        let Some(upgrade) = &self.pool.written.upgrade else {
            // Every reserved machine is taken: a node ends before another starts.
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
        let missing = upgrade.max_unavailable.map(|count| count.value);
        // AKS takes a surge of one by default, and without its preview one or the other.
        let surge = surge.or(missing.filter(|count| *count > 0).map(|_| 0));
        let surge = surge.map(|count| ("--max-surge", &MAX_SURGE, count));
        let missing = missing.map(|count| ("--max-unavailable", &MAX_UNAVAILABLE, count));
        surge.into_iter().chain(missing).collect()
    }

    pub(super) fn labels(&self) -> Map<String, Value> {
        let labels = self.pool.labels.iter();
        labels
            .map(|label| (label.key.clone(), json!(label.value)))
            .collect()
    }

    pub(super) fn taints(&self) -> Vec<String> {
        let ours = self.pool.taints.iter();
        let ours = ours.filter(|taint| taint.set_by == SetBy::Gpuc);
        let mut taints: Vec<_> = ours
            .map(|taint| format!("{}={}:{:?}", taint.key, taint.value, taint.effect))
            .collect();
        taints.sort();
        taints
    }

    /// The cluster's tags and the pool's; the pool's word counts.
    pub(super) fn tags(&self) -> Map<String, Value> {
        let cluster = section(&self.cluster.written).tags.iter();
        let tags = cluster.chain(&self.pool.written.tags);
        tags.map(|(key, value)| (key.value.clone(), json!(value.value)))
            .collect()
    }
}
