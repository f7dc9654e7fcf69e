//! Phrases that several checks use.

use gpuc_model::scheduling::{Operator, Requirement};

use crate::doctor::demand::PodDemand;
use crate::doctor::placement::Misfit;
use crate::objects::{Node, NodeTaint};

/// A taint as `kubectl` writes it: `key=value:Effect`.
pub(super) fn taint_text(taint: &NodeTaint) -> String {
    let NodeTaint {
        key, value, effect, ..
    } = taint;
    match value.as_str() {
        "" => format!("{key}:{effect}"),
        value => format!("{key}={value}:{effect}"),
    }
}

/// The toleration for a taint, as YAML.
pub(super) fn toleration_text(taint: &NodeTaint) -> String {
    let NodeTaint { key, effect, .. } = taint;
    format!("{{key: {key}, operator: Exists, effect: {effect}}}")
}

/// Why a pod does not fit on nodes, as the end of a sentence whose subject are its pods.
pub(crate) fn misfit_text(misfit: &Misfit) -> String {
    match misfit {
        Misfit::Taint(taint) => format!("do not tolerate the taint `{}`", taint_text(taint)),
        Misfit::Label {
            key,
            wanted,
            actual: None,
        } => format!("require the label `{key}: {wanted}`, which is absent"),
        Misfit::Label {
            key,
            wanted,
            actual: Some(actual),
        } => format!("require the label `{key}: {wanted}`, but the value is `{actual}`"),
        Misfit::Affinity => "have a required node affinity that does not match".to_owned(),
        Misfit::Cordoned => "are not scheduled on cordoned nodes".to_owned(),
        Misfit::TooSmall { resource } => format!("request more `{resource}` than is allocatable"),
        Misfit::InUse { resource } => format!("request more `{resource}` than is free"),
    }
}

/// Why the pods of a DaemonSet do not run on a node, as the end of a sentence whose subject are its pods: with the
/// toleration that has another value, and the requirement of the node affinity.
pub(super) fn daemon_misfit_text(misfit: &Misfit, demand: &PodDemand, node: &Node) -> String {
    match misfit {
        Misfit::Taint(taint) => {
            let mut tolerations = demand.tolerations.iter();
            let other = tolerations
                .find(|it| it.key == taint.key && !it.matches_any_value && it.value != taint.value);
            match other {
                Some(toleration) => format!(
                    "tolerate the taint `{}` only with the value `{}`",
                    taint_text(taint),
                    toleration.value
                ),
                None => misfit_text(misfit),
            }
        }
        Misfit::Affinity => match label_difference(demand, node) {
            Some((requirement, is_expression)) => {
                let actual = match node.metadata.label(&requirement.key) {
                    Some(value) => format!("the value is `{value}`"),
                    None => "the label is absent".to_owned(),
                };
                let wanted = requirement_text(requirement, is_expression);
                format!("have the node affinity `{wanted}`, but {actual}")
            }
            None => misfit_text(misfit),
        },
        _ => misfit_text(misfit),
    }
}

/// The first requirement that a node does not match, and whether it is one of the affinity: of its terms, the one with
/// the fewest such requirements counts.
pub(super) fn label_difference<'d>(
    demand: &'d PodDemand,
    node: &Node,
) -> Option<(&'d Requirement, bool)> {
    let differs = |it: &&Requirement| !it.matches(node.metadata.label(&it.key));
    if let Some(requirement) = demand.selector.iter().find(differs) {
        return Some((requirement, false));
    }
    let terms = demand.terms.iter().flatten();
    let failures = terms.filter_map(|term| {
        let mut failed = term.labels.iter().filter(differs);
        let first = failed.next()?;
        Some((failed.count(), first))
    });
    let (_, requirement) = failures.min_by_key(|(count, _)| *count)?;
    Some((requirement, true))
}

/// A requirement as text: `key: value`, or `key In [a, b]`.
pub(super) fn requirement_text(requirement: &Requirement, is_expression: bool) -> String {
    let Requirement {
        key,
        operator,
        values,
        ..
    } = requirement;
    match operator {
        _ if !is_expression => format!("{key}: {}", values.join(", ")),
        Operator::Exists | Operator::DoesNotExist => format!("{key} {}", operator.as_str()),
        _ => format!("{key} {} [{}]", operator.as_str(), values.join(", ")),
    }
}
