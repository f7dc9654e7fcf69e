//! Whether a pod fits on a node that exists, by the rules of the scheduler.
//!
//! Since Kubernetes 1.34, the scheduler's message no longer names the taint that repels a pod (kubernetes pull requests
//! 134740 and 135023, 2026-11-22), so gpuc computes it.

use std::collections::BTreeMap;

use gpuc_model::scheduling::{Requirement, Term, matches_taint};

use super::context::NodeFacts;
use super::demand::{Amounts, PodDemand, add, requests};
use crate::objects::{Node, NodeTaint, Pod};

/// A reason why a pod does not fit on a node.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Misfit {
    /// The node has a taint that the pod does not tolerate.
    Taint(NodeTaint),
    /// A label of the node differs from `nodeSelector`, or is absent.
    Label {
        /// The label's key.
        key: String,
        /// The value that the pod requires.
        wanted: String,
        /// The value of the node.
        actual: Option<String>,
    },
    /// No term of the required node affinity matches.
    Affinity,
    /// The node is cordoned.
    Cordoned,
    /// The node has never enough of a resource.
    TooSmall {
        /// The resource.
        resource: String,
    },
    /// Other pods use too much of a resource.
    InUse {
        /// The resource.
        resource: String,
    },
}

impl Misfit {
    /// Whether the pod does not fit on the node even if it is empty.
    pub fn is_permanent(&self) -> bool {
        !matches!(self, Self::InUse { .. } | Self::Cordoned)
    }
}

/// The amounts that pods on each node request.
pub(super) type Usage<'s> = BTreeMap<&'s str, Amounts>;

/// The amounts that the pods on each node request. Pods that have ended request nothing.
pub fn usage(pods: &[Pod]) -> Usage<'_> {
    let mut usage = Usage::new();
    for pod in pods {
        if pod.spec.node_name.is_empty() || pod.is_finished() {
            continue;
        }
        let node = usage.entry(pod.spec.node_name.as_str()).or_default();
        add(node, &requests(&pod.spec));
        *node.entry("pods".to_owned()).or_default() += 1000;
    }
    usage
}

/// The taints of a node that repel pods with these tolerations.
pub(super) fn untolerated<'n>(
    node: &'n Node,
    tolerations: &[gpuc_model::scheduling::PodToleration],
) -> Vec<&'n NodeTaint> {
    let repels = |taint: &&NodeTaint| {
        let matches =
            |toleration| matches_taint(toleration, &taint.key, &taint.value, &taint.effect);
        taint.effect != "PreferNoSchedule" && !tolerations.iter().any(matches)
    };
    node.spec.taints.iter().filter(repels).collect()
}

/// Whether a DaemonSet's pods run on a node: selectors and taints count, resources do not.
///
/// Source: kubernetes `pkg/controller/daemon/daemon_controller.go` (`NodeShouldRunDaemonPod`) and
/// `pkg/controller/daemon/util/daemonset_util.go` (`AddOrUpdateDaemonPodTolerations`), 2026-11-28.
pub(super) fn daemon_misfits(demand: &PodDemand, node: &Node) -> Vec<Misfit> {
    let automatic = |taint: &NodeTaint| {
        matches!(
            taint.key.as_str(),
            "node.kubernetes.io/not-ready"
                | "node.kubernetes.io/unreachable"
                | "node.kubernetes.io/disk-pressure"
                | "node.kubernetes.io/memory-pressure"
                | "node.kubernetes.io/pid-pressure"
                | "node.kubernetes.io/unschedulable"
                | "node.kubernetes.io/network-unavailable"
        )
    };
    let mut misfits = label_misfits(demand, node);
    let taints = untolerated(node, &demand.tolerations).into_iter();
    misfits.extend(
        taints
            .filter(|it| !automatic(it))
            .cloned()
            .map(Misfit::Taint),
    );
    misfits
}

/// The reasons why a pod does not fit on a node.
pub fn misfits(demand: &PodDemand, node: &NodeFacts<'_>, usage: &Usage<'_>) -> Vec<Misfit> {
    let mut misfits = label_misfits(demand, node.node);
    if node.node.spec.unschedulable {
        misfits.push(Misfit::Cordoned);
    }
    let taints = untolerated(node.node, &demand.tolerations).into_iter();
    // Cordoned nodes have this taint as well.
    let taints = taints.filter(|it| it.key != "node.kubernetes.io/unschedulable");
    misfits.extend(taints.cloned().map(Misfit::Taint));
    let used = usage.get(node.name());
    let mut requests = demand.requests.clone();
    requests.insert("pods".to_owned(), 1000);
    for (resource, request) in requests.into_iter().filter(|(_, request)| *request > 0) {
        let allocatable = node.node.status.allocatable.get(&resource);
        let allocatable = allocatable.and_then(crate::objects::Quantity::thousandths);
        let allocatable = allocatable.unwrap_or_default();
        let used = used.and_then(|used| used.get(&resource)).copied();
        if request > allocatable {
            misfits.push(Misfit::TooSmall { resource });
        } else if request > allocatable.saturating_sub(used.unwrap_or_default()) {
            misfits.push(Misfit::InUse { resource });
        }
    }
    misfits
}

fn label_misfits(demand: &PodDemand, node: &Node) -> Vec<Misfit> {
    let differs = |requirement: &&Requirement| !matches_label(requirement, node);
    let labels = demand.selector.iter().filter(differs);
    let mut misfits: Vec<Misfit> = labels
        .map(|requirement| Misfit::Label {
            key: requirement.key.clone(),
            wanted: requirement.values.join(", "),
            actual: node.metadata.label(&requirement.key).map(str::to_owned),
        })
        .collect();
    if let Some(terms) = &demand.terms
        && !matches_terms(terms, node)
    {
        misfits.push(Misfit::Affinity);
    }
    misfits
}

/// Whether one of the terms matches a node.
pub(super) fn matches_terms(terms: &[Term], node: &Node) -> bool {
    let matches = |term: &Term| {
        let mut labels = term.labels.iter();
        let mut fields = term.fields.iter();
        !(term.labels.is_empty() && term.fields.is_empty())
            && labels.all(|it| matches_label(it, node))
            && fields.all(|it| it.matches(Some(&node.metadata.name)))
    };
    terms.iter().any(matches)
}

fn matches_label(requirement: &Requirement, node: &Node) -> bool {
    requirement.matches(node.metadata.label(&requirement.key))
}
