//! GKE: `google_container_cluster` with the node pools in it, and `google_container_node_pool`.
//!
//! Source: the schema of `google_container_node_pool` in hashicorp/terraform-provider-google, 2026-11-29: numbers are
//! per zone, unless their names start with `total_`.

use std::collections::{BTreeMap, BTreeSet};

use super::aws::taints;
use super::{
    Attributes, Declared, DeclaredCluster, DeclaredPool, Known, Place, Resource, Values, last_part,
};

const ATTRIBUTES: Attributes = Attributes {
    labels: "node_config.labels",
    taints: "node_config.taint",
    machine_types: "node_config.machine_type",
    min: "autoscaling.min_node_count",
    max: "autoscaling.max_node_count",
    capacity: "node_config.spot",
    gpus_per_node: "node_config.guest_accelerator",
};

/// Reads a resource of GKE. Returns whether it is one.
pub(super) fn read(resource: &Resource<'_>, declared: &mut Declared) -> bool {
    let values = resource.values;
    match resource.kind {
        "google_container_cluster" => read_cluster(resource, declared),
        "google_container_node_pool" => {
            let name = values.set_text("name");
            // A state repeats the node pools in their cluster.
            let cluster = values.set_text("cluster").map(last_part);
            declared.pools.retain(|it| {
                !it.address.ends_with(IN_CLUSTER)
                    || it.name.as_deref() != name
                    || it.cluster != cluster
            });
            declared.pools.push(DeclaredPool {
                unknown_labels: resource.unknown_keys("/node_config/0/labels"),
                ..node_pool(resource.address, values)
            });
        }
        _ => return false,
    }
    true
}

/// The end of the address of a node pool that is a block in its cluster.
const IN_CLUSTER: &str = ".node_pool";

fn read_cluster(resource: &Resource<'_>, declared: &mut Declared) {
    let values = resource.values;
    let name = values.set_text("name").map(str::to_owned);
    // A release channel selects the version, which only a state has.
    let version = values
        .set_text("master_version")
        .or_else(|| values.set_text("min_master_version"));
    declared.clusters.push(DeclaredCluster {
        address: resource.address.to_owned(),
        cloud: "gcp",
        name: name.clone(),
        place: place(values),
        zones: cluster_zones(values),
        version: version.map(str::to_owned),
    });
    let pools = values.blocks("node_pool").unwrap_or_default().into_iter();
    let pools = pools.map(|pool| DeclaredPool {
        cluster: name.clone(),
        place: place(values),
        ..node_pool(&format!("{}{IN_CLUSTER}", resource.address), pool)
    });
    let known: Vec<_> = declared
        .pools
        .iter()
        .map(|it| (it.name.clone(), it.cluster.clone()))
        .collect();
    let pools = pools.filter(|it| !known.contains(&(it.name.clone(), it.cluster.clone())));
    declared.pools.extend(pools.collect::<Vec<_>>());
}

fn place(values: Values<'_>) -> Place {
    Place {
        location: values.set_text("location").map(str::to_owned),
        scope: values.set_text("project").map(str::to_ascii_lowercase),
    }
}

/// The number of zones of a cluster. The list of a zonal cluster does not contain its own zone. The zones of a region
/// are not in the configuration.
fn cluster_zones(values: Values<'_>) -> Option<u64> {
    let more = u64::try_from(values.texts("node_locations")?.len()).ok()?;
    match (is_zone(values.set_text("location")?), more) {
        (true, more) => Some(more + 1),
        (false, 0) => None,
        (false, zones) => Some(zones),
    }
}

/// A zone has one hyphen more than its region: us-central1-a.
fn is_zone(location: &str) -> bool {
    location.matches('-').count() == 2
}

fn node_pool(address: &str, values: Values<'_>) -> DeclaredPool {
    let name = values.set_text("name").map(str::to_owned);
    let config = values.block("node_config").flatten();
    let machine = config.and_then(|it| it.set_text("machine_type"));
    let accelerator = config.and_then(|it| it.block("guest_accelerator"));
    let attached = accelerator.flatten();
    let size = size(values);
    let mut cloud_labels = BTreeMap::new();
    let mut add = |key: &str, value: &str| cloud_labels.insert(key.to_owned(), value.to_owned());
    if let Some(name) = &name {
        add("cloud.google.com/gke-nodepool", name);
    }
    if let Some(machine) = machine {
        add("node.kubernetes.io/instance-type", machine);
    }
    if let Some(kind) = attached.and_then(|it| it.set_text("type")) {
        add("cloud.google.com/gke-accelerator", kind);
    }
    let kind = accelerator.map(|it| it.and_then(|it| it.set_text("type")).map(str::to_owned));
    DeclaredPool {
        address: address.to_owned(),
        cloud: "gcp",
        place: place(values),
        is_ambiguous: false,
        name,
        name_prefix: values.set_text("name_prefix").map(str::to_owned),
        cluster: values.set_text("cluster").map(last_part),
        labels: config.and_then(|it| it.map("labels")),
        unknown_labels: BTreeSet::new(),
        cloud_labels,
        taints: config.and_then(taints),
        machine_types: machine.map(|machine| vec![machine.to_owned()]),
        min: size.total.map(|(min, _)| min),
        max: size.total.map(|(_, max)| max),
        per_zone: size.per_zone,
        capacity: config.and_then(capacity),
        taints_spot: false,
        driver: attached.and_then(driver),
        gpus_per_node: attached.and_then(|it| it.number("count")),
        // An accelerator whose type is not known is one.
        accelerator: kind.filter(|it| it.is_some() || attached.is_none()),
        attributes: Attributes {
            min: size.attributes.0,
            max: size.attributes.1,
            ..ATTRIBUTES
        },
    }
}

/// The size of a node pool.
struct Size {
    /// The minimum and the maximum over all zones.
    total: Option<(u64, u64)>,
    /// The minimum and the maximum in a zone, if the node pool does not name its zones.
    per_zone: Option<(u64, u64)>,
    /// The attributes with the minimum and the maximum.
    attributes: (&'static str, &'static str),
}

fn size(values: Values<'_>) -> Size {
    let per_zone = |count: Option<(u64, u64)>, attributes| {
        let zones = values
            .texts("node_locations")
            .filter(|zones| !zones.is_empty());
        let zones = zones.and_then(|zones| u64::try_from(zones.len()).ok());
        Size {
            total: count
                .zip(zones)
                .map(|((min, max), zones)| (min * zones, max * zones)),
            per_zone: count.filter(|_| zones.is_none()),
            attributes,
        }
    };
    match values.block("autoscaling") {
        Some(Some(scaling)) => {
            let max = scaling
                .number("total_max_node_count")
                .filter(|count| *count > 0);
            if let Some(max) = max {
                let min = scaling.number("total_min_node_count").unwrap_or(0);
                return Size {
                    total: Some((min, max)),
                    per_zone: None,
                    attributes: (
                        "autoscaling.total_min_node_count",
                        "autoscaling.total_max_node_count",
                    ),
                };
            }
            let count = scaling
                .number("min_node_count")
                .zip(scaling.number("max_node_count"));
            per_zone(count, (ATTRIBUTES.min, ATTRIBUTES.max))
        }
        Some(None) => {
            let count = values.number("node_count");
            per_zone(
                count.map(|count| (count, count)),
                ("node_count", "node_count"),
            )
        }
        None => per_zone(None, (ATTRIBUTES.min, ATTRIBUTES.max)),
    }
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
