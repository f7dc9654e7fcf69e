//! The annotation `gpuc.dev/allow`, by which objects allow warnings.

use std::collections::BTreeSet;

use gpuc_syntax::diag::{Diagnostic, Severity};
use gpuc_syntax::node::{Node, Value};
use gpuc_syntax::source::Span;

use super::holds;
use super::pods::holds_values;
use super::read::Object;

/// The annotation: names or ids of warnings, separated by commas.
pub(super) const ANNOTATION: &str = "gpuc.dev/allow";

/// The content of one annotation.
pub(crate) struct Allowed<'s> {
    /// The object or the pod template with the annotation.
    scope: Span,
    /// The value of the annotation.
    pub(super) span: Span,
    /// The names in it.
    pub(super) words: Vec<&'s str>,
}

/// The annotations of objects and of the templates in them.
pub(super) fn all<'s>(objects: impl IntoIterator<Item = &'s Object>) -> Vec<Allowed<'s>> {
    let mut found = Vec::new();
    for object in objects.into_iter().filter(|it| !holds_values(it)) {
        walk(&object.root, &mut found);
    }
    found
}

fn walk<'s>(node: &'s Node, found: &mut Vec<Allowed<'s>>) {
    if let Value::Sequence(items) = &node.value {
        for item in items {
            walk(item, found);
        }
        return;
    }
    let annotations = node.get("metadata").and_then(|it| it.get("annotations"));
    let written = annotations.and_then(|it| it.get(ANNOTATION));
    if let Some((written, text)) = written.and_then(|it| Some((it, it.text()?))) {
        let words = text.split(',').map(str::trim);
        found.push(Allowed {
            scope: node.span(),
            span: written.span(),
            words: words.filter(|word| !word.is_empty()).collect(),
        });
    }
    for entry in node.entries() {
        walk(&entry.value, found);
    }
}

/// Marks the allowed warnings and returns the names that allow none, each with the span of its annotation. A name in a
/// scope with errors counts as used: a warning may appear once the error is fixed.
pub(super) fn mark<'s>(
    allowed: &[Allowed<'s>],
    findings: &mut [Diagnostic],
) -> BTreeSet<(Span, &'s str)> {
    let (mut unused, mut used) = (BTreeSet::new(), BTreeSet::new());
    for one in allowed {
        let is_inside = |it: &Diagnostic| holds(one.scope, it.primary.span);
        let mut own = findings.iter().filter(|it| is_inside(it));
        let may_hide = own.any(|it| it.severity == Severity::Error);
        for word in &one.words {
            let mut is_used = may_hide;
            for found in findings.iter_mut().filter(|it| is_inside(it)) {
                if found.code.is_called(word) && found.severity == Severity::Warning {
                    found.allowed = true;
                    is_used = true;
                }
            }
            let list = if is_used { &mut used } else { &mut unused };
            list.insert((one.span, *word));
        }
    }
    // An annotation that aliases share is used if one of the objects needs it.
    unused.retain(|it| !used.contains(it));
    unused
}
