//! The number of nodes of a pool.

use gpuc_schema::Span;

/// The number of nodes of a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeRange {
    /// The minimum.
    pub min: u32,
    /// The maximum.
    pub max: u32,
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
}
