//! Checks node selectors and node affinity against the labels of a pool's nodes.

use gpuc_schema::Span;

use super::affinity::{Requirement, Term};
use super::node_labels::{LabelValue, NodeLabels};
use super::{Demand, Feasibility, MisfitCause, Reason};
use crate::{Cluster, Pool};

/// Checks node selectors and affinity against the labels of a pool's nodes.
pub(super) fn check(demand: &Demand, cluster: &Cluster, pool: &Pool, reasons: &mut Vec<Reason>) {
    if demand.selector.is_empty() && demand.affinity.is_none() {
        return;
    }
    // The nodes of one matching zone are enough.
    let zones = NodeLabels::by_zone(cluster, pool);
    let found = zones
        .iter()
        .map(|labels| reasons_against(demand, pool, labels));
    let worst = |found: &Vec<Reason>| {
        let feasibilities = found.iter().map(|reason| reason.feasibility);
        feasibilities.min().unwrap_or(Feasibility::Fits)
    };
    let best = found.min_by_key(|found| (std::cmp::Reverse(worst(found)), found.len()));
    reasons.extend(best.into_iter().flatten());
}

fn reasons_against(demand: &Demand, pool: &Pool, labels: &NodeLabels) -> Vec<Reason> {
    let selector = demand.selector.iter();
    let mut reasons: Vec<_> = selector
        .filter_map(|requirement| label_reason(requirement, pool, labels))
        .collect();
    let Some(terms) = &demand.affinity else {
        return reasons;
    };
    let best = terms.iter().map(|term| term.feasibility(labels)).max();
    match (best, &terms[..]) {
        (Some(Feasibility::Fits), _) => {}
        // With a single term, each of its expressions is a reason.
        (_, [term]) if best == Some(term.feasibility(labels)) && !is_empty(term) => {
            let of_labels = term.labels.iter();
            reasons.extend(
                of_labels.filter_map(|requirement| label_reason(requirement, pool, labels)),
            );
            reasons.extend(term.fields.iter().map(|requirement| Reason {
                cause: MisfitCause::NodeField,
                feasibility: Feasibility::Unknown,
                request_span: requirement.span,
                pool_span: pool.name.span,
            }));
        }
        (best, terms) => {
            let spans = terms.iter().flat_map(|term| &term.labels);
            let first = spans.map(|requirement| requirement.span).next();
            reasons.push(Reason {
                cause: MisfitCause::NoMatchingTerm { terms: terms.len() },
                feasibility: best.unwrap_or(Feasibility::DoesNotFit),
                request_span: first.unwrap_or(Span::NONE),
                pool_span: pool.name.span,
            });
        }
    }
    reasons
}

fn is_empty(term: &Term) -> bool {
    term.labels.is_empty() && term.fields.is_empty()
}

fn label_reason(requirement: &Requirement, pool: &Pool, labels: &NodeLabels) -> Option<Reason> {
    let feasibility = requirement.feasibility(labels);
    let label_value = labels.get(&requirement.key);
    let actual = match &label_value {
        LabelValue::Known(value) => Some(value.clone()),
        LabelValue::OneOf(values) => match &values[..] {
            [Some(value)] => Some(value.clone()),
            [Some(value), ..] if feasibility == Feasibility::DoesNotFit => Some(value.clone()),
            _ => None,
        },
        LabelValue::Prefix(starts) => starts.first().map(|start| format!("{start}…")),
        LabelValue::Absent | LabelValue::Unknown => None,
    };
    let pool_span = pool
        .labels
        .iter()
        .chain(&pool.selector)
        .filter(|label| label.key == requirement.key)
        .find_map(|label| label.origin.inputs().first().copied());
    let is_reason = feasibility != Feasibility::Fits;
    is_reason.then(|| Reason {
        cause: MisfitCause::Label {
            requirement: requirement.clone(),
            actual,
        },
        feasibility,
        request_span: requirement.span,
        pool_span: pool_span.unwrap_or(pool.name.span),
    })
}
