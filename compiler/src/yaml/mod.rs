//! YAML text to [`Node`](crate::node::Node) trees, and back.

mod build;
pub mod codes;
pub mod core_schema;
mod mapping;
mod parse;
mod tag;
pub mod write;

pub use parse::{Document, documents, parse, read_text};
pub use write::to_yaml;

/// What a file may be at most, so that no input can take all memory or all time.
pub mod limits {
    /// Bytes of one file.
    pub const BYTES: usize = 16 * 1024 * 1024;
    /// Levels of lists and mappings within each other.
    pub const DEPTH: usize = 64;
    /// Nodes of one file, copies that aliases make included. A cluster of 3,000 pools has about 100,000.
    pub const NODES: usize = 1_000_000;
    /// Nodes of one file that anchors keep and aliases copy.
    pub const COPIES: usize = 200_000;
    /// Findings of one file, before the rest is left unread.
    pub const FINDINGS: usize = 100;
    /// Documents of one file that are broken, before the rest is left unread.
    pub const BROKEN_DOCUMENTS: usize = 20;
}
