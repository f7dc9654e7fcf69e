//! Constraints that are discovered from serde's errors.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::de::{self, Expected, Unexpected};

use crate::node::{Node, Scalar, Value};
use crate::yaml::core_schema::CoreValue;

/// The maximum number of reported problems per document.
pub const MAX_PROBLEMS: usize = 100;

/// The reason of a serde error.
#[derive(Debug)]
pub(super) enum DecodeProblem {
    /// A type requires a key. `keys` are the type's known keys.
    Missing {
        keys: Option<&'static [&'static str]>,
        field: &'static str,
    },
    /// A type does not accept values of this shape.
    WrongShape {
        expecting: String,
        shape: Option<Shape>,
    },
    /// A type rejects this value.
    Rejected {
        message: String,
        node: Option<usize>,
    },
}

/// The shape of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Shape {
    Null,
    Bool,
    Natural,
    Negative,
    /// An integer that no type can represent.
    Large,
    Float,
    Text,
    Sequence,
    Mapping,
}

impl Shape {
    pub(super) fn from_node(node: &Node) -> Self {
        match &node.value {
            Value::Sequence(_) => Self::Sequence,
            Value::Mapping(_) => Self::Mapping,
            Value::Scalar(scalar) => match scalar.core_value() {
                CoreValue::Null => Self::Null,
                CoreValue::Bool(_) => Self::Bool,
                CoreValue::Integer(value) => match (u64::try_from(value), i64::try_from(value)) {
                    (Ok(_), _) => Self::Natural,
                    (_, Ok(_)) => Self::Negative,
                    _ => Self::Large,
                },
                CoreValue::Float(_) => Self::Float,
                CoreValue::Text(_) => Self::Text,
            },
        }
    }
}

/// The constraints that earlier passes discovered.
#[derive(Debug, Default)]
pub(super) struct Constraints {
    required: BTreeSet<(&'static [&'static str], &'static str)>,
    wrong_shapes: BTreeSet<(String, Shape)>,
    rejected: BTreeMap<usize, String>,
}

impl Constraints {
    /// Records the constraint of a failed pass; returns whether it is new.
    pub(super) fn add(&mut self, problem: DecodeProblem) -> bool {
        match problem {
            DecodeProblem::Missing {
                keys: Some(keys),
                field,
            } => self.required.insert((keys, field)),
            DecodeProblem::WrongShape {
                expecting,
                shape: Some(shape),
            } => self.wrong_shapes.insert((expecting, shape)),
            DecodeProblem::Rejected {
                message,
                node: Some(node),
            } => {
                self.rejected.len() <= MAX_PROBLEMS && self.rejected.insert(node, message).is_none()
            }
            DecodeProblem::Missing { .. }
            | DecodeProblem::WrongShape { .. }
            | DecodeProblem::Rejected { .. } => false,
        }
    }

    /// The known required keys of the type with these keys.
    pub(super) fn required_keys(
        &self,
        type_keys: &'static [&'static str],
    ) -> impl Iterator<Item = &'static str> + '_ {
        let fields = self.required.range((type_keys, "")..);
        fields
            .take_while(move |(keys, _)| *keys == type_keys)
            .map(|(_, field)| *field)
    }

    /// Whether a type, identified by its expectation text, does not accept values of this shape.
    pub(super) fn rejects_shape(&self, expecting: &str, shape: Shape) -> bool {
        !self.wrong_shapes.is_empty() && self.wrong_shapes.contains(&(expecting.to_owned(), shape))
    }

    /// The reason why a node's value was rejected.
    pub(super) fn rejection(&self, node: &Node) -> Option<&str> {
        self.rejected.get(&node_address(node)).map(String::as_str)
    }
}

/// The identity of a node while its tree is borrowed.
fn node_address(node: &Node) -> usize {
    std::ptr::from_ref(node).addr()
}

impl DecodeProblem {
    /// Sets the rejected node, unless a nested node is already set.
    pub(super) fn with_node(mut self, at: &Node) -> Self {
        match &mut self {
            Self::WrongShape { shape, .. } => {
                shape.get_or_insert(Shape::from_node(at));
            }
            Self::Rejected { node, .. } => {
                node.get_or_insert(node_address(at));
            }
            Self::Missing { .. } => {}
        }
        self
    }

    /// Sets the type that requires the key.
    pub(super) fn with_required_by(mut self, fields: &'static [&'static str]) -> Self {
        if let Self::Missing { keys, .. } = &mut self {
            keys.get_or_insert(fields);
        }
        self
    }
}

impl fmt::Display for DecodeProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing { field, .. } => write!(f, "missing `{field}`"),
            Self::WrongShape { expecting, .. } => write!(f, "expected {expecting}"),
            Self::Rejected { message, .. } => f.write_str(message),
        }
    }
}

impl std::error::Error for DecodeProblem {}

impl de::Error for DecodeProblem {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::Rejected {
            message: message.to_string(),
            node: None,
        }
    }

    fn invalid_type(_: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::WrongShape {
            expecting: expected.to_string(),
            shape: None,
        }
    }

    fn missing_field(field: &'static str) -> Self {
        Self::Missing { keys: None, field }
    }
}

/// The text of a scalar, as written.
pub(super) fn plain_text(node: &Node) -> Option<&str> {
    match &node.value {
        Value::Scalar(Scalar::Written { text, plain: true }) => Some(text),
        _ => None,
    }
}
