//! A mapping in the making, with the reason of each of its values.

use gpuc_schema::Span;
use serde::Serialize;

use crate::node::{Entry, Node, Origin, Value};

/// A mapping whose values know why they are there.
#[derive(Default)]
pub(super) struct Mapping(Vec<Entry>);

impl Mapping {
    /// Adds a value, all of it there for the same reason.
    pub(super) fn put(self, key: &str, value: &impl Serialize, origin: Origin) -> Self {
        self.node(key, Node::typed(value, origin))
    }

    /// Adds a tree.
    pub(super) fn node(mut self, key: &str, value: Node) -> Self {
        self.0.push(Entry {
            key: key.to_owned(),
            key_span: Span::NONE,
            value,
        });
        self
    }

    /// The mapping, there for this reason.
    pub(super) fn finish(self, origin: Origin) -> Node {
        Node {
            value: Value::Mapping(self.0),
            origin,
        }
    }
}

/// A list, there for this reason.
pub(super) fn sequence(items: Vec<Node>, origin: Origin) -> Node {
    Node {
        value: Value::Sequence(items),
        origin,
    }
}
