//! Prints a diagnosis.

mod diagnostics;
mod json;
mod junit;
mod markdown;
#[cfg(test)]
mod tests;
mod text;

pub use diagnostics::diagnostics;
pub use json::{cause_value, json};
pub use junit::junit;
pub use markdown::{MAX_LENGTH, markdown};
pub use text::{cause_text, steps, text};

use gpuc_syntax::source::{Sources, Span};

use super::context::POOL_LABELS;
use super::finding::Finding;
use crate::objects::ObjectRef;
use crate::state::ClusterState;

/// The number of names that a line lists.
const MAX_NAMES: usize = 5;

/// The objects of a finding as text: `Node a`, or three nodes with their pool and names.
pub(crate) fn describe_objects(objects: &[ObjectRef], state: &ClusterState) -> String {
    let [first, rest @ ..] = objects else {
        return String::new();
    };
    if rest.is_empty() {
        return format!("{first}{}", pool_text(objects, state));
    }
    let is_same_kind = rest.iter().all(|object| object.kind == first.kind);
    let kind = if is_same_kind {
        plural(&first.kind)
    } else {
        "objects".to_owned()
    };
    let names: Vec<String> = (objects.iter().take(MAX_NAMES))
        .map(|object| {
            if is_same_kind {
                object.full_name()
            } else {
                object.to_string()
            }
        })
        .collect();
    let more = match objects.len().saturating_sub(MAX_NAMES) {
        0 => String::new(),
        count => format!(", and {count} more"),
    };
    let pool = pool_text(objects, state);
    format!("{} {kind}{pool}: {}{more}", objects.len(), names.join(", "))
}

/// The pool of nodes, if it is the same for all.
fn pool_text(objects: &[ObjectRef], state: &ClusterState) -> String {
    let pool = |object: &ObjectRef| {
        let node = state.node(&object.name).filter(|_| object.kind == "Node")?;
        POOL_LABELS.iter().find_map(|key| node.metadata.label(key))
    };
    let mut pools = objects.iter().map(pool);
    match pools.next().flatten() {
        Some(first) if pools.all(|pool| pool == Some(first)) => format!(" of pool `{first}`"),
        _ => String::new(),
    }
}

/// The plural of a kind.
fn plural(kind: &str) -> String {
    match kind.strip_suffix('y') {
        Some(stem) => format!("{stem}ies"),
        None if kind.ends_with('s') => format!("{kind}es"),
        None => format!("{kind}s"),
    }
}

/// A place in the input: `gpu-cluster.yaml:14:7`.
fn place(sources: &Sources, span: Span) -> String {
    match sources.locate(span) {
        Some((path, position)) => format!("{path}:{}:{}", position.line, position.column),
        None => String::new(),
    }
}

/// The findings of a cause that explain pods, and the other ones.
fn split_pods(findings: &[Finding]) -> (Vec<&Finding>, Vec<&Finding>) {
    findings
        .iter()
        .partition(|finding| finding.subjects.iter().all(|it| it.kind == "Pod"))
}
