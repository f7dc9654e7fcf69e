//! The taints that the nodes of a pool have in common.

use gpuc_live::objects::{Node, NodeTaint};
use gpuc_schema::node_config::STARTUP_TAINT;

use crate::groups::Group;
use crate::json::source;
use crate::report::Report;
use crate::tree::Item;

/// The key of the taint of dedicated pools.
const DEDICATED_TO: &str = gpuc_model::DEDICATED_TO;

/// The beginnings of the keys of taints that controllers set and remove.
///
/// Source: <https://kubernetes.io/docs/reference/labels-annotations-taints/>; kubernetes/autoscaler
/// `cluster-autoscaler/utils/taints`; karpenter `pkg/apis/v1/taints.go`, 2026-11-28.
const PASSING: &[&str] = &[
    "DeletionCandidateOfClusterAutoscaler",
    "ToBeDeletedByClusterAutoscaler",
    "cloud.google.com/impending-node-termination",
    "ignore-taint.cluster-autoscaler.kubernetes.io/",
    "karpenter.sh/disrupt",
    "karpenter.sh/disruption",
    "karpenter.sh/unregistered",
    "node.cilium.io/",
    "node.cloudprovider.kubernetes.io/",
    "node.kubernetes.io/",
    "nvidia.com/gpu-driver-upgrade",
    "startup-taint.cluster-autoscaler.kubernetes.io/",
];

/// The taints of a node that no controller removes.
pub(crate) fn lasting(node: &Node) -> impl Iterator<Item = &NodeTaint> {
    let taints = node.spec.taints.iter();
    taints.filter(|taint| {
        let is_passing = PASSING.iter().any(|prefix| taint.key.starts_with(prefix));
        !is_passing && taint.key != STARTUP_TAINT
    })
}

/// The taints of a pool.
#[derive(Debug, Default)]
pub(crate) struct Taints {
    /// The items of the key `taints`.
    pub(crate) items: Vec<Item>,
    /// The value of the key `dedicatedTo`.
    pub(crate) dedicated_to: Option<Item>,
}

/// The taints that all nodes of a group have, without those that the cloud sets by itself. Those that only some nodes
/// have are left out.
pub(crate) fn taints(
    name: &str,
    group: &Group<'_>,
    automatic: &[(&str, &str)],
    report: &mut Report,
) -> Taints {
    let mut taints = Taints::default();
    let mut counts: Vec<(&NodeTaint, &Node, usize)> = Vec::new();
    for node in &group.nodes {
        for taint in lasting(node) {
            let known = counts.iter_mut().find(|(it, _, _)| is_same(it, taint));
            match known {
                Some((_, _, count)) => *count += 1,
                None => counts.push((taint, node, 1)),
            }
        }
    }
    for (taint, node, count) in counts {
        let object = format!("Node {}", node.metadata.name);
        let text = format!("{}={}:{}", taint.key, taint.value, taint.effect);
        let source = source(object, "spec.taints", text);
        if count < group.nodes.len() {
            let reason = format!(
                "only {count} of {} nodes have this taint",
                group.nodes.len()
            );
            let key = format!("nodePools[{name}].taints");
            report.leave_out(Some(&key), source, reason);
        } else if automatic.contains(&(taint.key.as_str(), taint.value.as_str())) {
            // gpuc knows that the cloud sets it.
        } else if taint.key == DEDICATED_TO && taint.effect == "NoSchedule" {
            taints.dedicated_to = Some(Item::text(&taint.value).sure(source));
        } else {
            let item = taint_item(&taint.key, &taint.value, &taint.effect);
            taints.items.push(item.sure(source));
        }
    }
    taints
}

fn is_same(a: &NodeTaint, b: &NodeTaint) -> bool {
    (&a.key, &a.value, &a.effect) == (&b.key, &b.value, &b.effect)
}

/// An item of `taints`.
pub(crate) fn taint_item(key: &str, value: &str, effect: &str) -> Item {
    let mut entries = vec![("key", Item::text(key))];
    if !value.is_empty() {
        entries.push(("value", Item::text(value)));
    }
    entries.push(("effect", Item::text(effect)));
    Item::map(entries)
}
