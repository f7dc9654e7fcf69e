//! Values of any type, made up, so that one bad node does not hide what is wrong with the others.

use serde::de::value::{MapDeserializer, StrDeserializer};
use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, IntoDeserializer, SeqAccess, VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;

use super::access::SpannedParts;
use super::learned::Problem;
use crate::source::Span;
use gpuc_schema::spanned::SPANNED;

/// What takes the place of what cannot be read. There are several, so that what is found with one and not with another
/// is known to speak of what was made up. Nothing and the empty list are the same in all of them.
#[derive(Clone, Copy, Debug, Default)]
pub enum Guess<'t> {
    /// 1, `1`, no, the first choice.
    #[default]
    Little,
    /// 2, `2`: several of what there may be one of; else a little.
    Several,
    /// As much as anybody may mean, yes, the last choice.
    Much,
    /// This text; else a little.
    Text(&'t str),
    /// The choice of this number; else a little.
    Choice(usize),
}

/// Makes up a value of whatever type is asked for.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MadeUp<'t>(pub(super) Guess<'t>);

impl MadeUp<'_> {
    fn of<T>(self, little: T, much: T) -> T {
        match self.0 {
            Guess::Much => much,
            _ => little,
        }
    }

    fn number(self, much: u64) -> u64 {
        match self.0 {
            Guess::Several => 2,
            _ => self.of(1, much),
        }
    }
}

impl IntoDeserializer<'_, Problem> for MadeUp<'_> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for MadeUp<'_> {
    type Error = Problem;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        match self.0 {
            Guess::Text(text) => visitor.visit_str(text),
            Guess::Several => visitor.visit_borrowed_str("2"),
            _ => visitor.visit_borrowed_str(self.of("1", "1000000")),
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        visitor.visit_bool(self.of(false, true))
    }

    fn deserialize_i8<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        visitor.visit_u64(self.number(100))
    }

    fn deserialize_i16<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        visitor.visit_u64(self.number(30_000))
    }

    fn deserialize_i32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        visitor.visit_u64(self.number(1_000_000))
    }

    fn deserialize_i64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        visitor.visit_u64(self.number(1_000_000))
    }

    fn deserialize_u8<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        visitor.visit_u64(self.number(200))
    }

    fn deserialize_u16<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        visitor.visit_u64(self.number(60_000))
    }

    fn deserialize_u32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        visitor.visit_u64(self.number(1_000_000))
    }

    fn deserialize_u64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        visitor.visit_u64(self.number(1_000_000))
    }

    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        visitor.visit_f64(self.of(1.0, 1e6))
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        visitor.visit_f64(self.of(1.0, 1e6))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        visitor.visit_none()
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        visitor.visit_unit()
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Problem> {
        visitor.visit_unit()
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Problem> {
        if name == SPANNED {
            return visitor.visit_seq(SpannedParts::new(Span::NONE, self));
        }
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        visitor.visit_seq(Repeated(0, self))
    }

    fn deserialize_tuple<V: Visitor<'de>>(
        self,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, Problem> {
        visitor.visit_seq(Repeated(length, self))
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, Problem> {
        visitor.visit_seq(Repeated(length, self))
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        self.deserialize_struct("", &[], visitor)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Problem> {
        let fields = fields.iter().map(|field| (*field, self));
        visitor.visit_map(MapDeserializer::new(fields))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Problem> {
        let choice = match self.0 {
            Guess::Choice(number) => variants.get(number % variants.len().max(1)),
            _ => self.of(variants.first(), variants.last()),
        };
        visitor.visit_enum(Chosen(choice.copied().unwrap_or_default(), self))
    }

    forward_to_deserialize_any! {
        i128 u128 char str string bytes byte_buf identifier ignored_any
    }
}

/// So many made-up values.
struct Repeated<'t>(usize, MadeUp<'t>);

impl<'de> SeqAccess<'de> for Repeated<'_> {
    type Error = Problem;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Problem> {
        let Some(left) = self.0.checked_sub(1) else {
            return Ok(None);
        };
        self.0 = left;
        seed.deserialize(self.1).map(Some)
    }
}

/// A choice.
struct Chosen<'t>(&'static str, MadeUp<'t>);

impl<'de, 't> EnumAccess<'de> for Chosen<'t> {
    type Error = Problem;
    type Variant = MadeUp<'t>;

    fn variant_seed<S: DeserializeSeed<'de>>(
        self,
        seed: S,
    ) -> Result<(S::Value, MadeUp<'t>), Problem> {
        let name = seed.deserialize(StrDeserializer::<Problem>::new(self.0))?;
        Ok((name, self.1))
    }
}

impl<'de> VariantAccess<'de> for MadeUp<'_> {
    type Error = Problem;

    fn unit_variant(self) -> Result<(), Problem> {
        Ok(())
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, Problem> {
        seed.deserialize(self)
    }

    fn tuple_variant<V: Visitor<'de>>(
        self,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, Problem> {
        visitor.visit_seq(Repeated(length, self))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Problem> {
        self.deserialize_struct("", fields, visitor)
    }
}
