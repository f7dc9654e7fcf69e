//! The keys of a pool that no cloud and no autoscaler describes: what follows from its nodes.

use gpuc_live::state::Kind;

use crate::context::{Context, label_source};
use crate::described::Keys;
use crate::groups::{Group, GroupKey};
use crate::json::source;
use crate::pool_name::list_nodes;
use crate::report::Report;
use crate::taints::taints;
use crate::tree::Item;

/// The keys of a pool that the cloud does not describe.
pub(crate) fn own_keys(
    cx: &Context<'_>,
    name: &str,
    group: &Group<'_>,
    report: &mut Report,
) -> Keys {
    let found = taints(name, group, automatic_taints(cx), report);
    let spot = group
        .label(SPOT)
        .filter(|(value, _)| *value == "spot" && cx.cloud_key() == "azure");
    let capacity = spot.map(|(value, node)| {
        // In an existing pool, this key has an effect only where the cloud taints Spot nodes.
        Item::single("spot", Item::map::<String>([])).sure(label_source(node, SPOT, value))
    });
    Keys {
        capacity,
        hosts: hosts(cx, group),
        taints: found.items,
        dedicated_to: found.dedicated_to,
        ..Keys::default()
    }
}

/// The hosts of a pool on premises that gpuc prepared: it labels them with the name of the pool.
fn hosts(cx: &Context<'_>, group: &Group<'_>) -> Vec<Item> {
    let GroupKey::Label {
        key: key @ "gpuc.dev/pool",
        value,
        machine: None,
    } = &group.key
    else {
        return Vec::new();
    };
    if cx.cloud.facts().creates_machines || !cx.is_complete(Kind::Node) {
        return Vec::new();
    }
    let reason = "gpuc labels the hosts that it prepares; to leave them to their owner, replace `hosts` with `existing`";
    let hosts = group.nodes.iter().map(|node| {
        let at = label_source(node, key, value);
        Item::text(&node.metadata.name).guess(at, reason)
    });
    hosts.collect()
}

/// The label of Spot nodes of AKS.
const SPOT: &str = "kubernetes.azure.com/scalesetpriority";

/// The taints that gpuc expects the cloud to set by itself, by key and value.
fn automatic_taints(cx: &Context<'_>) -> &'static [(&'static str, &'static str)] {
    match cx.cloud_key() {
        "gcp" => &[
            ("nvidia.com/gpu", "present"),
            ("kubernetes.io/arch", "arm64"),
        ],
        "azure" => &[("kubernetes.azure.com/scalesetpriority", "spot")],
        _ => &[],
    }
}

/// The number of nodes of a pool that the cloud does not describe.
pub(crate) fn node_count(cx: &Context<'_>, group: &Group<'_>) -> Item {
    let count = group.nodes.len() as u64;
    let at = source("Nodes", "metadata.name", list_nodes(group));
    let is_scaled = matches!(
        &group.key,
        GroupKey::Label {
            key: "karpenter.sh/nodepool",
            ..
        }
    ) || crate::autoscaler::runs(cx);
    let item = if is_scaled {
        let reason = "the nodes that exist; an autoscaler may change their number";
        Item::number(count).guess(at, reason)
    } else if cx.is_complete(Kind::Node) {
        Item::number(count).sure(at)
    } else {
        Item::number(count).guess(at, "the list of nodes is incomplete")
    };
    Item::single("count", item)
}
