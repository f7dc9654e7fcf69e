//! Spans that YAML aliases share: an edit there would change several objects.

use std::collections::BTreeSet;

use gpuc_syntax::diag::Diagnostic;
use gpuc_syntax::node::{Node, Origin, Value};
use gpuc_syntax::source::Span;

/// The addition to the help of a diagnostic in a shared span.
const SHARED_HELP: &str = "; an alias also uses this value, and a change here applies there too";

/// Marks the values behind an anchor that an alias or a merge key uses, also at their definition, and returns their
/// spans.
pub(super) fn mark_aliased(root: &mut Node) -> BTreeSet<Span> {
    let mut shared = BTreeSet::new();
    let mut keys = BTreeSet::new();
    visit_nodes(root, &mut |node| {
        shared.extend(aliased_definition(node));
        let entries = node.entries().iter();
        let merged = entries.filter(|entry| aliased_definition(&entry.value).is_some());
        keys.extend(merged.map(|entry| entry.key_span));
    });
    // A merge key copies the entries of a mapping: an entry added to the mapping would be copied too.
    visit_nodes(root, &mut |node| {
        let entries = node.entries().iter();
        let mut own = entries.filter(|entry| aliased_definition(&entry.value).is_none());
        if own.any(|entry| keys.contains(&entry.key_span)) {
            shared.insert(node.span());
        }
    });
    if !shared.is_empty() {
        visit_nodes(root, &mut |node| {
            if let Origin::Written { span, alias: used } = &mut node.origin
                && shared.contains(span)
            {
                used.get_or_insert(*span);
            }
        });
    }
    shared
}

/// The span of the definition of a node that comes from an alias.
fn aliased_definition(node: &Node) -> Option<Span> {
    match node.origin {
        Origin::Written {
            span,
            alias: Some(_),
        } => Some(span),
        _ => None,
    }
}

fn visit_nodes(node: &mut Node, visit: &mut dyn FnMut(&mut Node)) {
    visit(node);
    match &mut node.value {
        Value::Scalar(_) => {}
        Value::Sequence(items) => items.iter_mut().for_each(|item| visit_nodes(item, visit)),
        Value::Mapping(entries) => {
            for entry in entries {
                visit_nodes(&mut entry.value, visit);
            }
        }
    }
}

/// Removes edits that would change a shared span, and mentions the alias in the help of findings in one.
pub(super) fn restrict_edits(found: &mut Diagnostic, shared: &BTreeSet<Span>) {
    let is_inside = |edit: Span| {
        let is_after = |span: &Span| edit.start >= span.end || edit.end > span.end;
        let mut spans = shared.iter();
        spans.any(|span| span.source == edit.source && edit.start >= span.start && !is_after(span))
    };
    let changes = |fix: &gpuc_syntax::diag::Fix| fix.edits.iter().any(|edit| is_inside(edit.span));
    if is_inside(found.primary.span)
        && let Some(help) = &mut found.help
    {
        help.push_str(SHARED_HELP);
    }
    if found.fix.as_ref().is_some_and(changes) {
        found.fix = None;
    }
}
