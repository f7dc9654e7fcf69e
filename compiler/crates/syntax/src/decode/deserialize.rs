//! serde deserializer of one node.

use gpuc_schema::spanned::SPANNED;
use serde::de::{Deserializer, Expected, Visitor};

use super::access::{Items, Keys};
use super::constraints::{DecodeProblem, Shape};
use super::cursor::Cursor;
use super::spanned_parts::SpannedParts;
use super::{choice, codes};
use crate::node::Value;
use crate::yaml::core_schema::CoreValue;

impl<'de> Deserializer<'de> for Cursor<'de, '_> {
    type Error = DecodeProblem;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeProblem> {
        let shape = Shape::from_node(self.node);
        let expecting = (&visitor as &dyn Expected).to_string();
        if self.report_if_rejected() {
            return self.pass.placeholder.deserialize_any(visitor);
        }
        if self.pass.constraints.rejects_shape(&expecting, shape) {
            self.report_wrong_type(&codes::WRONG_TYPE, &expecting, |builder| {
                self.with_single_value_help(builder)
            });
            return self.pass.placeholder.deserialize_any(visitor);
        }
        let value = match &self.node.value {
            Value::Sequence(items) => visitor.visit_seq(Items::new(self, items)),
            Value::Mapping(entries) => visitor.visit_map(Keys::new(self, entries, None)),
            Value::Scalar(scalar) => match scalar.core_value() {
                CoreValue::Null => visitor.visit_unit(),
                CoreValue::Bool(value) => visitor.visit_bool(value),
                // A number that is too large is kept as text.
                CoreValue::Float(value) if !value.is_finite() => {
                    visitor.visit_borrowed_str(self.node.text().unwrap_or_default())
                }
                CoreValue::Float(value) => visitor.visit_f64(value),
                CoreValue::Text(text) => visitor.visit_borrowed_str(text),
                CoreValue::Integer(value) => match (u64::try_from(value), i64::try_from(value)) {
                    (Ok(value), _) => visitor.visit_u64(value),
                    (_, Ok(value)) => visitor.visit_i64(value),
                    _ => visitor.visit_i128(value),
                },
            },
        };
        self.attach_node(value)
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeProblem> {
        match self.expect_bool() {
            Some(value) => self.attach_node(visitor.visit_bool(value)),
            None => self.pass.placeholder.deserialize_bool(visitor),
        }
    }

    fn deserialize_i8<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeProblem> {
        match self.expect_integer(i8::MIN, i8::MAX) {
            Some(value) => self.attach_node(visitor.visit_i8(value)),
            None => self.pass.placeholder.deserialize_i8(visitor),
        }
    }

    fn deserialize_i16<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeProblem> {
        match self.expect_integer(i16::MIN, i16::MAX) {
            Some(value) => self.attach_node(visitor.visit_i16(value)),
            None => self.pass.placeholder.deserialize_i16(visitor),
        }
    }

    fn deserialize_i32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeProblem> {
        match self.expect_integer(i32::MIN, i32::MAX) {
            Some(value) => self.attach_node(visitor.visit_i32(value)),
            None => self.pass.placeholder.deserialize_i32(visitor),
        }
    }

    fn deserialize_i64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeProblem> {
        match self.expect_integer(i64::MIN, i64::MAX) {
            Some(value) => self.attach_node(visitor.visit_i64(value)),
            None => self.pass.placeholder.deserialize_i64(visitor),
        }
    }

    fn deserialize_u8<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeProblem> {
        match self.expect_integer(u8::MIN, u8::MAX) {
            Some(value) => self.attach_node(visitor.visit_u8(value)),
            None => self.pass.placeholder.deserialize_u8(visitor),
        }
    }

    fn deserialize_u16<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeProblem> {
        match self.expect_integer(u16::MIN, u16::MAX) {
            Some(value) => self.attach_node(visitor.visit_u16(value)),
            None => self.pass.placeholder.deserialize_u16(visitor),
        }
    }

    fn deserialize_u32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeProblem> {
        match self.expect_integer(u32::MIN, u32::MAX) {
            Some(value) => self.attach_node(visitor.visit_u32(value)),
            None => self.pass.placeholder.deserialize_u32(visitor),
        }
    }

    fn deserialize_u64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeProblem> {
        match self.expect_integer(u64::MIN, u64::MAX) {
            Some(value) => self.attach_node(visitor.visit_u64(value)),
            None => self.pass.placeholder.deserialize_u64(visitor),
        }
    }

    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeProblem> {
        self.deserialize_f64(visitor)
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeProblem> {
        match self.expect_float() {
            Some(value) => self.attach_node(visitor.visit_f64(value)),
            None => self.pass.placeholder.deserialize_f64(visitor),
        }
    }

    fn deserialize_char<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeProblem> {
        self.deserialize_str(visitor)
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeProblem> {
        match self.expect_string() {
            Some(text) => self.attach_node(visitor.visit_borrowed_str(text)),
            None => self.pass.placeholder.deserialize_str(visitor),
        }
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeProblem> {
        self.deserialize_str(visitor)
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeProblem> {
        self.deserialize_str(visitor)
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeProblem> {
        self.deserialize_str(visitor)
    }

    fn deserialize_identifier<V: Visitor<'de>>(
        self,
        visitor: V,
    ) -> Result<V::Value, DecodeProblem> {
        self.deserialize_str(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeProblem> {
        match self.core_value() {
            Some(CoreValue::Null) => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeProblem> {
        if self.core_value() != Some(CoreValue::Null) {
            self.report_wrong_type(&codes::WRONG_TYPE, "null", |builder| builder);
        }
        visitor.visit_unit()
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, DecodeProblem> {
        self.deserialize_unit(visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, DecodeProblem> {
        if name == SPANNED {
            return visitor.visit_seq(SpannedParts::new(self.node.span(), self));
        }
        self.attach_node(visitor.visit_newtype_struct(self))
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeProblem> {
        match self.expect_list() {
            Some(items) => self.attach_node(visitor.visit_seq(items)),
            None => self.pass.placeholder.deserialize_seq(visitor),
        }
    }

    fn deserialize_tuple<V: Visitor<'de>>(
        self,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, DecodeProblem> {
        match self.expect_list() {
            Some(items) => self.attach_node(visitor.visit_seq(items)),
            None => self.pass.placeholder.deserialize_tuple(length, visitor),
        }
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, DecodeProblem> {
        self.deserialize_tuple(length, visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeProblem> {
        match self.expect_mapping(None) {
            Some(keys) => self.attach_node(visitor.visit_map(keys)),
            None => self.pass.placeholder.deserialize_map(visitor),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DecodeProblem> {
        match self.expect_mapping(Some(fields)) {
            Some(keys) => self.attach_node(
                visitor
                    .visit_map(keys)
                    .map_err(|problem: DecodeProblem| problem.with_required_by(fields)),
            ),
            None => self
                .pass
                .placeholder
                .deserialize_struct(name, fields, visitor),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DecodeProblem> {
        if self.report_if_rejected() {
            return self
                .pass
                .placeholder
                .deserialize_enum(name, variants, visitor);
        }
        match choice::choose(self, variants) {
            Some(choice) => self.attach_node(visitor.visit_enum(choice)),
            None => self
                .pass
                .placeholder
                .deserialize_enum(name, variants, visitor),
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(
        self,
        visitor: V,
    ) -> Result<V::Value, DecodeProblem> {
        visitor.visit_unit()
    }
}
