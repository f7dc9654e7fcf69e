//! Pods with GPUs that are not scheduled, and why.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::context::{Context, NodeFacts};
use super::demand::PodDemand;
use super::placement::{Misfit, Usage, misfits};
use super::verdict::{Verdict, find_verdict};
use crate::objects::{ObjectRef, Pod, Quantity};

/// A pod with GPUs that is not scheduled.
pub struct PendingPod<'s> {
    /// The pod.
    pub pod: &'s Pod,
    /// Why it is not scheduled. Pods with the same requirements share it.
    pub obstacles: Arc<Obstacles>,
}

/// Why a pod is not scheduled.
#[derive(Debug)]
pub struct Obstacles {
    /// What the pod requires.
    pub demand: PodDemand,
    /// The nodes with GPUs, and why the pod does not fit on each.
    pub nodes: Vec<(ObjectRef, Vec<Misfit>)>,
    /// The nodes on which the pod would fit if they had all of the GPUs that they are expected to have.
    pub would_fit: Arc<[ObjectRef]>,
    /// What the pod waits for.
    pub verdict: Verdict,
}

impl Obstacles {
    /// The nodes without misfits other than the accepted ones.
    pub fn count_with_only(&self, accepts: impl Fn(&Misfit) -> bool) -> usize {
        let nodes = self.nodes.iter();
        nodes
            .filter(|(_, misfits)| misfits.iter().all(&accepts))
            .count()
    }

    /// The number of nodes with each misfit, the most frequent first.
    pub fn histogram(&self) -> Vec<(&Misfit, usize)> {
        let mut counts: BTreeMap<&Misfit, usize> = BTreeMap::new();
        for misfit in self.nodes.iter().flat_map(|(_, misfits)| misfits) {
            *counts.entry(misfit).or_default() += 1;
        }
        let mut counts: Vec<_> = counts.into_iter().collect();
        counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        counts
    }
}

/// The pods with GPUs that are not scheduled, do not wait for a gate, and are not being deleted.
pub(super) fn pending_pods<'s>(ctx: &Context<'s>) -> Vec<PendingPod<'s>> {
    let usage = ctx.usage();
    // By the text of the demand: thousands of pods can wait.
    let mut known: BTreeMap<String, Arc<Obstacles>> = BTreeMap::new();
    let mut pending = Vec::new();
    for pod in &ctx.state.pods.items {
        let is_candidate = pod.is_unscheduled()
            && pod.metadata.deletion_timestamp.is_none()
            && pod.spec.scheduling_gates.is_empty();
        if !is_candidate {
            continue;
        }
        let demand = PodDemand::new(pod);
        if demand.gpus().next().is_none() {
            continue;
        }
        let same = known.entry(format!("{demand:?}"));
        let obstacles = same.or_insert_with(|| Arc::new(evaluate(ctx, demand, usage)));
        let obstacles = Arc::clone(obstacles);
        pending.push(PendingPod { pod, obstacles });
    }
    pending
}

fn evaluate(ctx: &Context<'_>, demand: PodDemand, usage: &Usage<'_>) -> Obstacles {
    let (mut nodes, mut would_fit) = (Vec::new(), Vec::new());
    for node in ctx.gpu_nodes() {
        let found = misfits(&demand, node, usage);
        if found
            .iter()
            .all(|misfit| is_missing_gpu(misfit, &demand, node))
            && !found.is_empty()
        {
            would_fit.push(node.object());
        }
        nodes.push((node.object(), found));
    }
    let verdict = find_verdict(ctx, &demand, &nodes, !would_fit.is_empty());
    Obstacles {
        demand,
        nodes,
        would_fit: would_fit.into(),
        verdict,
    }
}

/// Whether the node lacks a resource that it is expected to have.
fn is_missing_gpu(misfit: &Misfit, demand: &PodDemand, node: &NodeFacts<'_>) -> bool {
    let (Misfit::TooSmall { resource } | Misfit::InUse { resource }) = misfit else {
        return match misfit {
            // The node controller and gpuc-runtime remove these taints when the node works.
            Misfit::Taint(taint) => {
                taint.key.starts_with("node.kubernetes.io/") || super::is_startup_taint(&taint.key)
            }
            _ => false,
        };
    };
    // Labels say that the node has GPUs, but nothing says how many.
    let is_unknown = node.expected.is_none() && node.offered().all(|(_, it, _)| it == 0);
    if is_unknown && resource.starts_with("nvidia.com/") {
        return true;
    }
    let units = |it: &Quantity| it.units().unwrap_or_default();
    let capacity = node.node.status.capacity.get(resource).map_or(0, units);
    let of_resource = expected_units(resource, node).max(capacity);
    resource.starts_with("nvidia.com/")
        && node.allocatable(resource) < of_resource
        && demand.units(resource) <= of_resource
}

/// The amount of a resource that a node is expected to have; 0 if that is not known.
fn expected_units(resource: &str, node: &NodeFacts<'_>) -> u64 {
    let Some(expected) = &node.expected else {
        return 0;
    };
    match expected.resources.get(resource) {
        Some(count) => u64::from(*count),
        None if expected.resources.is_empty()
            && !expected.is_dra
            && resource == super::context::GPU =>
        {
            u64::from(expected.gpus)
        }
        None => 0,
    }
}
