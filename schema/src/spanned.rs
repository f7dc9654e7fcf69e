//! Values with source locations.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;

use serde::de::{self, Deserialize, Deserializer, SeqAccess, Visitor};
use serde::ser::{Serialize, Serializer};

/// The newtype name by which a deserializer recognizes a request for a value's span. The deserializer answers with the
/// sequence `[source, start, end, value]`; any other deserializer passes only the value.
pub const SPANNED: &str = "$gpuc::Spanned";

/// A range of bytes in a source file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    /// The number of the source file.
    pub source: u32,
    /// The first byte.
    pub start: u32,
    /// The byte after the last.
    pub end: u32,
}

impl Span {
    /// The span of a value that is not in a file: a default, or a placeholder for a value that could not be decoded.
    pub const NONE: Self = Self {
        source: u32::MAX,
        start: 0,
        end: 0,
    };

    /// Whether the value is written in a file.
    pub fn is_written(self) -> bool {
        self.source != u32::MAX
    }

    /// Whether this span contains `other` or equals it.
    pub fn contains(self, other: Self) -> bool {
        self.source == other.source && self.start <= other.start && other.end <= self.end
    }

    /// The empty span at the start of this one.
    #[must_use]
    pub fn empty_at_start(self) -> Self {
        Self {
            end: self.start,
            ..self
        }
    }
}

/// A value and its source location. Two of them are equal if their values are; spans are ignored.
#[derive(Clone, Copy, Debug)]
pub struct Spanned<T> {
    /// The value itself.
    pub value: T,
    /// The location of the value; [`Span::NONE`] for a default.
    pub span: Span,
}

impl<T> Spanned<T> {
    /// A value with a span.
    pub fn new(value: T, span: Span) -> Self {
        Self { value, span }
    }

    /// A value without a location.
    pub fn without_span(value: T) -> Self {
        Self::new(value, Span::NONE)
    }

    /// Maps the value and keeps the span.
    pub fn map<U>(self, f: impl FnOnce(T) -> U) -> Spanned<U> {
        Spanned::new(f(self.value), self.span)
    }
}

impl<T> Deref for Spanned<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T: PartialEq> PartialEq for Spanned<T> {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}

impl<T: Eq> Eq for Spanned<T> {}

impl<T: PartialOrd> PartialOrd for Spanned<T> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        self.value.partial_cmp(&other.value)
    }
}

impl<T: Ord> Ord for Spanned<T> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.value.cmp(&other.value)
    }
}

impl<T: Default> Default for Spanned<T> {
    fn default() -> Self {
        Self::without_span(T::default())
    }
}

impl<T: fmt::Display> fmt::Display for Spanned<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.fmt(f)
    }
}

impl<T: Serialize> Serialize for Spanned<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.value.serialize(serializer)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Spanned<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_newtype_struct(SPANNED, SpannedVisitor(PhantomData))
    }
}

struct SpannedVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for SpannedVisitor<T> {
    type Value = Spanned<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Self::Value, A::Error> {
        fn next_field<'de, A: SeqAccess<'de>, U: Deserialize<'de>>(
            sequence: &mut A,
        ) -> Result<U, A::Error> {
            sequence
                .next_element()?
                .ok_or_else(|| de::Error::custom("a spanned value has four parts"))
        }
        let span = Span {
            source: next_field(&mut sequence)?,
            start: next_field(&mut sequence)?,
            end: next_field(&mut sequence)?,
        };
        Ok(Spanned::new(next_field(&mut sequence)?, span))
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(
        self,
        deserializer: D,
    ) -> Result<Self::Value, D::Error> {
        T::deserialize(deserializer).map(Spanned::without_span)
    }
}

impl<T: schemars::JsonSchema> schemars::JsonSchema for Spanned<T> {
    fn inline_schema() -> bool {
        T::inline_schema()
    }

    fn schema_name() -> Cow<'static, str> {
        T::schema_name()
    }

    fn schema_id() -> Cow<'static, str> {
        T::schema_id()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        T::json_schema(generator)
    }
}
