//! The one tree: YAML that was read, fragments that users pass through, manifests of others, and objects we generate.

use std::sync::Arc;

use gpuc_schema::Spanned;
use gpuc_schema::config::Fragment;
use serde::Serialize;
use serde::ser::{SerializeMap, SerializeSeq, Serializer};

use crate::source::Span;
use crate::yaml::core_schema::{Core, read};

/// A value and why it is there.
#[derive(Clone, Debug)]
pub struct Node {
    /// The value.
    pub value: Value,
    /// Why it is there.
    pub origin: Origin,
}

/// A value of a tree.
#[derive(Clone, Debug)]
pub enum Value {
    /// Text, a number, a boolean or nothing.
    Scalar(Scalar),
    /// A list.
    Sequence(Vec<Node>),
    /// Keys and values, in the order they were written.
    Mapping(Vec<Entry>),
}

/// A key and its value.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The key.
    pub key: String,
    /// Where the key was written.
    pub key_span: Span,
    /// The value.
    pub value: Node,
}

/// A leaf. What was read stays text until a dialect says what it means.
#[derive(Clone, Debug, PartialEq)]
pub enum Scalar {
    /// As it was read.
    Written {
        /// The text, with quotes, escapes and folding resolved.
        text: String,
        /// Whether it stood without quotes, so that a dialect may take it for more than text.
        plain: bool,
    },
    /// Nothing.
    Null,
    /// True or false.
    Bool(bool),
    /// A whole number.
    Integer(i64),
    /// Any other number.
    Float(f64),
    /// Text.
    Text(String),
}

/// Why a node is there.
#[derive(Clone, Debug, Default)]
pub enum Origin {
    /// For the same reason as the node that holds it.
    #[default]
    Inherited,
    /// Somebody wrote it here.
    Written {
        /// Where it stands.
        span: Span,
        /// Where the alias stands that brought it to this place, if one did.
        used: Option<Span>,
    },
    /// gpuc made it.
    Made(Arc<Made>),
}

/// What gpuc made something from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Made {
    /// The places in the input that it follows from.
    pub inputs: Vec<Span>,
    /// Why it follows.
    pub because: Because,
}

/// Why something follows from the input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Because {
    /// The user wrote it.
    Written,
    /// Nobody wrote anything else.
    Default,
    /// A rule of gpuc's, in words.
    Rule(&'static str),
    /// A fact about a cloud, a card or Kubernetes.
    Fact {
        /// The fact in words.
        what: &'static str,
        /// Where it stands, with a date.
        source: &'static str,
    },
}

impl Origin {
    /// What follows from these places by a rule.
    pub fn rule(inputs: impl IntoIterator<Item = Span>, rule: &'static str) -> Self {
        Self::made(inputs, Because::Rule(rule))
    }

    /// What follows from these places by a fact.
    pub fn fact(
        inputs: impl IntoIterator<Item = Span>,
        what: &'static str,
        source: &'static str,
    ) -> Self {
        Self::made(inputs, Because::Fact { what, source })
    }

    /// The places it follows from; none where only what holds the node knows.
    pub fn inputs(&self) -> &[Span] {
        match self {
            Self::Made(made) => &made.inputs,
            Self::Written { span, .. } => std::slice::from_ref(span),
            Self::Inherited => &[],
        }
    }

    /// What follows from these places for a reason.
    pub fn made(inputs: impl IntoIterator<Item = Span>, because: Because) -> Self {
        let inputs = inputs.into_iter().filter(|span| span.is_written());
        Self::Made(Arc::new(Made {
            inputs: inputs.collect(),
            because,
        }))
    }
}

impl Node {
    /// A node that was read.
    pub fn written(value: Value, span: Span) -> Self {
        let origin = Origin::Written { span, used: None };
        Self { value, origin }
    }

    /// The tree of a value, every part of it there for the same reason. Null fields are left out, as Kubernetes'
    /// own types leave out what is not set.
    pub fn typed(value: &impl Serialize, origin: Origin) -> Self {
        let value =
            serde_json::to_value(value).expect("our types and Kubernetes' serialise to JSON");
        Self {
            origin,
            ..Self::from_json(value)
        }
    }

    /// The tree of a JSON value, without null fields.
    pub fn from_json(value: serde_json::Value) -> Self {
        use serde_json::Value as Json;
        let value = match value {
            Json::Null => Value::Scalar(Scalar::Null),
            Json::Bool(bool) => Value::Scalar(Scalar::Bool(bool)),
            Json::Number(number) => Value::Scalar(match number.as_i64() {
                Some(integer) => Scalar::Integer(integer),
                None => Scalar::Float(number.as_f64().unwrap_or_default()),
            }),
            Json::String(text) => Value::Scalar(Scalar::Text(text)),
            Json::Array(items) => Value::Sequence(items.into_iter().map(Self::from_json).collect()),
            Json::Object(fields) => Value::Mapping(
                fields
                    .into_iter()
                    .filter(|(_, value)| !value.is_null())
                    .map(|(key, value)| Entry {
                        key,
                        key_span: Span::NONE,
                        value: Self::from_json(value),
                    })
                    .collect(),
            ),
        };
        Self {
            value,
            origin: Origin::Inherited,
        }
    }

    /// The tree of what a user passes through, every part at its place.
    pub fn passed(fragment: &Spanned<Fragment>) -> Self {
        let value = match &fragment.value {
            Fragment::Null => Value::Scalar(Scalar::Null),
            Fragment::Bool(value) => Value::Scalar(Scalar::Bool(*value)),
            Fragment::Integer(value) => Value::Scalar(Scalar::Integer(*value)),
            Fragment::Float(value) => Value::Scalar(Scalar::Float(*value)),
            Fragment::Text(text) => Value::Scalar(Scalar::Text(text.clone())),
            Fragment::List(items) => Value::Sequence(items.iter().map(Self::passed).collect()),
            Fragment::Map(entries) => {
                let entry = |(key, value): &(Spanned<String>, Spanned<Fragment>)| Entry {
                    key: key.value.clone(),
                    key_span: key.span,
                    value: Self::passed(value),
                };
                Value::Mapping(entries.iter().map(entry).collect())
            }
        };
        Self::written(value, fragment.span)
    }

    /// The same tree as part of a run that has so many files before this tree's.
    pub fn renumber(&mut self, by: u32) {
        let shift = |span: &mut Span| {
            if span.is_written() {
                span.source += by;
            }
        };
        if let Origin::Written { span, used } = &mut self.origin {
            shift(span);
            if let Some(used) = used {
                shift(used);
            }
        }
        match &mut self.value {
            Value::Scalar(_) => {}
            Value::Sequence(items) => items.iter_mut().for_each(|item| item.renumber(by)),
            Value::Mapping(entries) => {
                for entry in entries {
                    shift(&mut entry.key_span);
                    entry.value.renumber(by);
                }
            }
        }
    }

    /// Whether another tree that was read is the same, place by place, with files in it that are the same.
    pub fn is_copy(&self, other: &Self, is_same: &dyn Fn(u32, u32) -> bool) -> bool {
        let same = |one: Span, other: Span| {
            (one.start, one.end) == (other.start, other.end)
                && one.is_written() == other.is_written()
                && (!one.is_written() || is_same(one.source, other.source))
        };
        let used = |node: &Self| match &node.origin {
            Origin::Written { span, used } => Some((*span, *used)),
            Origin::Inherited | Origin::Made(_) => None,
        };
        let origins = match (used(self), used(other)) {
            (Some((one, from)), Some((other, by))) => {
                same(one, other)
                    && match (from, by) {
                        (Some(from), Some(by)) => same(from, by),
                        (from, by) => from.is_none() && by.is_none(),
                    }
            }
            _ => matches!(
                (&self.origin, &other.origin),
                (Origin::Inherited, Origin::Inherited)
            ),
        };
        origins
            && match (&self.value, &other.value) {
                (Value::Sequence(items), Value::Sequence(others)) => {
                    let mut both = items.iter().zip(others);
                    items.len() == others.len() && both.all(|(one, it)| one.is_copy(it, is_same))
                }
                (Value::Mapping(entries), Value::Mapping(others)) => {
                    let mut both = entries.iter().zip(others);
                    entries.len() == others.len()
                        && both.all(|(one, it)| {
                            one.key == it.key
                                && same(one.key_span, it.key_span)
                                && one.value.is_copy(&it.value, is_same)
                        })
                }
                // What stands at the same place of the same text.
                (Value::Scalar(_), Value::Scalar(_)) => origins,
                _ => false,
            }
    }

    /// The same tree for whoever does not know where it was written: every part is there for the reason of what holds
    /// it.
    pub fn forget(&mut self) {
        self.origin = Origin::Inherited;
        match &mut self.value {
            Value::Scalar(_) => {}
            Value::Sequence(items) => items.iter_mut().for_each(Self::forget),
            Value::Mapping(entries) => entries.iter_mut().for_each(|entry| entry.value.forget()),
        }
    }

    /// Where the value stands, for a message: the alias that brought it here before the place it comes from.
    pub fn span(&self) -> Span {
        match &self.origin {
            Origin::Written { used, span } => used.unwrap_or(*span),
            Origin::Inherited => Span::NONE,
            Origin::Made(made) => made.inputs.first().copied().unwrap_or(Span::NONE),
        }
    }

    /// The entries of a mapping; empty for anything else.
    pub fn entries(&self) -> &[Entry] {
        match &self.value {
            Value::Mapping(entries) => entries,
            _ => &[],
        }
    }

    /// The items of a sequence; empty for anything else.
    pub fn items(&self) -> &[Node] {
        match &self.value {
            Value::Sequence(items) => items,
            _ => &[],
        }
    }

    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.entry(key).map(|entry| &entry.value)
    }

    /// The entry of a key.
    pub fn entry(&self, key: &str) -> Option<&Entry> {
        self.entries().iter().find(|entry| entry.key == key)
    }

    /// Says of what stands below these keys, or numbers of items, why it is there; nothing of what is not there.
    pub fn because(&mut self, keys: &[&str], origin: Origin) {
        let Some((first, rest)) = keys.split_first() else {
            self.origin = origin;
            return;
        };
        let below = match &mut self.value {
            Value::Scalar(_) => None,
            Value::Sequence(items) => first.parse().ok().and_then(|at: usize| items.get_mut(at)),
            Value::Mapping(entries) => {
                let entry = entries.iter_mut().find(|entry| entry.key == *first);
                entry.map(|entry| &mut entry.value)
            }
        };
        if let Some(below) = below {
            below.because(rest, origin);
        }
    }

    /// The text of a leaf, as written or as made; `None` for collections and for leaves that are not text.
    pub fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Scalar(Scalar::Written { text, .. } | Scalar::Text(text)) => Some(text),
            _ => None,
        }
    }
}

impl Serialize for Node {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.value {
            Value::Scalar(scalar) => scalar.serialize(serializer),
            Value::Sequence(items) => {
                let mut sequence = serializer.serialize_seq(Some(items.len()))?;
                for item in items {
                    sequence.serialize_element(item)?;
                }
                sequence.end()
            }
            Value::Mapping(entries) => {
                let mut mapping = serializer.serialize_map(Some(entries.len()))?;
                for entry in entries {
                    mapping.serialize_entry(&entry.key, &entry.value)?;
                }
                mapping.end()
            }
        }
    }
}

impl Scalar {
    /// What it means in YAML 1.2.
    pub fn core(&self) -> Core<'_> {
        match self {
            Self::Null => Core::Null,
            Self::Bool(value) => Core::Bool(*value),
            Self::Integer(value) => Core::Integer((*value).into()),
            Self::Float(value) => Core::Float(*value),
            Self::Text(text) => Core::Text(text),
            Self::Written { text, plain } => read(text, *plain),
        }
    }
}

impl Serialize for Scalar {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.core() {
            Core::Null => serializer.serialize_unit(),
            Core::Bool(value) => serializer.serialize_bool(value),
            Core::Integer(value) => match i64::try_from(value) {
                Ok(small) => serializer.serialize_i64(small),
                Err(_) => serializer.serialize_i128(value),
            },
            Core::Float(value) => serializer.serialize_f64(value),
            Core::Text(text) => serializer.serialize_str(text),
        }
    }
}
