//! GKE: `google_container_cluster` and `google_container_node_pool`.
//!
//! Source: the schema of `google_container_node_pool` in hashicorp/terraform-provider-google, 2026-11-29: numbers are
//! per zone, unless their names start with `total_`.

use std::collections::BTreeMap;

use super::aws::effect;
use super::{
    Attributes, Declared, DeclaredCluster, DeclaredPool, Known, Resource, Values, last_part,
};
use crate::contract::TaintContract;

const ATTRIBUTES: Attributes = Attributes {
    labels: "node_config.labels",
    taints: "node_config.taint",
    machine_types: "node_config.machine_type",
    min: "autoscaling.total_min_node_count",
    max: "autoscaling.total_max_node_count",
    capacity: "node_config.spot",
    gpus_per_node: "node_config.guest_accelerator.count",
};

/// Reads a resource of GKE. Returns whether it is one.
pub(super) fn read(resource: &Resource<'_>, declared: &mut Declared) -> bool {
    let values = resource.values;
    match resource.kind {
        "google_container_cluster" => declared.clusters.push(DeclaredCluster {
            address: resource.address.to_owned(),
            name: values.set_text("name").map(str::to_owned),
            version: values.set_text("min_master_version").map(str::to_owned),
        }),
        "google_container_node_pool" => declared.pools.push(node_pool(resource.address, values)),
        _ => return false,
    }
    true
}

fn node_pool(address: &str, values: Values<'_>) -> DeclaredPool {
    let name = values.set_text("name").map(str::to_owned);
    let config = values.block("node_config").flatten();
    let machine = config.and_then(|it| it.set_text("machine_type"));
    let accelerator = config.and_then(|it| it.block("guest_accelerator").flatten());
    let (min, max) = size(values);
    let mut cloud_labels = BTreeMap::new();
    let mut add = |key: &str, value: &str| cloud_labels.insert(key.to_owned(), value.to_owned());
    if let Some(name) = &name {
        add("cloud.google.com/gke-nodepool", name);
    }
    if let Some(machine) = machine {
        add("node.kubernetes.io/instance-type", machine);
    }
    if let Some(kind) = accelerator.and_then(|it| it.set_text("type")) {
        add("cloud.google.com/gke-accelerator", kind);
    }
    DeclaredPool {
        address: address.to_owned(),
        resource_type: "google_container_node_pool",
        name,
        name_prefix: values.set_text("name_prefix").map(str::to_owned),
        cluster: values.set_text("cluster").map(last_part),
        labels: config.and_then(|it| it.map("labels")),
        cloud_labels,
        taints: config.and_then(taints),
        machine_types: machine.map(|machine| vec![machine.to_owned()]),
        min,
        max,
        capacity: config.and_then(capacity),
        taints_spot: false,
        driver: accelerator.and_then(driver),
        gpus_per_node: accelerator.and_then(|it| it.number("count")),
        attributes: ATTRIBUTES,
    }
}

/// The minimum and the maximum over all zones. `node_count` and `min_node_count` are numbers per zone.
fn size(values: Values<'_>) -> (Known<u64>, Known<u64>) {
    let zones = zone_count(values);
    let per_zone = |count: Option<u64>| Some(count? * zones?);
    match values.block("autoscaling") {
        Some(Some(scaling)) => {
            let total = |key: &str| scaling.number(key).filter(|count| *count > 0);
            let max = total("total_max_node_count");
            if max.is_some() {
                return (
                    Some(scaling.number("total_min_node_count").unwrap_or(0)),
                    max,
                );
            }
            (
                per_zone(scaling.number("min_node_count")),
                per_zone(scaling.number("max_node_count")),
            )
        }
        Some(None) => {
            let count = per_zone(values.number("node_count"));
            (count, count)
        }
        None => (None, None),
    }
}

/// The number of zones, if the configuration determines it: a region has a number of zones that it does not contain.
fn zone_count(values: Values<'_>) -> Option<u64> {
    let zones = values
        .texts("node_locations")
        .filter(|zones| !zones.is_empty());
    if let Some(zones) = zones {
        return u64::try_from(zones.len()).ok();
    }
    // A zone has one hyphen more than its region: us-central1-a.
    let location = values.set_text("location")?;
    (location.matches('-').count() == 2).then_some(1)
}

fn taints(config: Values<'_>) -> Known<Vec<TaintContract>> {
    let taints = config.blocks("taint")?.into_iter();
    taints
        .map(|taint| {
            Some(TaintContract {
                key: taint.set_text("key")?.to_owned(),
                value: taint.text("value")?.unwrap_or_default().to_owned(),
                effect: effect(taint.set_text("effect")?)?,
            })
        })
        .collect()
}

fn capacity(config: Values<'_>) -> Known<&'static str> {
    let is_spot = config.boolean("spot")? || config.boolean("preemptible").unwrap_or(false);
    Some(if is_spot { "spot" } else { "onDemand" })
}

/// Whether GKE installs a driver. Without the block, it depends on the version of GKE.
fn driver(accelerator: Values<'_>) -> Known<(bool, &'static str)> {
    let attribute =
        "node_config.guest_accelerator.gpu_driver_installation_config.gpu_driver_version";
    let config = accelerator
        .block("gpu_driver_installation_config")
        .flatten()?;
    match config.set_text("gpu_driver_version")? {
        "INSTALLATION_DISABLED" => Some((false, attribute)),
        "DEFAULT" | "LATEST" => Some((true, attribute)),
        _ => None,
    }
}
