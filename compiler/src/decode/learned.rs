//! What serde alone knows, and tells only by failing.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::de::{self, Expected, Unexpected};

use super::MOST_PROBLEMS;
use crate::node::{Node, Scalar, Value};
use crate::yaml::core_schema::Core;

/// Why serde gave up.
#[derive(Debug)]
pub(super) enum Problem {
    /// A type needs a key. `of` are the keys that the type knows.
    Missing {
        of: Option<&'static [&'static str]>,
        field: &'static str,
    },
    /// A type does not take a value of this shape.
    Refused {
        expecting: String,
        shape: Option<Shape>,
    },
    /// A type does not take this very value.
    Unfit {
        message: String,
        node: Option<usize>,
    },
}

/// What a value is, as far as types tell values apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Shape {
    Null,
    Bool,
    Natural,
    Negative,
    /// A whole number that no type counts to.
    Large,
    Float,
    Text,
    Sequence,
    Mapping,
}

impl Shape {
    pub(super) fn of(node: &Node) -> Self {
        match &node.value {
            Value::Sequence(_) => Self::Sequence,
            Value::Mapping(_) => Self::Mapping,
            Value::Scalar(scalar) => match scalar.core() {
                Core::Null => Self::Null,
                Core::Bool(_) => Self::Bool,
                Core::Integer(value) => match (u64::try_from(value), i64::try_from(value)) {
                    (Ok(_), _) => Self::Natural,
                    (_, Ok(_)) => Self::Negative,
                    _ => Self::Large,
                },
                Core::Float(_) => Self::Float,
                Core::Text(_) => Self::Text,
            },
        }
    }
}

/// What earlier passes over a document have learned.
#[derive(Debug, Default)]
pub(super) struct Learned {
    required: BTreeSet<(&'static [&'static str], &'static str)>,
    refused: BTreeSet<(String, Shape)>,
    unfit: BTreeMap<usize, String>,
}

impl Learned {
    /// Learns from a failed pass; whether there was anything new in it.
    pub(super) fn add(&mut self, problem: Problem) -> bool {
        match problem {
            Problem::Missing {
                of: Some(of),
                field,
            } => self.required.insert((of, field)),
            Problem::Refused {
                expecting,
                shape: Some(shape),
            } => self.refused.insert((expecting, shape)),
            Problem::Unfit {
                message,
                node: Some(node),
            } => self.unfit.len() <= MOST_PROBLEMS && self.unfit.insert(node, message).is_none(),
            Problem::Missing { .. } | Problem::Refused { .. } | Problem::Unfit { .. } => false,
        }
    }

    /// The keys known to be needed by the type with these keys.
    pub(super) fn required(
        &self,
        of: &'static [&'static str],
    ) -> impl Iterator<Item = &'static str> + '_ {
        let fields = self.required.range((of, "")..);
        fields
            .take_while(move |(keys, _)| *keys == of)
            .map(|(_, field)| *field)
    }

    /// Whether a type, by what it says it expects, takes no values of this shape.
    pub(super) fn refuses(&self, expecting: &str, shape: Shape) -> bool {
        !self.refused.is_empty() && self.refused.contains(&(expecting.to_owned(), shape))
    }

    /// Why a node was refused for its very value.
    pub(super) fn unfit(&self, node: &Node) -> Option<&str> {
        self.unfit.get(&identity(node)).map(String::as_str)
    }
}

/// What tells a node from all others while its tree is borrowed.
fn identity(node: &Node) -> usize {
    std::ptr::from_ref(node).addr()
}

impl Problem {
    /// Says which node was refused, unless a node inside of it was.
    pub(super) fn at(mut self, at: &Node) -> Self {
        match &mut self {
            Self::Refused { shape, .. } => {
                shape.get_or_insert(Shape::of(at));
            }
            Self::Unfit { node, .. } => {
                node.get_or_insert(identity(at));
            }
            Self::Missing { .. } => {}
        }
        self
    }

    /// Says which type needs the key.
    pub(super) fn needed_by(mut self, fields: &'static [&'static str]) -> Self {
        if let Self::Missing { of, .. } = &mut self {
            of.get_or_insert(fields);
        }
        self
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing { field, .. } => write!(f, "missing `{field}`"),
            Self::Refused { expecting, .. } => write!(f, "expected {expecting}"),
            Self::Unfit { message, .. } => f.write_str(message),
        }
    }
}

impl std::error::Error for Problem {}

impl de::Error for Problem {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::Unfit {
            message: message.to_string(),
            node: None,
        }
    }

    fn invalid_type(_: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::Refused {
            expecting: expected.to_string(),
            shape: None,
        }
    }

    fn missing_field(field: &'static str) -> Self {
        Self::Missing { of: None, field }
    }
}

/// The text of a leaf as it was written.
pub(super) fn written(node: &Node) -> Option<&str> {
    match &node.value {
        Value::Scalar(Scalar::Written { text, plain: true }) => Some(text),
        _ => None,
    }
}
