//! What objects allow of themselves, by an annotation.

use std::collections::BTreeSet;

use super::find::holds_values;
use super::holds;
use super::read::Object;
use crate::diag::{Diagnostic, Severity};
use crate::node::{Node, Value};
use crate::source::Span;

/// The annotation: names or ids of warnings, with commas between them.
pub(super) const ANNOTATION: &str = "gpuc.dev/allow";

/// What one annotation allows.
pub(crate) struct Allowed<'s> {
    /// The object or the template of pods that has it.
    scope: Span,
    /// The annotation's value.
    pub(super) span: Span,
    /// Its words.
    pub(super) words: Vec<&'s str>,
}

/// What objects, and the templates in them, allow.
pub(super) fn all<'s>(objects: impl IntoIterator<Item = &'s Object>) -> Vec<Allowed<'s>> {
    let mut found = Vec::new();
    for object in objects.into_iter().filter(|it| !holds_values(it)) {
        walk(&object.root, &mut found);
    }
    // What an alias brings to several places is one annotation of each of them.
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

/// Marks the warnings that are allowed where they are, and answers the words that allow none, each at its annotation.
/// Where an error stands, a warning may show once that is gone.
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
            let mut is_of_use = may_hide;
            for found in findings.iter_mut().filter(|it| is_inside(it)) {
                let is_meant = [found.code.name, found.code.id].contains(word);
                if is_meant && found.severity == Severity::Warning {
                    found.allowed = true;
                    is_of_use = true;
                }
            }
            let list = if is_of_use { &mut used } else { &mut unused };
            list.insert((one.span, *word));
        }
    }
    // One annotation behind an alias is of use where one of the objects needs it.
    unused.retain(|it| !used.contains(it));
    unused
}
