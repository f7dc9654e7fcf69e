//! Node pools of AKS.
//!
//! Source of the fields: `az aks nodepool show`, as `clouds/src/azure/pool` reads them (azure-cli 2.91.0).

use serde_json::Value;

use crate::json::{is_true, number, text, text_entries, texts};
use crate::tree::Item;

use super::{Described, Keys, node_count};

/// The labels that AKS sets by itself.
const OWN_LABELS: &[&str] = &[
    "kubernetes.azure.com/",
    "kubernetes.io/",
    "node.kubernetes.io/",
];

pub(super) fn keys(described: &mut Described<'_>) -> Keys {
    let value = described.pool.value;
    let mut keys = Keys {
        nodes: nodes(described),
        capacity: capacity(described),
        ..Keys::default()
    };
    let zones = texts(value, "/availabilityZones");
    let at = described.at("/availabilityZones", zones.join(", "));
    keys.zones = zones
        .iter()
        .map(|zone| Item::text(*zone).sure(at.clone()))
        .collect();
    if let Some(subnet) = either(value, "/vnetSubnetId", "/vnetSubnetID") {
        keys.subnets
            .push(Item::text(subnet).sure(described.at("/vnetSubnetId", subnet)));
    }
    if let Some(group) = either(
        value,
        "/proximityPlacementGroupId",
        "/proximityPlacementGroupID",
    ) {
        let at = described.at("/proximityPlacementGroupId", group);
        keys.network.push(
            "placement",
            Item::single("group", Item::text(group).sure(at)),
        );
    }
    let disk = number(value, "/osDiskSizeGb")
        .or_else(|| number(value, "/osDiskSizeGB"))
        .filter(|size| *size != 100 && *size > 0);
    keys.disk = disk.map(|size| Item::number(size).sure(described.at("/osDiskSizeGb", size)));
    // AKS chooses the type of the disk by itself on machines with enough local storage.
    if let Some(kind) = text(value, "/osDiskType").filter(|kind| *kind == "Ephemeral") {
        let at = described.at("/osDiskType", kind);
        keys.local_disks = Some(Item::text("boot").guess(at, "AKS may have chosen it by itself"));
    }
    if let Some(count) = number(value, "/maxPods").filter(|count| *count != 250) {
        keys.max_pods = Some(Item::number(count).sure(described.at("/maxPods", count)));
    }
    for (key, value) in text_entries(value, "/nodeLabels") {
        if !OWN_LABELS.iter().any(|prefix| key.starts_with(prefix)) {
            let at = described.at(&format!("/nodeLabels/{key}"), value);
            described.add_label(&mut keys, key, value, at);
        }
    }
    for taint in texts(value, "/nodeTaints") {
        let at = described.at("/nodeTaints", taint);
        let (pair, effect) = taint.rsplit_once(':').unwrap_or((taint, ""));
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        // AKS taints Spot nodes by itself.
        if key != "kubernetes.azure.com/scalesetpriority" {
            Described::add_taint(&mut keys, (key, value, effect), at);
        }
    }
    for (key, value) in text_entries(value, "/tags") {
        described.add_tag(
            &mut keys,
            key,
            value,
            described.at(&format!("/tags/{key}"), value),
        );
    }
    keys.upgrade = upgrade(described);
    keys
}

/// The text at one of two pointers: versions of azure-cli write the letters of a name in different cases.
fn either<'v>(value: &'v Value, first: &str, second: &str) -> Option<&'v str> {
    text(value, first).or_else(|| text(value, second))
}

fn nodes(described: &Described<'_>) -> Option<Item> {
    if is_true(described.pool.value, "/enableAutoScaling") {
        let min = described.number("/minCount")?;
        let max = described.number("/maxCount")?;
        return Some(node_count(min, max));
    }
    Some(Item::single("count", described.number("/count")?))
}

fn capacity(described: &Described<'_>) -> Option<Item> {
    let value = described.pool.value;
    if let Some(id) = either(
        value,
        "/capacityReservationGroupId",
        "/capacityReservationGroupID",
    ) {
        let id = Item::text(id).sure(described.at("/capacityReservationGroupId", id));
        return Some(Item::single("reservation", Item::single("id", id)));
    }
    let priority = text(value, "/scaleSetPriority").filter(|it| *it == "Spot")?;
    let mut entries = Vec::new();
    if text(value, "/scaleSetEvictionPolicy") == Some("Deallocate") {
        let at = described.at("/scaleSetEvictionPolicy", "Deallocate");
        entries.push(("eviction", Item::text("deallocate").sure(at)));
    }
    let price = value.pointer("/spotMaxPrice").and_then(Value::as_f64);
    if let Some(price) = price.filter(|price| *price > 0.0) {
        let mut item = Item::number(0).sure(described.at("/spotMaxPrice", price));
        item.value = crate::tree::Value::Plain(price.to_string());
        entries.push(("maxPrice", item));
    }
    let at = described.at("/scaleSetPriority", priority);
    Some(Item::single("spot", Item::map(entries)).sure(at))
}

/// The upgrade settings, unless they are the defaults of AKS: a surge of 10 %.
fn upgrade(described: &mut Described<'_>) -> Option<Item> {
    let mut entries = Vec::new();
    for (key, pointer) in [
        ("maxSurge", "/upgradeSettings/maxSurge"),
        ("maxUnavailable", "/upgradeSettings/maxUnavailable"),
    ] {
        let Some(written) = text(described.pool.value, pointer).map(str::to_owned) else {
            continue;
        };
        match written.parse::<u32>() {
            Ok(0) if key == "maxUnavailable" => {}
            Ok(count) => {
                entries.push((key, Item::number(count).sure(described.at(pointer, count))));
            }
            Err(_) if written == "10%" => {}
            Err(_) => described.leave_out(
                "upgrade",
                pointer,
                "gpuc writes a number of nodes, not a percentage",
            ),
        }
    }
    (!entries.is_empty()).then(|| Item::map(entries))
}
