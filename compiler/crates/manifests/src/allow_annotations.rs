//! The annotation `gpuc.dev/allow`, by which objects allow warnings.

use std::collections::BTreeSet;

use gpuc_syntax::diag::{Diagnostic, Severity};
use gpuc_syntax::node::{Node, Value};
use gpuc_syntax::source::Span;

use super::object::Object;
use super::pods::creates_no_pods;

/// The annotation: names or ids of warnings, separated by commas.
pub(super) const ANNOTATION: &str = "gpuc.dev/allow";

/// The content of one annotation.
pub(crate) struct AllowAnnotation<'s> {
    /// The object or the pod template with the annotation.
    scope: Span,
    /// The value of the annotation.
    pub(super) span: Span,
    /// The names in it.
    pub(super) names: Vec<&'s str>,
}

/// The annotations of objects and of the templates in them.
pub(super) fn find_allow_annotations<'s>(
    objects: impl IntoIterator<Item = &'s Object>,
) -> Vec<AllowAnnotation<'s>> {
    let mut found = Vec::new();
    for object in objects.into_iter().filter(|it| !creates_no_pods(it)) {
        collect_annotations(&object.root, &mut found);
    }
    found
}

fn collect_annotations<'s>(node: &'s Node, found: &mut Vec<AllowAnnotation<'s>>) {
    if let Value::Sequence(items) = &node.value {
        for item in items {
            collect_annotations(item, found);
        }
        return;
    }
    let annotations = node.get("metadata").and_then(|it| it.get("annotations"));
    let written = annotations.and_then(|it| it.get(ANNOTATION));
    if let Some((written, text)) = written.and_then(|it| Some((it, it.text()?))) {
        let words = text.split(',').map(str::trim);
        found.push(AllowAnnotation {
            scope: node.span(),
            span: written.span(),
            names: words.filter(|word| !word.is_empty()).collect(),
        });
    }
    for entry in node.entries() {
        collect_annotations(&entry.value, found);
    }
}

/// Marks the allowed warnings and returns the names that allow none, each with the span of its annotation. A name in a
/// scope with errors counts as used: a warning may appear once the error is fixed.
pub(super) fn apply_allow_annotations<'s>(
    allowed: &[AllowAnnotation<'s>],
    findings: &mut [Diagnostic],
) -> BTreeSet<(Span, &'s str)> {
    let (mut unused, mut used) = (BTreeSet::new(), BTreeSet::new());
    for annotation in allowed {
        let is_inside = |it: &Diagnostic| span_contains(annotation.scope, it.primary.span);
        let mut own = findings.iter().filter(|it| is_inside(it));
        let has_errors = own.any(|it| it.severity == Severity::Error);
        for word in &annotation.names {
            let mut is_used = has_errors;
            for found in findings.iter_mut().filter(|it| is_inside(it)) {
                if found.code.is_called(word) && found.severity == Severity::Warning {
                    found.is_allowed = true;
                    is_used = true;
                }
            }
            let list = if is_used { &mut used } else { &mut unused };
            list.insert((annotation.span, *word));
        }
    }
    // An annotation that aliases share is used if one of the objects needs it.
    unused.retain(|it| !used.contains(it));
    unused
}

/// Whether one span is within another.
pub(super) fn span_contains(whole: Span, part: Span) -> bool {
    whole.source == part.source && whole.start <= part.start && part.end <= whole.end
}
