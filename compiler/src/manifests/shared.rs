//! Parts of a text that aliases use elsewhere too: another text there would change more than what was found.

use std::collections::BTreeSet;

use crate::diag::Diagnostic;
use crate::node::{Node, Origin, Value};
use crate::source::Span;

/// What is said of a finding in a shared part.
const TOLD: &str = "; an alias uses this elsewhere too, and what is written here holds there";

/// Marks the values of a document that stand behind an anchor and are used by an alias or a merge key as used, where
/// they are written too, and answers where they are.
pub(super) fn mark(root: &mut Node) -> BTreeSet<Span> {
    let mut shared = BTreeSet::new();
    let mut keys = BTreeSet::new();
    each(root, &mut |node| {
        shared.extend(used_elsewhere(node));
        let entries = node.entries().iter();
        let merged = entries.filter(|entry| used_elsewhere(&entry.value).is_some());
        keys.extend(merged.map(|entry| entry.key_span));
    });
    // A merge key brings the entries of a mapping and not the mapping: an entry added to it would come along.
    each(root, &mut |node| {
        let entries = node.entries().iter();
        let mut own = entries.filter(|entry| used_elsewhere(&entry.value).is_none());
        if own.any(|entry| keys.contains(&entry.key_span)) {
            shared.insert(node.span());
        }
    });
    if !shared.is_empty() {
        each(root, &mut |node| {
            if let Origin::Written { span, used } = &mut node.origin
                && shared.contains(span)
            {
                used.get_or_insert(*span);
            }
        });
    }
    shared
}

/// Where a node was written that an alias brought to another place.
fn used_elsewhere(node: &Node) -> Option<Span> {
    match node.origin {
        Origin::Written {
            span,
            used: Some(_),
        } => Some(span),
        _ => None,
    }
}

fn each(node: &mut Node, see: &mut dyn FnMut(&mut Node)) {
    see(node);
    match &mut node.value {
        Value::Scalar(_) => {}
        Value::Sequence(items) => items.iter_mut().for_each(|item| each(item, see)),
        Value::Mapping(entries) => {
            for entry in entries {
                each(&mut entry.value, see);
            }
        }
    }
}

/// Takes the edits from a finding that would change a shared part, and says of one in such a part that it is.
pub(super) fn keep(found: &mut Diagnostic, shared: &BTreeSet<Span>) {
    let is_inside = |edit: Span| {
        let is_after = |part: &Span| edit.start >= part.end || edit.end > part.end;
        let mut parts = shared.iter();
        parts.any(|part| part.source == edit.source && edit.start >= part.start && !is_after(part))
    };
    let changes = |fix: &crate::diag::Fix| fix.edits.iter().any(|edit| is_inside(edit.span));
    if is_inside(found.primary.span)
        && let Some(help) = &mut found.help
    {
        help.push_str(TOLD);
    }
    if found.fix.as_ref().is_some_and(changes) {
        found.fix = None;
    }
}
