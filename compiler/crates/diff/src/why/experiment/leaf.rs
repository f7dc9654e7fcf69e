//! The inputs that experiments change one at a time.

use gpuc_syntax::node::{Node, Value};
use gpuc_syntax::source::Span;

use super::super::path::{Path, Step, find_mut, is_leaf, walk};

/// An input that an experiment changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputLeaf {
    /// The path in the document.
    pub path: Path,
    /// The location.
    pub span: Span,
    /// Whether it has nested parts, and is only removed as a whole.
    pub is_section: bool,
}

/// The inputs of a document.
#[derive(Clone, Debug)]
pub struct InputLeaves {
    /// All inputs, most likely first.
    pub all: Vec<InputLeaf>,
    /// The number of inputs that are known to matter.
    pub early_count: usize,
    /// The size of the document.
    pub size: usize,
}

/// The inputs of a document, those at certain locations first.
pub fn input_leaves(root: &Node, early: &[Span]) -> InputLeaves {
    let mut all = Vec::new();
    let mut size = 0;
    walk(root, &mut |path, node| {
        size += 1;
        let is_base = matches!(path.0.as_slice(), [Step::Key(key)] if key == "base");
        if path.0.is_empty() || is_base || !node.span().is_written() {
            return;
        }
        all.push(InputLeaf {
            path: path.clone(),
            span: node.span(),
            is_section: !is_leaf(node),
        });
    });
    let is_early = |leaf: &InputLeaf| early.iter().any(|span| overlaps(leaf.span, *span));
    all.sort_by_key(|leaf| (!is_early(leaf), leaf.is_section));
    let early = all.iter().filter(|leaf| is_early(leaf)).count();
    InputLeaves {
        all,
        early_count: early,
        size,
    }
}

/// Whether two locations overlap.
pub(in crate::why) fn overlaps(one: Span, other: Span) -> bool {
    one.source == other.source && one.start <= other.end && other.start <= one.end
}

/// The document with a part replaced, or removed if there is no new value.
pub(super) fn replace_part(root: &Node, path: &Path, new: Option<Value>) -> Option<Node> {
    let mut root = root.clone();
    match new {
        Some(value) => find_mut(&mut root, &path.0)?.value = value,
        None => remove_part(&mut root, path)?,
    }
    Some(root)
}

/// Removes a part of a document.
pub(super) fn remove_part(root: &mut Node, path: &Path) -> Option<()> {
    let (last, above) = path.0.split_last()?;
    let node = find_mut(root, above)?;
    match (&mut node.value, last) {
        (Value::Mapping(entries), Step::Key(key)) => entries.retain(|entry| entry.key != *key),
        (Value::Sequence(items), Step::Index(index)) if *index < items.len() => {
            items.remove(*index);
        }
        _ => return None,
    }
    Some(())
}
