//! The number of nodes of a pool.

use gpuc_schema::{Span, Spanned};

/// The number of nodes of a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeRange {
    /// The minimum.
    pub min: u32,
    /// The maximum.
    pub max: u32,
    /// The number at the creation, if the file sets it.
    pub initial: Option<Spanned<u32>>,
    /// The location of the minimum.
    pub min_span: Span,
    /// The location of the maximum.
    pub max_span: Span,
}

impl NodeRange {
    /// Whether the number of nodes is fixed.
    pub fn is_fixed(&self) -> bool {
        self.min == self.max
    }

    /// The number at the creation, with its location.
    pub fn initial(&self) -> Spanned<u32> {
        self.initial
            .unwrap_or(Spanned::new(self.min, self.min_span))
    }
}
