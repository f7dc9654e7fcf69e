//! Parses YAML into [`Node`](crate::node::Node) trees, and writes them.

mod build;
pub mod codes;
mod continuations;
pub mod core_schema;
mod mapping;
mod parse;
mod tag;
pub mod write;

pub use parse::{Document, parse, parse_allow_empty, read_text};
pub use write::to_yaml;

/// The limits of a file, which bound memory and time.
pub mod limits {
    /// Bytes of one file.
    pub const BYTES: usize = 16 * 1024 * 1024;
    /// Nesting levels of lists and mappings.
    pub const DEPTH: usize = 64;
    /// Nodes of one file, including copies by aliases. A cluster with 3,000 pools has about 100,000.
    pub const NODES: usize = 1_000_000;
    /// Nodes of one file that anchors keep and aliases copy.
    pub const COPIES: usize = 200_000;
    /// Bytes of the texts and keys of these nodes.
    pub const COPIED_BYTES: usize = 16 * 1024 * 1024;
    /// Findings of one file, before the rest is skipped.
    pub const FINDINGS: usize = 100;
    /// Invalid documents of one file, before the rest is skipped.
    pub const BROKEN_DOCUMENTS: usize = 20;
}
