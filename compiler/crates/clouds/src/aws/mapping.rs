//! A builder for mappings whose values have origins.

use gpuc_schema::Span;
use serde::Serialize;

use gpuc_syntax::node::{Entry, Node, Origin, Value};

/// A mapping whose values have origins.
#[derive(Default)]
pub(super) struct Mapping(Vec<Entry>);

impl Mapping {
    /// Adds a value with a single origin.
    pub(super) fn with_value(self, key: &str, value: &impl Serialize, origin: Origin) -> Self {
        self.with_node(key, Node::from_serializable(value, origin))
    }

    /// Adds a tree.
    pub(super) fn with_node(mut self, key: &str, value: Node) -> Self {
        self.0.push(Entry {
            key: key.to_owned(),
            key_span: Span::NONE,
            value,
        });
        self
    }

    /// Finishes the mapping, with this origin.
    pub(super) fn finish(self, origin: Origin) -> Node {
        Node {
            value: Value::Mapping(self.0),
            origin,
        }
    }
}

/// A sequence with this origin.
pub(super) fn sequence(items: Vec<Node>, origin: Origin) -> Node {
    Node {
        value: Value::Sequence(items),
        origin,
    }
}
