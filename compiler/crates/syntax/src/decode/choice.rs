//! serde access to enumerations, and to choices with settings.

use serde::de::value::StrDeserializer;
use serde::de::{DeserializeSeed, Deserializer, EnumAccess, VariantAccess, Visitor};

use super::abbreviation::abbreviate;
use super::access::report_unknown_key;
use super::codes;
use super::constraints::DecodeProblem;
use super::cursor::Cursor;
use crate::diag::phrases;
use crate::node::{Entry, Scalar, Value};
use crate::schema;
use crate::yaml::core_schema::CoreValue;

/// The selected option and its settings.
pub(super) struct Choice<'de, 'p> {
    name: &'static str,
    cursor: Cursor<'de, 'p>,
    entry: Option<&'de Entry>,
}

/// The option that a node selects from a list of names. Problems are reported.
pub(super) fn choose<'de, 'p>(
    cursor: Cursor<'de, 'p>,
    names: &'static [&'static str],
) -> Option<Choice<'de, 'p>> {
    match &cursor.node.value {
        Value::Mapping(entries) => choose_by_key(cursor, entries, names),
        Value::Scalar(scalar) => choose_by_name(cursor, scalar, names),
        Value::Sequence(_) => {
            cursor.report_wrong_type(&codes::WRONG_TYPE, "one value", |builder| {
                let options = options(&cursor, names);
                builder.help(format!("write one of {options} instead of a list"))
            });
            None
        }
    }
}

/// The options as they are written, for a help.
fn options(cursor: &Cursor<'_, '_>, names: &[&str]) -> String {
    let path = cursor.path.to_string();
    let options = names.iter().map(|name| schema::option_syntax(&path, name));
    phrases::quoted_conjunction(&options.collect::<Vec<_>>(), "and")
}

fn choose_by_name<'de, 'p>(
    cursor: Cursor<'de, 'p>,
    scalar: &'de Scalar,
    names: &'static [&'static str],
) -> Option<Choice<'de, 'p>> {
    let text = match (scalar.core_value(), scalar) {
        (CoreValue::Null, _) => {
            cursor.report_wrong_type(&codes::WRONG_TYPE, "a value", |builder| {
                builder.help(format!("write one of {}", options(&cursor, names)))
            });
            return None;
        }
        (CoreValue::Text(text), _) => text,
        (_, Scalar::Written { text, .. }) => text.as_str(),
        _ => "",
    };
    if let Some(name) = names.iter().find(|name| **name == text) {
        let entry = None;
        return Some(Choice {
            name,
            cursor,
            entry,
        });
    }
    let near = phrases::closest_match(text, names.iter().copied());
    let message = format!(
        "unknown value `{}` for {}",
        abbreviate(text),
        cursor.path.quoted()
    );
    let known = phrases::quoted_conjunction(names, "and");
    cursor.reject(
        &codes::UNKNOWN_VALUE,
        message,
        "unknown value".to_owned(),
        |builder| match (near, names) {
            (_, [only]) => {
                cursor.with_fix(builder.help(format!("write `{only}`")), (*only).to_owned())
            }
            (Some(near), _) => {
                let help = format!("did you mean `{near}`? the values are {known}");
                cursor.with_fix(builder.help(help), near.to_owned())
            }
            (None, _) => builder.help(format!("the values are {known}")),
        },
    );
    None
}

fn choose_by_key<'de, 'p>(
    cursor: Cursor<'de, 'p>,
    entries: &'de [Entry],
    names: &'static [&'static str],
) -> Option<Choice<'de, 'p>> {
    let mut known: Vec<(&'static str, &'de Entry)> = Vec::new();
    for entry in entries {
        match names.iter().find(|name| **name == entry.key) {
            Some(name) => known.push((name, entry)),
            None => report_unknown_key(
                cursor,
                entry,
                (
                    phrases::closest_match(&entry.key, names.iter().copied()),
                    None,
                ),
                names,
            ),
        }
    }
    match known.as_slice() {
        [(name, entry)] => Some(Choice {
            name,
            cursor,
            entry: Some(entry),
        }),
        [] if !entries.is_empty() => {
            cursor.pass.poison(cursor.node.span());
            None
        }
        [] => {
            let message = format!("{} must have exactly one option", cursor.path.quoted());
            let help = format!("write one of {}", options(&cursor, names));
            cursor.reject(
                &codes::EXACTLY_ONE_REQUIRED,
                message,
                "no option is set".to_owned(),
                |builder| builder.help(help),
            );
            None
        }
        [(first, _), rest @ ..] => {
            let chosen: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
            let message = format!(
                "{} must have only one of {}",
                cursor.path.quoted(),
                phrases::quoted_conjunction(&chosen, "and")
            );
            cursor.reject(
                &codes::EXACTLY_ONE_REQUIRED,
                message,
                "only one option is allowed".to_owned(),
                |builder| {
                    let builder =
                        builder.label(known[0].1.key_span, format!("`{first}` is set here"));
                    let labelled = rest.iter().fold(builder, |builder, (name, entry)| {
                        builder.label(entry.key_span, format!("and `{name}` here"))
                    });
                    labelled.help("keep one of them")
                },
            );
            None
        }
    }
}

impl Choice<'_, '_> {
    /// Reports an option that requires settings but has none.
    fn report_missing_settings(&self) {
        let name = self.name;
        let message = format!(
            "`{name}` for {} must be a key with settings",
            self.cursor.path.quoted()
        );
        let label = format!("`{name}` is written without settings");
        let path = format!("{}.{name}", self.cursor.path);
        let written = schema::option_syntax(&self.cursor.path.to_string(), name);
        let help = if schema::required_keys(&path).is_empty() {
            format!("write `{written}`, or `{name}:` with nested settings")
        } else {
            format!("write its settings: `{written}`")
        };
        self.cursor
            .reject(&codes::EXACTLY_ONE_REQUIRED, message, label, |builder| {
                builder.help(help)
            });
    }
}

impl<'de> EnumAccess<'de> for Choice<'de, '_> {
    type Error = DecodeProblem;
    type Variant = Self;

    fn variant_seed<S: DeserializeSeed<'de>>(
        self,
        seed: S,
    ) -> Result<(S::Value, Self), DecodeProblem> {
        let name = seed.deserialize(StrDeserializer::<DecodeProblem>::new(self.name))?;
        Ok((name, self))
    }
}

impl<'de> VariantAccess<'de> for Choice<'de, '_> {
    type Error = DecodeProblem;

    fn unit_variant(self) -> Result<(), DecodeProblem> {
        if self.entry.is_some() {
            let name = self.name;
            let message = format!(
                "`{name}` for {} cannot have settings",
                self.cursor.path.quoted()
            );
            let here = format!("`{name}` is a plain value");
            self.cursor
                .reject(&codes::EXACTLY_ONE_REQUIRED, message, here, |builder| {
                    self.cursor.with_fix(
                        builder.help(format!("write `{name}` without settings")),
                        name.to_owned(),
                    )
                });
        }
        Ok(())
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(
        self,
        seed: S,
    ) -> Result<S::Value, DecodeProblem> {
        let Some(entry) = self.entry else {
            self.report_missing_settings();
            return seed.deserialize(self.cursor.pass.placeholder);
        };
        let path = self.cursor.path.with_key(&entry.key, entry.key_span);
        seed.deserialize(Cursor {
            node: &entry.value,
            path: &path,
            pass: self.cursor.pass,
        })
    }

    fn tuple_variant<V: Visitor<'de>>(
        self,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, DecodeProblem> {
        let Some(entry) = self.entry else {
            self.report_missing_settings();
            return self
                .cursor
                .pass
                .placeholder
                .deserialize_tuple(length, visitor);
        };
        let path = self.cursor.path.with_key(&entry.key, entry.key_span);
        let pass = self.cursor.pass;
        let node = &entry.value;
        Cursor {
            node,
            path: &path,
            pass,
        }
        .deserialize_tuple(length, visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DecodeProblem> {
        let Some(entry) = self.entry else {
            self.report_missing_settings();
            return self
                .cursor
                .pass
                .placeholder
                .deserialize_struct(self.name, fields, visitor);
        };
        let path = self.cursor.path.with_key(&entry.key, entry.key_span);
        let pass = self.cursor.pass;
        let node = &entry.value;
        Cursor {
            node,
            path: &path,
            pass,
        }
        .deserialize_struct(self.name, fields, visitor)
    }
}
