//! serde's view of one node.

use std::fmt;

use serde::de::{Deserializer, Expected, Visitor};

use super::access::{Items, Keys, SpannedParts};
use super::choice;
use super::codes;
use super::learned::{Problem, Shape, written};
use super::made_up::MadeUp;
use super::path::Path;
use super::run::{Finding, Run, short};
use crate::diag::{Code, Draft};
use crate::node::{Node, Origin, Scalar, Value};
use crate::source::Span;
use crate::yaml::core_schema::{Core, read};
use gpuc_schema::spanned::SPANNED;

/// A node, where it stands, and the pass that looks at it.
#[derive(Clone, Copy)]
pub(super) struct Cursor<'de, 'p> {
    pub(super) node: &'de Node,
    pub(super) path: &'p Path<'p>,
    pub(super) run: &'p Run<'p>,
}

impl<'de> Cursor<'de, '_> {
    /// Where the node was written, wherever an alias may have brought it.
    pub(super) fn written(&self) -> Span {
        match self.node.origin {
            Origin::Written { span, .. } => span,
            _ => self.node.span(),
        }
    }

    /// Notes that the node is not what is needed here, and that a made-up value takes its place.
    pub(super) fn wrong(
        &self,
        code: &'static Code,
        needed: &str,
        more: impl FnOnce(Draft<'_>) -> Draft<'_>,
    ) {
        let path = self.path.quoted();
        let found = describe(self.node);
        self.reject(
            code,
            format!("{path} needs {needed}, not {found}"),
            format!("expected {needed}"),
            more,
        );
    }

    /// Notes what is wrong with the node, and that a made-up value takes its place.
    pub(super) fn reject(
        &self,
        code: &'static Code,
        message: String,
        here: String,
        more: impl FnOnce(Draft<'_>) -> Draft<'_>,
    ) {
        let finding = Finding {
            code,
            span: self.node.span(),
            written: self.written(),
            message,
            here,
        };
        self.run.note(finding, more);
        self.run.poison(self.node.span());
    }

    /// Replaces the node in a finding's fix, unless an alias brought it: then other places would change too.
    pub(super) fn mend<'d>(&self, draft: Draft<'d>, text: String) -> Draft<'d> {
        if self.written() == self.node.span() {
            draft.replace(self.node.span(), text)
        } else {
            draft
        }
    }

    /// Whether the node's type has refused its very value. That is noted.
    fn is_unfit(&self) -> bool {
        let Some(message) = self.run.learned.unfit(self.node) else {
            return false;
        };
        let text = format!("{}: {}", self.path.quoted(), short(message));
        self.reject(&codes::WRONG_TYPE, text, String::new(), |draft| draft);
        true
    }

    /// Says of an error that this node is its reason, unless one inside of it is.
    fn at<T>(&self, value: Result<T, Problem>) -> Result<T, Problem> {
        value.map_err(|problem| problem.at(self.node))
    }

    fn core(&self) -> Option<Core<'de>> {
        match &self.node.value {
            Value::Scalar(scalar) => Some(scalar.core()),
            _ => None,
        }
    }

    fn integer<N>(&self, least: N, most: N) -> Option<N>
    where
        N: TryFrom<i128> + fmt::Display,
    {
        if self.is_unfit() {
            return None;
        }
        if let Some(text) = written(self.node)
            && let Some((decimal, octal)) = two_readings(text)
        {
            self.wrong(&codes::WRONG_TYPE, "a whole number", |draft| {
                draft.help(format!(
                    "YAML 1.2 reads it as {decimal} and YAML 1.1 as {octal}: write `{decimal}`, or `0o{}` for {octal}",
                    text.trim_start_matches('0')
                ))
            });
            return None;
        }
        let Some(Core::Integer(number)) = self.core() else {
            self.no_integer();
            return None;
        };
        let fits = N::try_from(number).ok();
        if fits.is_none() {
            let needed = format!("a whole number from {least} to {most}");
            self.wrong(&codes::NUMBER_OUT_OF_RANGE, &needed, |draft| draft);
        }
        fits
    }

    /// Notes that the node is no whole number.
    fn no_integer(&self) {
        let meant = match (&self.node.value, self.core()) {
            #[expect(
                clippy::cast_possible_truncation,
                reason = "compared with the original below"
            )]
            (_, Some(Core::Float(number))) if number.fract() == 0.0 && number.abs() < 1e15 => {
                Some((number as i64).to_string())
            }
            (Value::Scalar(Scalar::Written { text, .. }), Some(Core::Text(_))) => {
                let digits = text.replace(['_', ',', ' '], "");
                matches!(read(&digits, true), Core::Integer(_)).then_some(digits)
            }
            _ => None,
        };
        self.wrong(&codes::WRONG_TYPE, "a whole number", |draft| match meant {
            Some(meant) => {
                let draft = draft.help(format!("write `{meant}`"));
                self.mend(draft, meant)
            }
            None => self.one_value(draft),
        });
    }

    fn float(&self) -> Option<f64> {
        if self.is_unfit() {
            return None;
        }
        match self.core() {
            Some(Core::Float(number)) if number.is_finite() => Some(number),
            #[expect(
                clippy::cast_precision_loss,
                reason = "that is what a float is asked for"
            )]
            Some(Core::Integer(number)) => Some(number as f64),
            Some(Core::Text(text))
                if matches!(read(text, true), Core::Integer(_) | Core::Float(_)) =>
            {
                self.wrong(&codes::WRONG_TYPE, "a number", |draft| {
                    let draft = draft.help(format!("write `{}` without quotes", short(text)));
                    self.mend(draft, text.to_owned())
                });
                None
            }
            _ => {
                self.wrong(&codes::WRONG_TYPE, "a number", |draft| {
                    self.one_value(draft)
                });
                None
            }
        }
    }

    fn boolean(&self) -> Option<bool> {
        if self.is_unfit() {
            return None;
        }
        let text = match self.core() {
            Some(Core::Bool(value)) => return Some(value),
            Some(Core::Text(text)) => text.to_lowercase(),
            _ => String::new(),
        };
        let meant = match text.as_str() {
            "yes" | "on" | "y" | "true" | "enabled" => Some("true"),
            "no" | "off" | "n" | "false" | "disabled" => Some("false"),
            _ => None,
        };
        self.wrong(
            &codes::WRONG_TYPE,
            "`true` or `false`",
            |draft| match meant {
                Some(meant) => self.mend(draft.help(format!("write `{meant}`")), meant.to_owned()),
                None => self.one_value(draft),
            },
        );
        None
    }

    fn string(&self) -> Option<&'de str> {
        if self.is_unfit() {
            return None;
        }
        match self.core() {
            Some(Core::Text(text)) => return Some(text),
            Some(Core::Null) | None => {
                self.wrong(&codes::WRONG_TYPE, "text", |draft| self.one_value(draft));
            }
            Some(_) => self.wrong(&codes::WRONG_TYPE, "text", |draft| {
                match written(self.node) {
                    Some(text) => {
                        let quoted = format!("\"{text}\"");
                        self.mend(draft.help(format!("quote it: `{quoted}`")), quoted)
                    }
                    None => draft,
                }
            }),
        }
        None
    }

    /// The help for a list or nothing where one value is needed.
    fn one_value<'d>(&self, draft: Draft<'d>) -> Draft<'d> {
        match &self.node.value {
            Value::Sequence(items) => match items.as_slice() {
                [item] => match item.text() {
                    Some(text) => {
                        draft.help(format!("write `{}` alone, not as a list", short(text)))
                    }
                    None => draft.help("write one value, not a list"),
                },
                _ => draft.help("write one value, not a list"),
            },
            Value::Scalar(scalar) if scalar.core() == Core::Null => {
                draft.help("write a value, or leave the key out if it is not needed")
            }
            _ => draft,
        }
    }

    fn keys(&self, fields: Option<&'static [&'static str]>) -> Option<Keys<'de, '_>> {
        if self.is_unfit() {
            return None;
        }
        if let Value::Mapping(entries) = &self.node.value {
            return Some(Keys::new(*self, entries, fields));
        }
        self.wrong(&codes::WRONG_TYPE, "a mapping", |draft| {
            match &self.node.value {
                Value::Scalar(scalar) if scalar.core() == Core::Null => draft.help(
                    "write its keys indented below, `{}` for none of them, or leave the key out",
                ),
                Value::Sequence(_) => draft.help("write its keys without `-`"),
                Value::Scalar(_) | Value::Mapping(_) => match fields {
                    Some(fields) if !fields.is_empty() => {
                        let known = super::suggest::list(fields, "and");
                        draft.help(format!("its keys are {known}"))
                    }
                    _ => draft,
                },
            }
        });
        None
    }

    fn list(&self) -> Option<Items<'de, '_>> {
        if self.is_unfit() {
            return None;
        }
        match &self.node.value {
            Value::Sequence(items) => return Some(Items::new(*self, items)),
            Value::Scalar(scalar) if scalar.core() == Core::Null => {
                self.wrong(&codes::WRONG_TYPE, "a list", |draft| {
                    draft.help("write `[]` for an empty list, or leave the key out")
                });
            }
            Value::Scalar(_) => self.wrong(&codes::WRONG_TYPE, "a list", |draft| {
                match written(self.node) {
                    Some(text)
                        if text
                            .chars()
                            .all(|c| c.is_ascii_alphanumeric() || "-_./".contains(c)) =>
                    {
                        self.mend(
                            draft.help(format!("write `[{}]`", short(text))),
                            format!("[{text}]"),
                        )
                    }
                    _ => draft.help("put it in `[` and `]`"),
                }
            }),
            Value::Mapping(_) => self.wrong(&codes::WRONG_TYPE, "a list", |draft| {
                draft.help("start each item with `- `")
            }),
        }
        None
    }
}

/// A leading zero: what YAML 1.2 and YAML 1.1 make of it, if that differs.
fn two_readings(text: &str) -> Option<(u64, u64)> {
    let digits = text.strip_prefix('0')?;
    let octal = u64::from_str_radix(digits, 8).ok()?;
    let decimal = digits.parse().ok()?;
    let plain = digits.bytes().all(|byte| byte.is_ascii_digit());
    (plain && octal != decimal).then_some((decimal, octal))
}

/// A node in a few words.
fn describe(node: &Node) -> String {
    match &node.value {
        Value::Sequence(_) => "a list".to_owned(),
        Value::Mapping(_) => "a mapping".to_owned(),
        Value::Scalar(scalar) => match (scalar.core(), scalar) {
            (Core::Null, _) => "nothing".to_owned(),
            (Core::Text(text), _) => format!("the text `{}`", short(text)),
            (_, Scalar::Written { text, .. }) => format!("`{}`", short(text)),
            (Core::Bool(value), _) => format!("`{value}`"),
            (Core::Integer(value), _) => format!("`{value}`"),
            (Core::Float(value), _) => format!("`{value}`"),
        },
    }
}

impl<'de> Deserializer<'de> for Cursor<'de, '_> {
    type Error = Problem;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        let shape = Shape::of(self.node);
        let expecting = (&visitor as &dyn Expected).to_string();
        if self.is_unfit() {
            return MadeUp.deserialize_any(visitor);
        }
        if self.run.learned.refuses(&expecting, shape) {
            self.wrong(&codes::WRONG_TYPE, &expecting, |draft| {
                self.one_value(draft)
            });
            return MadeUp.deserialize_any(visitor);
        }
        let value = match &self.node.value {
            Value::Sequence(items) => visitor.visit_seq(Items::new(self, items)),
            Value::Mapping(entries) => visitor.visit_map(Keys::new(self, entries, None)),
            Value::Scalar(scalar) => match scalar.core() {
                Core::Null => visitor.visit_unit(),
                Core::Bool(value) => visitor.visit_bool(value),
                Core::Float(value) => visitor.visit_f64(value),
                Core::Text(text) => visitor.visit_borrowed_str(text),
                Core::Integer(value) => match (u64::try_from(value), i64::try_from(value)) {
                    (Ok(value), _) => visitor.visit_u64(value),
                    (_, Ok(value)) => visitor.visit_i64(value),
                    _ => visitor.visit_i128(value),
                },
            },
        };
        self.at(value)
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        match self.boolean() {
            Some(value) => self.at(visitor.visit_bool(value)),
            None => MadeUp.deserialize_bool(visitor),
        }
    }

    fn deserialize_i8<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        match self.integer(i8::MIN, i8::MAX) {
            Some(value) => self.at(visitor.visit_i8(value)),
            None => MadeUp.deserialize_i8(visitor),
        }
    }

    fn deserialize_i16<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        match self.integer(i16::MIN, i16::MAX) {
            Some(value) => self.at(visitor.visit_i16(value)),
            None => MadeUp.deserialize_i16(visitor),
        }
    }

    fn deserialize_i32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        match self.integer(i32::MIN, i32::MAX) {
            Some(value) => self.at(visitor.visit_i32(value)),
            None => MadeUp.deserialize_i32(visitor),
        }
    }

    fn deserialize_i64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        match self.integer(i64::MIN, i64::MAX) {
            Some(value) => self.at(visitor.visit_i64(value)),
            None => MadeUp.deserialize_i64(visitor),
        }
    }

    fn deserialize_u8<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        match self.integer(u8::MIN, u8::MAX) {
            Some(value) => self.at(visitor.visit_u8(value)),
            None => MadeUp.deserialize_u8(visitor),
        }
    }

    fn deserialize_u16<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        match self.integer(u16::MIN, u16::MAX) {
            Some(value) => self.at(visitor.visit_u16(value)),
            None => MadeUp.deserialize_u16(visitor),
        }
    }

    fn deserialize_u32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        match self.integer(u32::MIN, u32::MAX) {
            Some(value) => self.at(visitor.visit_u32(value)),
            None => MadeUp.deserialize_u32(visitor),
        }
    }

    fn deserialize_u64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        match self.integer(u64::MIN, u64::MAX) {
            Some(value) => self.at(visitor.visit_u64(value)),
            None => MadeUp.deserialize_u64(visitor),
        }
    }

    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        self.deserialize_f64(visitor)
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        match self.float() {
            Some(value) => self.at(visitor.visit_f64(value)),
            None => MadeUp.deserialize_f64(visitor),
        }
    }

    fn deserialize_char<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        self.deserialize_str(visitor)
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        match self.string() {
            Some(text) => self.at(visitor.visit_borrowed_str(text)),
            None => MadeUp.deserialize_str(visitor),
        }
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        self.deserialize_str(visitor)
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        self.deserialize_str(visitor)
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        self.deserialize_str(visitor)
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        self.deserialize_str(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        match self.core() {
            Some(Core::Null) => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        if self.core() != Some(Core::Null) {
            self.wrong(&codes::WRONG_TYPE, "nothing", |draft| draft);
        }
        visitor.visit_unit()
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Problem> {
        self.deserialize_unit(visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Problem> {
        if name == SPANNED {
            return visitor.visit_seq(SpannedParts::new(self.node.span(), self));
        }
        self.at(visitor.visit_newtype_struct(self))
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        match self.list() {
            Some(items) => self.at(visitor.visit_seq(items)),
            None => MadeUp.deserialize_seq(visitor),
        }
    }

    fn deserialize_tuple<V: Visitor<'de>>(
        self,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, Problem> {
        match self.list() {
            Some(items) => self.at(visitor.visit_seq(items)),
            None => MadeUp.deserialize_tuple(length, visitor),
        }
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, Problem> {
        self.deserialize_tuple(length, visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        match self.keys(None) {
            Some(keys) => self.at(visitor.visit_map(keys)),
            None => MadeUp.deserialize_map(visitor),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Problem> {
        match self.keys(Some(fields)) {
            Some(keys) => self.at(visitor
                .visit_map(keys)
                .map_err(|problem: Problem| problem.needed_by(fields))),
            None => MadeUp.deserialize_struct(name, fields, visitor),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Problem> {
        if self.is_unfit() {
            return MadeUp.deserialize_enum(name, variants, visitor);
        }
        match choice::choose(self, variants) {
            Some(choice) => self.at(visitor.visit_enum(choice)),
            None => MadeUp.deserialize_enum(name, variants, visitor),
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        visitor.visit_unit()
    }
}
