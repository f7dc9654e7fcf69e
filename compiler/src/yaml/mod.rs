//! YAML text to [`Node`](crate::node::Node) trees, and back.

pub mod core_schema;
pub mod write;
