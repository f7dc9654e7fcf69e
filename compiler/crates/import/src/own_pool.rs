//! The keys of a pool that no cloud and no autoscaler describes: what follows from its nodes.

use gpuc_live::objects::Node;
use gpuc_live::state::Kind;

use crate::context::{COREWEAVE_NODE_POOL, Context, has_labels_of_gpuc, label_source};
use crate::described::Keys;
use crate::groups::{Group, GroupKey, INSTANCE_TYPE};
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
    report_labels(name, group, report);
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

/// The hosts of a pool on premises that gpuc prepared: they have the label with the name of the pool, and an annotation
/// with the keys of the labels.
fn hosts(cx: &Context<'_>, group: &Group<'_>) -> Vec<Item> {
    let GroupKey::Label {
        key: key @ "gpuc.dev/pool",
        value,
        machine: None,
    } = &group.key
    else {
        return Vec::new();
    };
    let is_prepared = |node: &&Node| has_labels_of_gpuc(node);
    if cx.cloud_key() != "onPrem"
        || !cx.is_complete(Kind::Node)
        || !group.nodes.iter().all(is_prepared)
    {
        return Vec::new();
    }
    let reason =
        "gpuc prepared these hosts; to leave them to their owner, replace `hosts` with `existing`";
    let hosts = group.nodes.iter().map(|node| {
        let at = label_source(node, key, value);
        Item::text(&node.metadata.name).guess(at, reason)
    });
    hosts.collect()
}

/// The machine type of a pool whose NodePool gpuc wrote: the nodes have the annotation of that NodePool.
pub(crate) fn node_pool_machine(cx: &Context<'_>, group: &Group<'_>) -> Option<Item> {
    let is_node_pool = |node: &&Node| {
        has_labels_of_gpuc(node) && node.metadata.label(COREWEAVE_NODE_POOL).is_some()
    };
    if cx.cloud_key() != "existing" || !group.nodes.iter().all(is_node_pool) {
        return None;
    }
    let (machine, node) = group.label(INSTANCE_TYPE)?;
    Some(Item::text(machine).sure(label_source(node, INSTANCE_TYPE, machine)))
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

/// The domains of labels that Kubernetes, clouds, NVIDIA and gpuc set, with their subdomains.
const KNOWN_DOMAINS: &[&str] = &[
    "amazonaws.com",
    "azure.com",
    "eksctl.io",
    "google.com",
    "gpuc.dev",
    "k8s.aws",
    "k8s.io",
    "karpenter.sh",
    "kubernetes.io",
    "nvidia.com",
];

/// Reports labels of the nodes that may be the user's: gpuc cannot tell them from those of other components.
fn report_labels(name: &str, group: &Group<'_>, report: &mut Report) {
    let Some(node) = group.nodes.first() else {
        return;
    };
    let is_known = |key: &str| {
        let domain = key.split_once('/').map_or("", |(domain, _)| domain);
        KNOWN_DOMAINS.iter().any(|known| {
            domain == *known
                || domain
                    .strip_suffix(known)
                    .is_some_and(|it| it.ends_with('.'))
        })
    };
    let has = |key: &str, value: &str| {
        group
            .nodes
            .iter()
            .all(|node| node.metadata.label(key) == Some(value))
    };
    let selects = |key: &str| matches!(&group.key, GroupKey::Label { key: own, .. } if *own == key);
    let labels = node.metadata.labels.iter();
    let own = labels.filter(|(key, value)| !is_known(key) && !selects(key) && has(key, value));
    let own: Vec<String> = own.map(|(key, value)| format!("{key}={value}")).collect();
    if !own.is_empty() {
        let at = source(
            format!("Node {}", node.metadata.name),
            "metadata.labels",
            own.join(", "),
        );
        let reason = "they may be labels of the pool, or of other components: add yours";
        report.leave_out(Some(&format!("nodePools[{name}].labels")), at, reason);
    }
}
