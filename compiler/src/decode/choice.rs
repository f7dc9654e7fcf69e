//! serde's view of names out of a list, and of one of several things chosen by its key.

use serde::de::value::StrDeserializer;
use serde::de::{DeserializeSeed, Deserializer, EnumAccess, VariantAccess, Visitor};

use super::access::unknown_key;
use super::codes;
use super::cursor::Cursor;
use super::learned::Problem;
use super::run::short;
use crate::diag::words;
use crate::node::{Entry, Scalar, Value};
use crate::yaml::core_schema::Core;

/// What was chosen, and the settings that were written with it.
pub(super) struct Choice<'de, 'p> {
    name: &'static str,
    of: Cursor<'de, 'p>,
    entry: Option<&'de Entry>,
}

/// What a node chooses out of a list of names. What is wrong with it is noted.
pub(super) fn choose<'de, 'p>(
    of: Cursor<'de, 'p>,
    names: &'static [&'static str],
) -> Option<Choice<'de, 'p>> {
    match &of.node.value {
        Value::Mapping(entries) => by_key(of, entries, names),
        Value::Scalar(scalar) => by_name(of, scalar, names),
        Value::Sequence(_) => {
            of.wrong(&codes::WRONG_TYPE, "one value", |draft| {
                draft.help(format!(
                    "write one of {}, not a list",
                    words::all(names, "and")
                ))
            });
            None
        }
    }
}

fn by_name<'de, 'p>(
    of: Cursor<'de, 'p>,
    scalar: &'de Scalar,
    names: &'static [&'static str],
) -> Option<Choice<'de, 'p>> {
    let text = match (scalar.core(), scalar) {
        (Core::Null, _) => {
            of.wrong(&codes::WRONG_TYPE, "a value", |draft| {
                draft.help(format!("write one of {}", words::all(names, "and")))
            });
            return None;
        }
        (Core::Text(text), _) => text,
        (_, Scalar::Written { text, .. }) => text.as_str(),
        _ => "",
    };
    if let Some(name) = names.iter().find(|name| **name == text) {
        let entry = None;
        return Some(Choice { name, of, entry });
    }
    let near = words::nearest(text, names.iter().copied());
    let message = format!("{} cannot be `{}`", of.path.quoted(), short(text));
    let known = words::all(names, "and");
    of.reject(
        &codes::UNKNOWN_VALUE,
        message,
        "unknown value".to_owned(),
        |draft| match (near, names) {
            (_, [only]) => of.mend(draft.help(format!("write `{only}`")), (*only).to_owned()),
            (Some(near), _) => {
                let help = format!("did you mean `{near}`? The values are {known}");
                of.mend(draft.help(help), near.to_owned())
            }
            (None, _) => draft.help(format!("the values are {known}")),
        },
    );
    None
}

fn by_key<'de, 'p>(
    of: Cursor<'de, 'p>,
    entries: &'de [Entry],
    names: &'static [&'static str],
) -> Option<Choice<'de, 'p>> {
    let mut known: Vec<(&'static str, &'de Entry)> = Vec::new();
    for entry in entries {
        match names.iter().find(|name| **name == entry.key) {
            Some(name) => known.push((name, entry)),
            None => unknown_key(
                of,
                entry,
                (words::nearest(&entry.key, names.iter().copied()), None),
                names,
            ),
        }
    }
    match known.as_slice() {
        [(name, entry)] => Some(Choice {
            name,
            of,
            entry: Some(entry),
        }),
        [] if !entries.is_empty() => {
            of.run.poison(of.node.span());
            None
        }
        [] => {
            let message = format!("{} chooses nothing", of.path.quoted());
            let help = format!("write one of {}", words::all(names, "and"));
            of.reject(
                &codes::NOT_ONE_CHOICE,
                message,
                "nothing is chosen".to_owned(),
                |draft| draft.help(help),
            );
            None
        }
        [(first, _), rest @ ..] => {
            let chosen: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
            let message = format!(
                "{} can be only one of {}",
                of.path.quoted(),
                words::all(&chosen, "and")
            );
            of.reject(
                &codes::NOT_ONE_CHOICE,
                message,
                "one choice at most".to_owned(),
                |draft| {
                    let draft =
                        draft.label(known[0].1.key_span, format!("`{first}` is chosen here"));
                    let labelled = rest.iter().fold(draft, |draft, (name, entry)| {
                        draft.label(entry.key_span, format!("and `{name}` here"))
                    });
                    labelled.help("keep one of them")
                },
            );
            None
        }
    }
}

impl Choice<'_, '_> {
    /// Notes that what was chosen has settings and none are written.
    fn without_settings(&self) {
        let name = self.name;
        let message = format!("{} is `{name}` without its settings", self.of.path.quoted());
        let here = format!("`{name}` is a key with settings below it");
        self.of
            .reject(&codes::NOT_ONE_CHOICE, message, here, |draft| {
                draft.help(format!(
                    "write `{name}:` with its settings below, `{{{name}: {{}}}}` if there are none"
                ))
            });
    }
}

impl<'de> EnumAccess<'de> for Choice<'de, '_> {
    type Error = Problem;
    type Variant = Self;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Self), Problem> {
        let name = seed.deserialize(StrDeserializer::<Problem>::new(self.name))?;
        Ok((name, self))
    }
}

impl<'de> VariantAccess<'de> for Choice<'de, '_> {
    type Error = Problem;

    fn unit_variant(self) -> Result<(), Problem> {
        if self.entry.is_some() {
            let name = self.name;
            let message = format!("{}: `{name}` has no settings", self.of.path.quoted());
            let here = format!("`{name}` stands alone");
            self.of
                .reject(&codes::NOT_ONE_CHOICE, message, here, |draft| {
                    self.of
                        .mend(draft.help(format!("write `{name}` alone")), name.to_owned())
                });
        }
        Ok(())
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, Problem> {
        let Some(entry) = self.entry else {
            self.without_settings();
            return seed.deserialize(self.of.run.made_up);
        };
        let path = self.of.path.key(&entry.key, entry.key_span);
        seed.deserialize(Cursor {
            node: &entry.value,
            path: &path,
            run: self.of.run,
        })
    }

    fn tuple_variant<V: Visitor<'de>>(
        self,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, Problem> {
        let Some(entry) = self.entry else {
            self.without_settings();
            return self.of.run.made_up.deserialize_tuple(length, visitor);
        };
        let path = self.of.path.key(&entry.key, entry.key_span);
        let run = self.of.run;
        let node = &entry.value;
        Cursor {
            node,
            path: &path,
            run,
        }
        .deserialize_tuple(length, visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Problem> {
        let Some(entry) = self.entry else {
            self.without_settings();
            return self
                .of
                .run
                .made_up
                .deserialize_struct(self.name, fields, visitor);
        };
        let path = self.of.path.key(&entry.key, entry.key_span);
        let run = self.of.run;
        let node = &entry.value;
        Cursor {
            node,
            path: &path,
            run,
        }
        .deserialize_struct(self.name, fields, visitor)
    }
}
