//! Values that remember where they were written.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;

use serde::de::{self, Deserialize, Deserializer, SeqAccess, Visitor};
use serde::ser::{Serialize, Serializer};

/// The newtype name by which a deserializer recognises that a value's place is asked for.
///
/// It answers with the sequence `[source, start, end, value]`; any other deserializer passes the value alone.
pub const SPANNED: &str = "$gpuc::Spanned";

/// A range of bytes in one of the files that a run has read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    /// Which file, by its number in the run.
    pub source: u32,
    /// The first byte.
    pub start: u32,
    /// The byte after the last.
    pub end: u32,
}

impl Span {
    /// The place of what nobody wrote: a default, or a value made up for a part that could not be read.
    pub const NONE: Self = Self {
        source: u32::MAX,
        start: 0,
        end: 0,
    };

    /// Whether somebody wrote this.
    pub fn is_written(self) -> bool {
        self.source != u32::MAX
    }

    /// Whether another place lies in this one, or is this one.
    pub fn contains(self, other: Self) -> bool {
        self.source == other.source && self.start <= other.start && other.end <= self.end
    }

    /// The empty place at this one's start.
    #[must_use]
    pub fn head(self) -> Self {
        Self {
            end: self.start,
            ..self
        }
    }
}

/// A value and where it was written.
///
/// Two of them are equal when their values are: where something stands does not change what it means.
#[derive(Clone, Copy, Debug)]
pub struct Spanned<T> {
    /// The value itself.
    pub value: T,
    /// Where it was written; [`Span::NONE`] for a default.
    pub span: Span,
}

impl<T> Spanned<T> {
    /// A value at a place.
    pub fn new(value: T, span: Span) -> Self {
        Self { value, span }
    }

    /// A value that nobody wrote.
    pub fn unwritten(value: T) -> Self {
        Self::new(value, Span::NONE)
    }

    /// Another value at the same place.
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
        Self::unwritten(T::default())
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

    fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<Self::Value, A::Error> {
        fn part<'de, A: SeqAccess<'de>, U: Deserialize<'de>>(parts: &mut A) -> Result<U, A::Error> {
            parts
                .next_element()?
                .ok_or_else(|| de::Error::custom("a spanned value has four parts"))
        }
        let span = Span {
            source: part(&mut parts)?,
            start: part(&mut parts)?,
            end: part(&mut parts)?,
        };
        Ok(Spanned::new(part(&mut parts)?, span))
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(
        self,
        deserializer: D,
    ) -> Result<Self::Value, D::Error> {
        T::deserialize(deserializer).map(Spanned::unwritten)
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
