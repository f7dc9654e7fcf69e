//! Placeholders of any type, so that one invalid node does not hide problems of other nodes.

use gpuc_schema::spanned::SPANNED;
use serde::de::value::{MapDeserializer, StrDeserializer};
use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, IntoDeserializer, SeqAccess, VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;

use super::constraints::DecodeProblem;
use super::spanned_parts::SpannedParts;
use crate::source::Span;

/// A kind of placeholder. A diagnostic that appears with one kind but not with another is caused by the placeholder.
/// Null and the empty list are the same for all kinds.
#[derive(Clone, Copy, Debug, Default)]
pub enum PlaceholderKind<'t> {
    /// 1, `1`, `false`, the first option.
    #[default]
    Smallest,
    /// 2, `2`; otherwise as the smallest kind.
    Several,
    /// A very large number, `true`, the last option.
    Largest,
    /// This string; otherwise as the smallest kind.
    Text(&'t str),
    /// The option with this index; otherwise as the smallest kind.
    Choice(usize),
}

/// Creates a placeholder of the requested type.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Placeholder<'t>(pub(super) PlaceholderKind<'t>);

impl Placeholder<'_> {
    fn pick<T>(self, smallest: T, largest: T) -> T {
        match self.0 {
            PlaceholderKind::Largest => largest,
            _ => smallest,
        }
    }

    fn number(self, much: u64) -> u64 {
        match self.0 {
            PlaceholderKind::Several => 2,
            _ => self.pick(1, much),
        }
    }
}

impl IntoDeserializer<'_, DecodeProblem> for Placeholder<'_> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for Placeholder<'_> {
    type Error = DecodeProblem;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeProblem> {
        match self.0 {
            PlaceholderKind::Text(text) => visitor.visit_str(text),
            PlaceholderKind::Several => visitor.visit_borrowed_str("2"),
            _ => visitor.visit_borrowed_str(self.pick("1", "1000000")),
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeProblem> {
        visitor.visit_bool(self.pick(false, true))
    }

    fn deserialize_i8<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeProblem> {
        visitor.visit_u64(self.number(100))
    }

    fn deserialize_i16<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeProblem> {
        visitor.visit_u64(self.number(30_000))
    }

    fn deserialize_i32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeProblem> {
        visitor.visit_u64(self.number(1_000_000))
    }

    fn deserialize_i64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeProblem> {
        visitor.visit_u64(self.number(1_000_000))
    }

    fn deserialize_u8<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeProblem> {
        visitor.visit_u64(self.number(200))
    }

    fn deserialize_u16<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeProblem> {
        visitor.visit_u64(self.number(60_000))
    }

    fn deserialize_u32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeProblem> {
        visitor.visit_u64(self.number(1_000_000))
    }

    fn deserialize_u64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeProblem> {
        visitor.visit_u64(self.number(1_000_000))
    }

    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeProblem> {
        visitor.visit_f64(self.pick(1.0, 1e6))
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeProblem> {
        visitor.visit_f64(self.pick(1.0, 1e6))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeProblem> {
        visitor.visit_none()
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeProblem> {
        visitor.visit_unit()
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, DecodeProblem> {
        visitor.visit_unit()
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, DecodeProblem> {
        if name == SPANNED {
            return visitor.visit_seq(SpannedParts::new(Span::NONE, self));
        }
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeProblem> {
        visitor.visit_seq(RepeatedPlaceholder(0, self))
    }

    fn deserialize_tuple<V: Visitor<'de>>(
        self,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, DecodeProblem> {
        visitor.visit_seq(RepeatedPlaceholder(length, self))
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, DecodeProblem> {
        visitor.visit_seq(RepeatedPlaceholder(length, self))
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeProblem> {
        self.deserialize_struct("", &[], visitor)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DecodeProblem> {
        let fields = fields.iter().map(|field| (*field, self));
        visitor.visit_map(MapDeserializer::new(fields))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DecodeProblem> {
        let choice = match self.0 {
            PlaceholderKind::Choice(number) => variants.get(number % variants.len().max(1)),
            _ => self.pick(variants.first(), variants.last()),
        };
        visitor.visit_enum(ChosenPlaceholder(choice.copied().unwrap_or_default(), self))
    }

    forward_to_deserialize_any! {
        i128 u128 char str string bytes byte_buf identifier ignored_any
    }
}

/// A number of placeholders.
struct RepeatedPlaceholder<'t>(usize, Placeholder<'t>);

impl<'de> SeqAccess<'de> for RepeatedPlaceholder<'_> {
    type Error = DecodeProblem;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, DecodeProblem> {
        let Some(remaining) = self.0.checked_sub(1) else {
            return Ok(None);
        };
        self.0 = remaining;
        seed.deserialize(self.1).map(Some)
    }
}

/// A placeholder for a choice.
struct ChosenPlaceholder<'t>(&'static str, Placeholder<'t>);

impl<'de, 't> EnumAccess<'de> for ChosenPlaceholder<'t> {
    type Error = DecodeProblem;
    type Variant = Placeholder<'t>;

    fn variant_seed<S: DeserializeSeed<'de>>(
        self,
        seed: S,
    ) -> Result<(S::Value, Placeholder<'t>), DecodeProblem> {
        let name = seed.deserialize(StrDeserializer::<DecodeProblem>::new(self.0))?;
        Ok((name, self.1))
    }
}

impl<'de> VariantAccess<'de> for Placeholder<'_> {
    type Error = DecodeProblem;

    fn unit_variant(self) -> Result<(), DecodeProblem> {
        Ok(())
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(
        self,
        seed: S,
    ) -> Result<S::Value, DecodeProblem> {
        seed.deserialize(self)
    }

    fn tuple_variant<V: Visitor<'de>>(
        self,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, DecodeProblem> {
        visitor.visit_seq(RepeatedPlaceholder(length, self))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DecodeProblem> {
        self.deserialize_struct("", fields, visitor)
    }
}
