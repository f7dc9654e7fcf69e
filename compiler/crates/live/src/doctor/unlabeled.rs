//! Nodes that may have GPUs although nothing says so.

use std::sync::Arc;

use super::context::{Context, NodeFacts};
use super::demand::PodDemand;
use super::pending::PendingPod;
use super::placement::untolerated;
use crate::objects::ObjectRef;

/// The labels of nodes whose role or machine type is known.
const KNOWN_LABELS: &[&str] = &[
    "node-role.kubernetes.io/control-plane",
    "node-role.kubernetes.io/master",
    "node.kubernetes.io/instance-type",
];

/// The nodes that may have GPUs, such as hosts of your own that only Node Feature Discovery would label: their taint is
/// about GPUs, or pods that wait for GPUs tolerate it.
pub(super) fn unlabeled_nodes(ctx: &Context<'_>) -> Vec<ObjectRef> {
    let mut demands: Vec<&PodDemand> = Vec::new();
    let mut last = None;
    for PendingPod { obstacles, .. } in ctx.pending_pods() {
        let address = Arc::as_ptr(obstacles);
        // Tolerations of every taint say nothing about one.
        let is_specific = obstacles
            .demand
            .tolerations
            .iter()
            .all(|it| !it.key.is_empty());
        if is_specific && last != Some(address) && !demands.contains(&&obstacles.demand) {
            demands.push(&obstacles.demand);
        }
        last = Some(address);
    }
    let nodes = ctx
        .nodes
        .iter()
        .filter(|node| may_have_gpus(node, &demands));
    nodes.map(NodeFacts::object).collect()
}

fn may_have_gpus(node: &NodeFacts<'_>, demands: &[&PodDemand]) -> bool {
    let labels = &node.node.metadata.labels;
    let is_known = node.expected.is_some()
        || node.has_gpus()
        || KNOWN_LABELS.iter().any(|key| labels.contains_key(*key));
    // GPUs of other vendors.
    let mut resources = node.node.status.capacity.keys();
    if is_known || resources.any(|name| name.contains("gpu")) {
        return false;
    }
    let mut taints = node.node.spec.taints.iter();
    let is_about_gpus = taints.any(|taint| {
        let domain = taint.key.split('/').next().unwrap_or_default();
        taint.effect != "PreferNoSchedule"
            && (domain == "nvidia.com" || !taint.key.contains('/') && taint.key.contains("gpu"))
    });
    let is_wanted = || {
        let mut demands = demands.iter();
        demands.any(|demand| untolerated(node.node, &demand.tolerations).is_empty())
    };
    is_about_gpus || !node.node.spec.taints.is_empty() && is_wanted()
}
