//! serde's view of lists, of mappings, and of values that remember their place.

use std::collections::BTreeSet;
use std::slice;

use serde::de::value::{BorrowedStrDeserializer, StrDeserializer};
use serde::de::{DeserializeSeed, Deserializer, IntoDeserializer, MapAccess, SeqAccess, Visitor};
use serde::forward_to_deserialize_any;

use super::codes;
use super::cursor::Cursor;
use super::elsewhere;
use super::learned::Problem;
use super::path::Path;
use super::run::{Finding, Run, short};
use crate::diag::words;
use crate::node::{Entry, Node, Origin};
use crate::source::Span;
use gpuc_schema::spanned::SPANNED;

/// The items of a list.
pub(super) struct Items<'de, 'p> {
    left: std::iter::Enumerate<slice::Iter<'de, Node>>,
    path: &'p Path<'p>,
    run: &'p Run<'p>,
}

impl<'de, 'p> Items<'de, 'p> {
    pub(super) fn new(of: Cursor<'de, 'p>, items: &'de [Node]) -> Self {
        Self {
            left: items.iter().enumerate(),
            path: of.path,
            run: of.run,
        }
    }
}

impl<'de> SeqAccess<'de> for Items<'de, '_> {
    type Error = Problem;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Problem> {
        let Some((index, node)) = self.left.next() else {
            return Ok(None);
        };
        let path = self.path.index(index);
        let run = self.run;
        seed.deserialize(Cursor {
            node,
            path: &path,
            run,
        })
        .map(Some)
    }
}

/// The keys of a mapping with their values. Where the type's keys are known, unknown ones are noted and passed over,
/// and missing ones noted and made up.
pub(super) struct Keys<'de, 'p> {
    entries: slice::Iter<'de, Entry>,
    fields: Option<&'static [&'static str]>,
    missing: Vec<&'static str>,
    value: Option<&'de Entry>,
    path: &'p Path<'p>,
    run: &'p Run<'p>,
}

impl<'de, 'p> Keys<'de, 'p> {
    pub(super) fn new(
        of: Cursor<'de, 'p>,
        entries: &'de [Entry],
        fields: Option<&'static [&'static str]>,
    ) -> Self {
        Self {
            entries: entries.iter(),
            fields,
            missing: fields.map_or_else(Vec::new, |fields| check_keys(of, entries, fields)),
            value: None,
            path: of.path,
            run: of.run,
        }
    }
}

impl<'de> MapAccess<'de> for Keys<'de, '_> {
    type Error = Problem;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Problem> {
        let is_known = |entry: &&Entry| match self.fields {
            Some(fields) => fields.contains(&entry.key.as_str()),
            None => true,
        };
        self.value = self.entries.find(is_known);
        if let Some(entry) = self.value {
            return seed.deserialize(Key { entry }).map(Some);
        }
        let missing = self.missing.pop();
        missing
            .map(|field| seed.deserialize(StrDeserializer::new(field)))
            .transpose()
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Problem> {
        let Some(entry) = self.value.take() else {
            return seed.deserialize(self.run.made_up);
        };
        let path = self.path.key(&entry.key, entry.key_span);
        seed.deserialize(Cursor {
            node: &entry.value,
            path: &path,
            run: self.run,
        })
    }
}

/// Notes unknown keys and missing ones; answers the missing ones, noted or not.
fn check_keys(
    of: Cursor<'_, '_>,
    entries: &[Entry],
    fields: &'static [&'static str],
) -> Vec<&'static str> {
    let has = |field: &str| entries.iter().any(|entry| entry.key == field);
    let absent: Vec<&str> = fields.iter().copied().filter(|field| !has(field)).collect();
    let missing: Vec<&str> = of
        .run
        .learned
        .required(fields)
        .filter(|field| absent.contains(field))
        .collect();
    let mut meant = BTreeSet::new();
    for entry in entries {
        if !fields.contains(&entry.key.as_str()) {
            let near = words::nearest(&entry.key, absent.iter().copied());
            let near = near.or_else(|| only_ending(&entry.key, &absent));
            let likely = only_needed(&entry.key, &missing).filter(|_| near.is_none());
            meant.extend(near.or(likely));
            unknown_key(of, entry, (near, likely), fields);
        }
    }
    let mut may_be_base = of.path.is_root() && !has("base");
    for field in &missing {
        if !meant.contains(field) {
            // Said once of a document, however much it lacks.
            missing_key(of, field, std::mem::take(&mut may_be_base));
        }
    }
    if !missing.is_empty() {
        let span = of.node.span();
        of.run
            .poison(if of.path.is_root() { span.head() } else { span });
    }
    missing
}

/// The only key that ends with this one: `mountPath` for `path`.
fn only_ending<'f>(key: &str, fields: &[&'f str]) -> Option<&'f str> {
    let mut letters = key.chars();
    let first = letters.next()?.to_ascii_uppercase();
    let end = format!("{first}{}", letters.as_str());
    let mut ending = fields.iter().filter(|field| field.ends_with(&end));
    let only = ending.next().copied();
    only.filter(|_| ending.next().is_none())
}

/// What others call a key: a `LeaderWorkerSet`'s and a `RayCluster`'s `size` are the nodes of one.
const CALLED: &[(&str, &str)] = &[("gpu", "gpusPerNode"), ("size", "nodes")];

/// The only key that is needed and begins with the words of this one, or is called so elsewhere: `gpusPerNode` for
/// `gpus`. What it says need not be the same, so that it is asked for and not mended.
fn only_needed<'f>(key: &str, missing: &[&'f str]) -> Option<&'f str> {
    let begins = |field: &&&str| {
        let rest = field.strip_prefix(key).unwrap_or_default();
        !key.is_empty() && rest.starts_with(|c: char| c.is_ascii_uppercase())
    };
    let is_called = |field: &&&str| CALLED.contains(&(key, field));
    let mut alike = missing.iter().filter(|it| begins(it) || is_called(it));
    let only = alike.next().copied();
    only.filter(|_| alike.next().is_none())
}

/// Notes a key that means nothing here; the one that is called nearly so, or else one that is likely meant.
pub(super) fn unknown_key(
    of: Cursor<'_, '_>,
    entry: &Entry,
    (near, likely): (Option<&str>, Option<&str>),
    fields: &[&str],
) {
    let known = words::all(fields, "and");
    let place = of.path.quoted();
    let finding = Finding {
        code: &codes::UNKNOWN_KEY,
        span: entry.key_span,
        written: entry.key_span,
        message: format!("{place} has no key `{}`", short(&entry.key)),
        here: "unknown key".to_owned(),
    };
    let used = match of.node.origin {
        Origin::Written { used, .. } => used.unwrap_or(Span::NONE),
        _ => Span::NONE,
    };
    of.run.note(finding, |draft| {
        let draft = draft.label(used, "used here");
        match (near, likely) {
            (Some(near), _) => draft
                .help(format!("did you mean `{near}`? The keys here are {known}"))
                .replace(entry.key_span, near),
            (None, Some(likely)) => draft.help(format!(
                "did you mean `{likely}`? The keys here are {known}"
            )),
            (None, None) if fields.is_empty() => draft.help("there are no keys here; delete it"),
            (None, None) => {
                let elsewhere = elsewhere::belongs(&entry.key, &of.path.to_string());
                let elsewhere = elsewhere.map(|it| format!("{it}; ")).unwrap_or_default();
                draft.help(format!("{elsewhere}the keys here are {known}"))
            }
        }
    });
}

/// Notes a key that has to be there. A whole document without one may be what others build upon.
fn missing_key(of: Cursor<'_, '_>, field: &str, may_be_base: bool) {
    let node = of.node;
    let first = node.entries().first().map(|entry| entry.key_span);
    let used = node.span() != of.written();
    let span = match of.path.key_span() {
        _ if used => node.span(),
        Some(key) => key,
        None => first.unwrap_or(node.span()),
    };
    let finding = Finding {
        code: &codes::MISSING_KEY,
        span,
        written: if used { of.written() } else { span },
        message: format!("{} lacks the key `{field}`", of.path.quoted()),
        here: format!("`{field}` is needed here"),
    };
    let mut help = format!("add `{field}:`");
    if may_be_base {
        help += "; if this is a base, which other files name in `base:`, check those instead";
    }
    of.run.note(finding, |draft| draft.help(help));
}

/// A key of a mapping, as text and with its place.
struct Key<'de> {
    entry: &'de Entry,
}

impl<'de> Deserializer<'de> for Key<'de> {
    type Error = Problem;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        visitor.visit_borrowed_str(&self.entry.key)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Problem> {
        if name == SPANNED {
            let key = BorrowedStrDeserializer::new(&self.entry.key);
            return visitor.visit_seq(SpannedParts::new(self.entry.key_span, key));
        }
        visitor.visit_newtype_struct(self)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct seq
        tuple tuple_struct map struct enum identifier ignored_any
    }
}

/// What a `Spanned` asks for: file, start, end, value.
pub(super) struct SpannedParts<D> {
    place: std::array::IntoIter<u32, 3>,
    value: Option<D>,
}

impl<D> SpannedParts<D> {
    pub(super) fn new(span: Span, value: D) -> Self {
        Self {
            place: [span.source, span.start, span.end].into_iter(),
            value: Some(value),
        }
    }
}

impl<'de, D: Deserializer<'de, Error = Problem>> SeqAccess<'de> for SpannedParts<D> {
    type Error = Problem;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Problem> {
        if let Some(number) = self.place.next() {
            return seed.deserialize(number.into_deserializer()).map(Some);
        }
        self.value
            .take()
            .map(|value| seed.deserialize(value))
            .transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::{only_ending, only_needed};

    #[test]
    fn the_end_of_one_key_means_that_key() {
        let keys = ["name", "mountPath", "sizeGiB", "minNodes", "maxNodes"];
        assert_eq!(only_ending("path", &keys), Some("mountPath"));
        assert_eq!(only_ending("nodes", &keys), None);
        assert_eq!(only_ending("ame", &keys), None);
        assert_eq!(only_ending("", &keys), None);
    }

    #[test]
    fn the_words_of_a_needed_key_begin_it() {
        let needed = ["image", "nodes", "gpusPerNode"];
        assert_eq!(only_needed("gpus", &needed), Some("gpusPerNode"));
        assert_eq!(only_needed("size", &needed), Some("nodes"));
        assert_eq!(only_needed("size", &["image"]), None);
        assert_eq!(only_needed("gpu", &needed), Some("gpusPerNode"));
        assert_eq!(only_needed("node", &needed), None);
        assert_eq!(only_needed("namespace", &["name"]), None);
        assert_eq!(only_needed("gpus", &["gpusPerNode", "gpusPerPod"]), None);
        assert_eq!(only_needed("", &["Image"]), None);
    }
}
