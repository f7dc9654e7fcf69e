//! Nodes in groups: the future pools.

use std::collections::BTreeMap;

use gpuc_live::doctor::{Advertiser, POOL_LABELS, advertiser_of};
use gpuc_live::objects::Node;

use crate::context::Context;

/// The label with the machine type.
pub(crate) const INSTANCE_TYPE: &str = "node.kubernetes.io/instance-type";

/// Labels of the nodes of the control plane.
const CONTROL_PLANE: &[&str] = &[
    "node-role.kubernetes.io/control-plane",
    "node-role.kubernetes.io/master",
];

/// Labels of nodes that no pool has: those of Fargate on EKS, and virtual nodes on AKS.
///
/// Source: <https://docs.aws.amazon.com/eks/latest/userguide/fargate.html>; virtual-kubelet `cmd/virtual-kubelet` (from
/// memory).
const VIRTUAL: &[(&str, &str)] = &[
    ("eks.amazonaws.com/compute-type", "fargate"),
    ("type", "virtual-kubelet"),
];

/// The resource of full GPUs.
pub(crate) const GPU: &str = "nvidia.com/gpu";

/// Nodes that become one pool.
#[derive(Debug)]
pub(crate) struct Group<'s> {
    /// What the nodes have in common.
    pub(crate) key: GroupKey,
    /// The nodes, by name; at least one, unless the pool is in a file of the cloud.
    pub(crate) nodes: Vec<&'s Node>,
}

/// What the nodes of a group have in common.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum GroupKey {
    /// A label that names the pool, and the machine type if the nodes of the label have different GPUs.
    Label {
        /// The key.
        key: &'static str,
        /// The value.
        value: String,
        /// The machine type that distinguishes the group.
        machine: Option<String>,
    },
    /// The name of the pool in the pods of gpuc-runtime.
    Runtime(String),
    /// The machine type, the taints and the advertised resources.
    Alike(String),
}

/// The groups of all nodes, and the nodes of the control plane that belong to none.
pub(crate) fn groups<'s>(cx: &Context<'s>) -> (Vec<Group<'s>>, Vec<&'s Node>) {
    let (control_plane, nodes): (Vec<_>, Vec<_>) = (cx.state.nodes.items.iter())
        .partition(|node| is_control_plane(node) && advertised(node).is_empty());
    let nodes = if nodes.is_empty() {
        &control_plane
    } else {
        &nodes
    };
    let mut groups: BTreeMap<GroupKey, Vec<&Node>> = BTreeMap::new();
    for node in nodes {
        groups.entry(key(cx, node)).or_default().push(node);
    }
    let mut split = Vec::new();
    for (key, nodes) in groups {
        split.extend(split_by_gpus(cx, key, nodes));
    }
    let is_worker_list = nodes.len() + control_plane.len() == cx.state.nodes.items.len();
    (
        split,
        if is_worker_list {
            control_plane
        } else {
            Vec::new()
        },
    )
}

/// Whether a node belongs to the control plane, or runs pods elsewhere.
fn is_control_plane(node: &Node) -> bool {
    let has = |label: &&str| node.metadata.label(label).is_some();
    let is_virtual = |(key, value): &(&str, &str)| node.metadata.label(key) == Some(value);
    CONTROL_PLANE.iter().any(has) || VIRTUAL.iter().any(is_virtual)
}

fn key(cx: &Context<'_>, node: &Node) -> GroupKey {
    for key in POOL_LABELS {
        if let Some(value) = node.metadata.label(key).filter(|value| !value.is_empty()) {
            return GroupKey::Label {
                key,
                value: value.to_owned(),
                machine: None,
            };
        }
    }
    if let Some(pool) = runtime_pool(cx, node) {
        return GroupKey::Runtime(pool.to_owned());
    }
    let machine = node.metadata.label(INSTANCE_TYPE).unwrap_or_default();
    let taints: Vec<String> = crate::taints::lasting(node)
        .map(|taint| format!("{}={}:{}", taint.key, taint.value, taint.effect))
        .collect();
    let product = node
        .metadata
        .label("nvidia.com/gpu.product")
        .unwrap_or_default();
    let names: Vec<&str> = advertised(node).into_keys().collect();
    GroupKey::Alike(format!("{machine} {product} {taints:?} {names:?}"))
}

/// The pool of the gpuc-runtime that runs on a node, or of another object that gpuc built for it.
pub(crate) fn runtime_pool<'s>(cx: &Context<'s>, node: &Node) -> Option<&'s str> {
    let mut pods = cx.pods_on(node);
    let of_pod = pods.find_map(|pod| {
        let advertiser = advertiser_of(&pod.metadata, &pod.spec)?;
        (advertiser == Advertiser::Runtime).then(|| pod.metadata.label("gpuc.dev/pool"))?
    });
    of_pod.or_else(|| Some(cx.declared_pool(node)?.name))
}

/// One group for each kind of machine, if the nodes of a label have different GPUs.
fn split_by_gpus<'s>(cx: &Context<'s>, key: GroupKey, nodes: Vec<&'s Node>) -> Vec<Group<'s>> {
    let gpus = |node: &Node| {
        let machine = cx.cloud.machine(node.metadata.label(INSTANCE_TYPE)?)?;
        Some((machine.gpus.model.key, machine.gpus.count))
    };
    let mut kinds: Vec<_> = nodes.iter().map(|node| gpus(node)).collect();
    kinds.sort_unstable();
    kinds.dedup();
    let GroupKey::Label {
        key: label, value, ..
    } = &key
    else {
        return vec![Group { key, nodes }];
    };
    let mut described = cx.files.pools.iter();
    let is_described = described.any(|pool| pool.label() == *label && pool.name == value);
    // gpuc's own pools have one machine type, and a pool that the cloud describes stays one pool.
    if kinds.len() < 2 || *label == POOL_LABELS[0] || is_described {
        return vec![Group { key, nodes }];
    }
    let mut machines: BTreeMap<Option<&str>, Vec<&Node>> = BTreeMap::new();
    for node in nodes {
        machines
            .entry(node.metadata.label(INSTANCE_TYPE))
            .or_default()
            .push(node);
    }
    let groups = machines.into_iter().map(|(machine, nodes)| Group {
        key: GroupKey::Label {
            key: label,
            value: value.clone(),
            machine: machine.map(str::to_owned),
        },
        nodes,
    });
    groups.collect()
}

/// The resources of NVIDIA that a node has, with their amounts. The capacity contains unhealthy devices.
pub(crate) fn advertised(node: &Node) -> BTreeMap<&str, u64> {
    let resources = node.status.capacity.iter();
    resources
        .filter(|(name, _)| name.starts_with("nvidia.com/"))
        .filter_map(|(name, amount)| Some((name.as_str(), amount.units()?)))
        .filter(|(_, amount)| *amount > 0)
        .collect()
}

impl Group<'_> {
    /// The amounts of a resource on the node that has most of it, by name.
    pub(crate) fn advertised(&self) -> BTreeMap<&str, u64> {
        let mut all = BTreeMap::new();
        for (name, amount) in self.nodes.iter().flat_map(|node| advertised(node)) {
            let known = all.entry(name).or_insert(0);
            *known = amount.max(*known);
        }
        all
    }

    /// The values of a label that the nodes have, with a node for each, the most frequent value first.
    pub(crate) fn label_values(&self, key: &str) -> Vec<(&str, &Node)> {
        let mut counts: BTreeMap<&str, (usize, &Node)> = BTreeMap::new();
        for node in &self.nodes {
            if let Some(value) = node.metadata.label(key) {
                counts.entry(value).or_insert((0, node)).0 += 1;
            }
        }
        let mut values: Vec<_> = counts.into_iter().collect();
        values.sort_by_key(|(value, (count, _))| (std::cmp::Reverse(*count), *value));
        values
            .into_iter()
            .map(|(value, (_, node))| (value, node))
            .collect()
    }

    /// The most frequent value of a label, with its node.
    pub(crate) fn label(&self, key: &str) -> Option<(&str, &Node)> {
        self.label_values(key).into_iter().next()
    }
}
