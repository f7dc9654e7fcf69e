//! The path of a node in a document: `nodePools[2].sharing.mig.strategy`.

use std::fmt;

use super::abbreviation::abbreviate;
use crate::source::Span;

/// The path from the root to a node.
#[derive(Clone, Copy, Debug)]
pub(super) struct Path<'p> {
    parent: Option<&'p Path<'p>>,
    step: Step<'p>,
}

#[derive(Clone, Copy, Debug)]
enum Step<'p> {
    Root,
    Key(&'p str, Span),
    Index(usize),
}

impl<'p> Path<'p> {
    pub(super) const ROOT: Self = Self {
        parent: None,
        step: Step::Root,
    };

    pub(super) fn with_key(&'p self, key: &'p str, span: Span) -> Self {
        Self {
            parent: Some(self),
            step: Step::Key(key, span),
        }
    }

    pub(super) fn with_index(&'p self, index: usize) -> Self {
        Self {
            parent: Some(self),
            step: Step::Index(index),
        }
    }

    pub(super) fn is_root(&self) -> bool {
        self.parent.is_none()
    }

    /// The span of the node's key.
    pub(super) fn key_span(&self) -> Option<Span> {
        match self.step {
            Step::Key(_, span) => Some(span),
            Step::Root | Step::Index(_) => None,
        }
    }

    /// The path in backticks, or a name for the root.
    pub(super) fn quoted(&self) -> String {
        if self.is_root() {
            "the document".to_owned()
        } else {
            format!("`{self}`")
        }
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(parent) = self.parent {
            parent.fmt(f)?;
        }
        let is_word = |key: &str| {
            let allowed = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
            !key.is_empty() && key.chars().all(allowed)
        };
        match self.step {
            Step::Root => Ok(()),
            Step::Index(index) => write!(f, "[{index}]"),
            Step::Key(key, _) if !is_word(key) => write!(f, "[{:?}]", abbreviate(key)),
            Step::Key(key, _) if self.parent.is_some_and(Path::is_root) => f.write_str(key),
            Step::Key(key, _) => write!(f, ".{key}"),
        }
    }
}
