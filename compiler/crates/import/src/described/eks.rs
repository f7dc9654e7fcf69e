//! Node groups of EKS.
//!
//! Source of the fields: botocore@0e6e2404 `eks/2017-11-01/service-2.json` (`Nodegroup`).

use crate::json::{is_true, items, number, text, text_entries, texts};
use crate::pool::max_nodes;
use crate::tree::Item;

use super::{Described, Keys, effect, launch_record, node_count};

/// The labels of EKS and of eksctl, which they set by themselves.
const OWN_LABELS: &[&str] = &[
    "eks.amazonaws.com/",
    "alpha.eksctl.io/",
    "node.kubernetes.io/",
    "k8s.io/",
];

/// The tags that EKS, eksctl and CloudFormation set by themselves.
const OWN_TAGS: &[&str] = &[
    "aws:",
    "eks:",
    "alpha.eksctl.io/",
    "eksctl.",
    "kubernetes.io/",
    "k8s.io/",
];

pub(super) fn keys(described: &mut Described<'_>) -> Keys {
    let value = described.pool.value;
    let mut keys = Keys {
        nodes: nodes(described),
        ..Keys::default()
    };
    let subnets = texts(value, "/subnets");
    let at = described.at("/subnets", subnets.join(", "));
    keys.subnets = subnets
        .iter()
        .map(|id| Item::text(*id).sure(at.clone()))
        .collect();
    match text(value, "/capacityType") {
        Some("SPOT") => {
            let at = described.at("/capacityType", "SPOT");
            keys.capacity = Some(Item::single("spot", Item::map::<String>([])).sure(at));
        }
        Some("CAPACITY_BLOCK") if launch_record::recorded(value, "disk-gib").is_none() => {
            let reason =
                "the reservation of a Capacity Block is in the launch template: add `capacity`";
            described.leave_out("capacity", "/capacityType", reason);
        }
        _ => {}
    }
    let disk = number(value, "/diskSize").filter(|size| *size != 100);
    keys.disk = disk.map(|size| Item::number(size).sure(described.at("/diskSize", size)));
    for (key, value) in text_entries(value, "/labels") {
        if !OWN_LABELS.iter().any(|prefix| key.starts_with(prefix)) {
            let at = described.at(&format!("/labels/{key}"), value);
            described.add_label(&mut keys, key, value, at);
        }
    }
    for taint in items(value, "/taints") {
        let part = |key| text(taint, key).unwrap_or_default();
        let (key, value, effect) = (part("/key"), part("/value"), effect(part("/effect")));
        let at = described.at("/taints", format!("{key}={value}:{effect}"));
        Described::add_taint(&mut keys, (key, value, effect), at);
    }
    for (key, value) in text_entries(value, "/tags") {
        if !OWN_TAGS.iter().any(|prefix| key.starts_with(prefix)) {
            described.add_tag(
                &mut keys,
                key,
                value,
                described.at(&format!("/tags/{key}"), value),
            );
        }
    }
    let unavailable = number(value, "/updateConfig/maxUnavailable").filter(|count| *count != 1);
    let most = keys.nodes.as_ref().and_then(max_nodes).unwrap_or(u64::MAX);
    if let Some(count) = unavailable {
        let at = described.at("/updateConfig/maxUnavailable", count);
        if u64::try_from(count).is_ok_and(|count| count <= most) {
            keys.upgrade = Some(Item::single("maxUnavailable", Item::number(count).sure(at)));
        } else {
            let reason = "the node group has fewer nodes";
            described.leave_out("upgrade", "/updateConfig/maxUnavailable", reason);
        }
    }
    if is_true(value, "/nodeRepairConfig/enabled") {
        keys.auto_repair =
            Some(Item::bool(true).sure(described.at("/nodeRepairConfig/enabled", true)));
    }
    let percentage = "gpuc writes a number of nodes, not a percentage";
    described.leave_out(
        "upgrade",
        "/updateConfig/maxUnavailablePercentage",
        percentage,
    );
    launch_record::add(described, &mut keys);
    keys
}

/// The number of nodes. Without an autoscaler, the desired size is the number, and the range has no effect.
fn nodes(described: &mut Described<'_>) -> Option<Item> {
    let min = described.number("/scalingConfig/minSize");
    let max = described.number("/scalingConfig/maxSize");
    let desired = described.number("/scalingConfig/desiredSize");
    match (min, max, desired) {
        (Some(min), Some(max), Some(desired)) if !described.is_scaled && min.value != max.value => {
            let reason =
                "no Cluster Autoscaler runs, so that the desired size is the number of nodes";
            described.leave_out("nodes", "/scalingConfig/minSize", reason);
            described.leave_out("nodes", "/scalingConfig/maxSize", reason);
            Some(Item::single("count", desired))
        }
        (Some(min), Some(max), _) => Some(node_count(min, max)),
        _ => None,
    }
}
