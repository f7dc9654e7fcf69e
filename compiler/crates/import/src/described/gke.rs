//! Node pools of GKE.
//!
//! Source of the fields: `gcloud container node-pools describe`, as `clouds/src/gcp/pool` reads them (Google Cloud SDK
//! 528.0.0, `container_v1_messages.py`).

use serde_json::Value;

use crate::json::{is_true, items, number, source, text, text_entries, texts};
use crate::tree::Item;

use super::{Described, Keys, effect, node_count};

/// The labels that GKE sets by itself.
const OWN_LABELS: &[&str] = &[
    "cloud.google.com/",
    "goog-",
    "kubernetes.io/",
    "node.kubernetes.io/",
];

pub(super) fn keys(described: &mut Described<'_>) -> Keys {
    let value = described.pool.value;
    let mut keys = Keys {
        nodes: nodes(described),
        capacity: capacity(described),
        upgrade: upgrade(described),
        ..Keys::default()
    };
    let mut zones = texts(value, "/locations");
    // Without the key, pools have the zones of the cluster.
    if is_same_set(&zones, &texts(described.cluster, "/locations")) {
        zones.clear();
    }
    let at = described.at("/locations", zones.join(", "));
    keys.zones = zones
        .iter()
        .map(|zone| Item::text(*zone).sure(at.clone()))
        .collect();
    network(described, &mut keys);
    let disk = number(value, "/config/diskSizeGb").filter(|size| *size != 100);
    keys.disk = disk.map(|size| Item::number(size).sure(described.at("/config/diskSizeGb", size)));
    let block = "/config/localNvmeSsdBlockConfig/localSsdCount";
    if let Some(count) = number(value, block).filter(|count| *count > 0) {
        keys.local_disks = Some(Item::text("block").sure(described.at(block, count)));
    }
    let pods = "/maxPodsConstraint/maxPodsPerNode";
    // The default of clusters with VPC-native networking.
    if let Some(count) = number(value, pods).filter(|count| *count != 110) {
        keys.max_pods = Some(Item::number(count).sure(described.at(pods, count)));
    }
    for (key, value) in text_entries(value, "/config/labels") {
        if !OWN_LABELS.iter().any(|prefix| key.starts_with(prefix)) {
            let at = described.at(&format!("/config/labels/{key}"), value);
            described.add_label(&mut keys, key, value, at);
        }
    }
    for taint in items(value, "/config/taints") {
        let part = |key| text(taint, key).unwrap_or_default();
        let (key, value, effect) = (part("/key"), part("/value"), effect(part("/effect")));
        // GKE taints GPU nodes, Arm nodes and queued nodes by itself.
        if (key, value) == ("nvidia.com/gpu", "present")
            || (key, value) == ("kubernetes.io/arch", "arm64")
            || key == "cloud.google.com/gke-queued"
        {
            continue;
        }
        let at = described.at("/config/taints", format!("{key}={value}:{effect}"));
        Described::add_taint(&mut keys, (key, value, effect), at);
    }
    for (key, value) in text_entries(value, "/config/resourceLabels") {
        if !key.starts_with("goog-") {
            described.add_tag(
                &mut keys,
                key,
                value,
                described.at(&format!("/config/resourceLabels/{key}"), value),
            );
        }
    }
    if !is_true(value, "/config/flexStart") {
        let reason = "gpuc creates pools with queued provisioning only with flex-start";
        described.leave_out("", "/queuedProvisioning", reason);
    }
    for (pointer, reason) in [
        (
            "/config/preemptible",
            "gpuc creates Spot machines, not preemptible ones",
        ),
        (
            "/config/confidentialNodes",
            "gpuc has no key for confidential nodes",
        ),
        (
            "/config/secondaryBootDisks",
            "gpuc has no key for secondary boot disks",
        ),
    ] {
        described.leave_out("", pointer, reason);
    }
    keys
}

/// Whether two lists have the same items, in any order.
fn is_same_set(a: &[&str], b: &[&str]) -> bool {
    let sorted = |list: &[&str]| {
        let mut list: Vec<String> = list.iter().map(|it| (*it).to_owned()).collect();
        list.sort();
        list
    };
    sorted(a) == sorted(b)
}

/// The number of nodes in all zones together. `minNodeCount` and `initialNodeCount` are for each zone.
fn nodes(described: &Described<'_>) -> Option<Item> {
    let value = described.pool.value;
    let zones = i64::try_from(items(value, "/locations").len().max(1)).unwrap_or(1);
    let scaled = value.pointer("/autoscaling").unwrap_or(&Value::Null);
    if is_true(scaled, "/enabled") {
        let bound = |total: &str, each: &str| {
            let total = format!("/autoscaling/{total}");
            if let Some(count) = number(value, &total).filter(|count| *count > 0) {
                return Item::number(count).sure(described.at(&total, count));
            }
            let each = format!("/autoscaling/{each}");
            let count = number(value, &each).unwrap_or(0);
            let at = format!("{}, in each of {zones} zones", described.at(&each, count));
            Item::number(count.saturating_mul(zones)).sure(at)
        };
        let min = bound("totalMinNodeCount", "minNodeCount");
        let max = bound("totalMaxNodeCount", "maxNodeCount");
        return Some(node_count(min, max));
    }
    let found = i64::try_from(described.group.nodes.len()).unwrap_or_default();
    if found > 0 {
        let at = source(
            "Nodes",
            "metadata.labels[cloud.google.com/gke-nodepool]",
            found,
        );
        return Some(Item::single("count", Item::number(found).sure(at)));
    }
    let count = number(value, "/initialNodeCount")?;
    let at = described.at("/initialNodeCount", count);
    let reason = format!("the size at the creation of the pool, in each of {zones} zones");
    Some(Item::single(
        "count",
        Item::number(count.saturating_mul(zones)).guess(at, reason),
    ))
}

fn capacity(described: &Described<'_>) -> Option<Item> {
    let value = described.pool.value;
    if is_true(value, "/config/spot") {
        let at = described.at("/config/spot", true);
        return Some(Item::single("spot", Item::map::<String>([])).sure(at));
    }
    if is_true(value, "/config/flexStart") {
        return Some(flex_start(described));
    }
    let kind = text(value, "/config/reservationAffinity/consumeReservationType")?;
    let reservation = text(value, "/config/reservationAffinity/values/0")?;
    let at = described.at("/config/reservationAffinity/values/0", reservation);
    (kind == "SPECIFIC_RESERVATION").then(|| {
        let id = Item::text(reservation).sure(at);
        Item::single("reservation", Item::single("id", id))
    })
}

/// Flex-start machines. Without `maxRunDuration`, gpuc creates a pool with the longest duration, seven days.
fn flex_start(described: &Described<'_>) -> Item {
    let value = described.pool.value;
    let mut entries = Vec::new();
    let pointer = "/config/maxRunDuration";
    if let Some(duration) = text(value, pointer).filter(|duration| *duration != "604800s") {
        let duration = Item::text(duration).sure(described.at(pointer, duration));
        entries.push(("maxRunDuration", duration));
    }
    let pointer = "/queuedProvisioning/enabled";
    if is_true(value, pointer) {
        entries.push(("queued", Item::bool(true).sure(described.at(pointer, true))));
    }
    let at = described.at("/config/flexStart", true);
    Item::single("flexStart", Item::map(entries).sure(at))
}

fn network(described: &Described<'_>, keys: &mut Keys) {
    let value = described.pool.value;
    let last = |path: &str| path.rsplit('/').next().unwrap_or(path).to_owned();
    let configs = items(value, "/networkConfig/additionalNodeNetworkConfigs").iter();
    let interfaces: Vec<Item> = configs
        .filter_map(|it| Some((last(text(it, "/network")?), last(text(it, "/subnetwork")?))))
        .map(|(network, subnetwork)| {
            let at = described.at("/networkConfig/additionalNodeNetworkConfigs", &network);
            Item::map([
                ("network", Item::text(network)),
                ("subnetwork", Item::text(subnetwork)),
            ])
            .sure(at)
        })
        .collect();
    if text(value, "/networkConfig/acceleratorNetworkProfile") == Some("auto") {
        let at = described.at("/networkConfig/acceleratorNetworkProfile", "auto");
        let managed = Item::map::<String>([]).sure(at);
        keys.network
            .push("gpudirect", Item::single("managed", managed));
    } else if !interfaces.is_empty() {
        let gpudirect = Item::single("interfaces", Item::list(interfaces));
        keys.network.push("gpudirect", gpudirect);
    }
    if let Some(name) = text(value, "/placementPolicy/policyName") {
        let at = described.at("/placementPolicy/policyName", name);
        keys.network.push(
            "placement",
            Item::single("group", Item::text(name).sure(at)),
        );
    } else if text(value, "/placementPolicy/type") == Some("COMPACT") {
        let at = described.at("/placementPolicy/type", "COMPACT");
        keys.network
            .push("placement", Item::text("compact").sure(at));
    }
}

/// The upgrade settings, unless they are GKE's defaults: a surge of 1.
fn upgrade(described: &Described<'_>) -> Option<Item> {
    let value = described.pool.value;
    if text(value, "/upgradeSettings/strategy") == Some("BLUE_GREEN") {
        let settings = "/upgradeSettings/blueGreenSettings";
        let minutes = |pointer: &str| {
            let pointer = format!("{settings}/{pointer}");
            let written = text(value, &pointer)?;
            let seconds: u64 = written
                .trim_end_matches('s')
                .split('.')
                .next()?
                .parse()
                .ok()?;
            Some(Item::number(seconds / 60).sure(described.at(&pointer, written)))
        };
        let mut entries = Vec::new();
        entries.extend(minutes("nodePoolSoakDuration").map(|item| ("soakMinutes", item)));
        let nodes = format!("{settings}/standardRolloutPolicy/batchNodeCount");
        entries.extend(described.number(&nodes).map(|item| ("batchNodes", item)));
        let percentage = format!("{settings}/standardRolloutPolicy/batchPercentage");
        let share = value.pointer(&percentage).and_then(Value::as_f64);
        if let Some(share) = share.filter(|share| (0.0..=1.0).contains(share)) {
            let percent = format!("{:.0}", share * 100.0)
                .parse::<u32>()
                .unwrap_or_default();
            let at = described.at(&percentage, share);
            entries.push(("batchPercent", Item::number(percent).sure(at)));
        }
        entries.extend(
            minutes("standardRolloutPolicy/batchSoakDuration")
                .map(|item| ("batchSoakMinutes", item)),
        );
        return Some(Item::single("blueGreen", Item::map(entries)));
    }
    let surge = number(value, "/upgradeSettings/maxSurge").unwrap_or(0);
    let unavailable = number(value, "/upgradeSettings/maxUnavailable").unwrap_or(0);
    if (surge, unavailable) == (1, 0) || value.pointer("/upgradeSettings").is_none() {
        return None;
    }
    let surge = Item::number(surge).sure(described.at("/upgradeSettings/maxSurge", surge));
    let unavailable = Item::number(unavailable)
        .sure(described.at("/upgradeSettings/maxUnavailable", unavailable));
    Some(Item::map([
        ("maxSurge", surge),
        ("maxUnavailable", unavailable),
    ]))
}
