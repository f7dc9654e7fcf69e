//! AKS: `azurerm_kubernetes_cluster` with its default node pool, and `azurerm_kubernetes_cluster_node_pool`.
//!
//! Source: the resources in hashicorp/terraform-provider-azurerm, from memory, 2026-11-29. Release 4 renamed
//! `enable_auto_scaling` to `auto_scaling_enabled`.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    Attributes, Declared, DeclaredCluster, DeclaredPool, Known, Place, Resource, Values, last_part,
};
use crate::contract::TaintContract;

const ATTRIBUTES: Attributes = Attributes {
    labels: "node_labels",
    taints: "node_taints",
    machine_types: "vm_size",
    min: "min_count",
    max: "max_count",
    capacity: "priority",
    gpus_per_node: "vm_size",
};

/// Reads a resource of AKS. Returns whether it is one.
pub(super) fn read(resource: &Resource<'_>, declared: &mut Declared) -> bool {
    let values = resource.values;
    match resource.kind {
        "azurerm_kubernetes_cluster" => {
            let name = values.set_text("name").map(str::to_owned);
            if let Some(Some(pool)) = values.block("default_node_pool") {
                let address = format!("{}.default_node_pool", resource.address);
                declared.pools.push(DeclaredPool {
                    cluster: name.clone(),
                    place: place(values),
                    unknown_labels: resource.unknown_keys("/default_node_pool/0/node_labels"),
                    // Spot machines are not possible there, and it has no other taints.
                    taints: Some(critical_taints(pool)),
                    capacity: Some("onDemand"),
                    ..node_pool(&address, pool)
                });
            }
            declared.clusters.push(DeclaredCluster {
                address: resource.address.to_owned(),
                cloud: "azure",
                name,
                place: place(values),
                zones: None,
                version: values.set_text("kubernetes_version").map(str::to_owned),
            });
        }
        "azurerm_kubernetes_cluster_node_pool" => {
            declared.pools.push(DeclaredPool {
                unknown_labels: resource.unknown_keys("/node_labels"),
                ..node_pool(resource.address, values)
            });
        }
        _ => return false,
    }
    true
}

/// The taint of a default node pool for system pods.
fn critical_taints(pool: Values<'_>) -> Vec<TaintContract> {
    let is_critical = pool
        .boolean("only_critical_addons_enabled")
        .unwrap_or(false);
    let taint = is_critical.then(|| TaintContract {
        key: "CriticalAddonsOnly".to_owned(),
        value: "true".to_owned(),
        effect: "NoSchedule",
    });
    taint.into_iter().collect()
}

/// The location, the subscription and the resource group of a cluster.
fn place(values: Values<'_>) -> Place {
    let location = values.set_text("location");
    Place {
        location: location.map(|it| it.to_ascii_lowercase().replace(' ', "")),
        scope: values.set_text("id").and_then(scope),
    }
}

/// The subscription and the resource group in an ID, in small letters.
fn scope(id: &str) -> Option<String> {
    let id = id.to_ascii_lowercase();
    let after = |key: &str| id.split(key).nth(1)?.split('/').next();
    Some(format!(
        "{}/{}",
        after("/subscriptions/")?,
        after("/resourcegroups/")?
    ))
}

fn node_pool(address: &str, values: Values<'_>) -> DeclaredPool {
    let name = values.set_text("name").map(str::to_owned);
    let machine = values.set_text("vm_size").map(str::to_owned);
    let (min, max) = size(values);
    let mut cloud_labels = BTreeMap::new();
    if let Some(name) = &name {
        for key in ["kubernetes.azure.com/agentpool", "agentpool"] {
            cloud_labels.insert(key.to_owned(), name.clone());
        }
    }
    if let Some(machine) = &machine {
        let key = "node.kubernetes.io/instance-type";
        cloud_labels.insert(key.to_owned(), machine.clone());
    }
    let capacity = capacity(values);
    if capacity == Some("spot") {
        let key = "kubernetes.azure.com/scalesetpriority";
        cloud_labels.insert(key.to_owned(), "spot".to_owned());
    }
    DeclaredPool {
        address: address.to_owned(),
        cloud: "azure",
        place: Place {
            location: None,
            scope: values.set_text("kubernetes_cluster_id").and_then(scope),
        },
        is_ambiguous: false,
        name,
        name_prefix: None,
        cluster: values.set_text("kubernetes_cluster_id").map(last_part),
        labels: values.map("node_labels"),
        unknown_labels: BTreeSet::new(),
        cloud_labels,
        taints: taints(values),
        machine_types: machine.map(|machine| vec![machine]),
        min,
        max,
        capacity,
        taints_spot: true,
        driver: driver(values),
        gpus_per_node: None,
        accelerator: None,
        per_zone: None,
        attributes: if is_scaled(values) == Some(false) {
            Attributes {
                min: "node_count",
                max: "node_count",
                ..ATTRIBUTES
            }
        } else {
            ATTRIBUTES
        },
    }
}

fn is_scaled(values: Values<'_>) -> Known<bool> {
    let named_now = values.boolean("auto_scaling_enabled");
    named_now.or_else(|| values.boolean("enable_auto_scaling"))
}

fn size(values: Values<'_>) -> (Known<u64>, Known<u64>) {
    match is_scaled(values) {
        Some(true) => (values.number("min_count"), values.number("max_count")),
        Some(false) => (values.number("node_count"), values.number("node_count")),
        None => (None, None),
    }
}

/// Taints in the form `KEY=VALUE:EFFECT`.
fn taints(values: Values<'_>) -> Known<Vec<TaintContract>> {
    let taints = values.texts("node_taints")?.into_iter();
    taints
        .map(|taint| {
            let (pair, effect) = taint.rsplit_once(':')?;
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            let effects = ["NoSchedule", "PreferNoSchedule", "NoExecute"];
            Some(TaintContract {
                key: key.to_owned(),
                value: value.to_owned(),
                effect: effects.into_iter().find(|it| *it == effect)?,
            })
        })
        .collect()
}

fn capacity(values: Values<'_>) -> Known<&'static str> {
    let is_spot = values.text("priority")? == Some("Spot");
    Some(if is_spot { "spot" } else { "onDemand" })
}

/// Whether AKS installs a driver. Releases without the attribute leave it to AKS.
fn driver(values: Values<'_>) -> Known<(bool, &'static str)> {
    match values.set_text("gpu_driver")? {
        "None" => Some((false, "gpu_driver")),
        "Install" => Some((true, "gpu_driver")),
        _ => None,
    }
}
