//! Repairs a change that is valid only if other inputs are removed too: a weight needs the setting that reads it, a
//! quota needs its pool.
//!
//! The inputs at the errors are removed. Their own effect is subtracted from the effect of the change.

use gpuc_compile::compile::{Compilation, Options};
use gpuc_syntax::diag::{Severity, phrases};
use gpuc_syntax::node::Node;
use gpuc_syntax::source::Span;

use super::super::path::{Path, Step, walk};
use super::leaf::{self, InputLeaf};
use super::variants::InputVariant;
use super::{Experiment, compare_trees, compile_changed, files_by_path, overlaps};

/// The maximum number of repair rounds.
const MAX_ROUNDS: usize = 4;

/// The maximum number of removed inputs.
const MAX_REMOVED: usize = 8;

/// The maximum number of removed inputs in the description.
const MAX_NAMED: usize = 3;

/// Whether all errors after a change are outside of the changed input.
pub(super) fn is_possible(leaf: &InputLeaf, after: &Compilation) -> bool {
    let spans = error_spans(after);
    !spans.is_empty() && spans.iter().all(|span| !overlaps(leaf.span, *span))
}

/// Repeats the change with the inputs at the errors removed as well.
pub(super) fn repair(
    compilation: &Compilation,
    leaf: &InputLeaf,
    other: InputVariant,
    mut after: Compilation,
    options: &Options<'_>,
) -> Option<Experiment> {
    let before = files_by_path(compilation)?;
    let root = &compilation.loaded.root;
    let is_without = leaf
        .path
        .find(&other.root)
        .is_none_or(|node| node.span() != leaf.span);
    let mut out: Vec<Path> = Vec::new();
    for _ in 0..MAX_ROUNDS {
        if !is_possible(leaf, &after) {
            return None;
        }
        for span in error_spans(&after) {
            let path = part_at(root, span)?;
            if !out.contains(&path) {
                out.push(path);
            }
        }
        if out.len() > MAX_REMOVED {
            return None;
        }
        let rest = if is_without {
            let all: Vec<_> = out.iter().chain([&leaf.path]).collect();
            without_parts(root, all)
        } else {
            without_parts(&other.root, out.iter().collect())
        };
        after = compile_changed(&compilation.loaded, rest, options);
        if let Some(after) = files_by_path(&after) {
            let beside = without_parts(root, out.iter().collect());
            let beside = files_by_path(&compile_changed(&compilation.loaded, beside, options))?;
            let beside = compare_trees(leaf, &before, beside, String::new(), None);
            let is_whole = |path: &&Path| {
                let mut others = out.iter();
                !others.any(|other| other != *path && path.is_below(other))
            };
            let names = out.iter().filter(is_whole);
            let names: Vec<_> = names.map(ToString::to_string).collect();
            let names = phrases::quoted_list(&names, MAX_NAMED);
            let tried = if is_without {
                format!("{} together with {names}", other.change)
            } else {
                format!("{} with {names} removed", other.change)
            };
            let trial = compare_trees(leaf, &before, after, tried, other.renamed);
            return Some(Experiment {
                side_effects: beside.changed,
                ..trial
            });
        }
    }
    None
}

/// The locations of the errors.
fn error_spans(after: &Compilation) -> Vec<Span> {
    let errors = after.report.diagnostics().iter();
    let errors = errors.filter(|found| found.severity == Severity::Error);
    errors.map(|found| found.primary.span).collect()
}

/// The smallest part of the document that contains a location.
fn part_at(root: &Node, location: Span) -> Option<Path> {
    let mut found: Option<(u32, Path)> = None;
    walk(root, &mut |path, node| {
        let mut compare_size = |span: Span, path: Path| {
            let contains_location = span.source == location.source
                && span.start <= location.start
                && location.end <= span.end;
            let size = span.end - span.start;
            if contains_location && found.as_ref().is_none_or(|(best, _)| size <= *best) {
                found = Some((size, path));
            }
        };
        if !path.0.is_empty() {
            compare_size(node.span(), path.clone());
        }
        for entry in node.entries() {
            let path = path.child(Step::Key(entry.key.clone()));
            compare_size(entry.key_span, path);
        }
    });
    found.map(|(_, path)| path)
}

/// The document without some parts: removes the last items of lists first, so that the others keep their indexes.
fn without_parts(root: &Node, mut out: Vec<&Path>) -> Node {
    let mut root = root.clone();
    out.sort();
    for path in out.into_iter().rev() {
        leaf::remove_part(&mut root, path);
    }
    root
}
