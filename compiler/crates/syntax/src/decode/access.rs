//! serde access to lists, mappings, and values with spans.

use std::collections::BTreeSet;
use std::slice;

use gpuc_schema::spanned::SPANNED;
use serde::de::value::{BorrowedStrDeserializer, StrDeserializer};
use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::forward_to_deserialize_any;

use super::abbreviation::abbreviate;
use super::constraints::DecodeProblem;
use super::cursor::Cursor;
use super::pass::{Finding, Pass};
use super::path::Path;
use super::spanned_parts::SpannedParts;
use super::{codes, foreign_keys, misplaced_key};
use crate::diag::phrases;
use crate::node::{Entry, Node, Origin};
use crate::source::Span;

/// The items of a list.
pub(super) struct Items<'de, 'p> {
    remaining: std::iter::Enumerate<slice::Iter<'de, Node>>,
    path: &'p Path<'p>,
    pass: &'p Pass<'p>,
}

impl<'de, 'p> Items<'de, 'p> {
    pub(super) fn new(cursor: Cursor<'de, 'p>, items: &'de [Node]) -> Self {
        Self {
            remaining: items.iter().enumerate(),
            path: cursor.path,
            pass: cursor.pass,
        }
    }
}

impl<'de> SeqAccess<'de> for Items<'de, '_> {
    type Error = DecodeProblem;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, DecodeProblem> {
        let Some((index, node)) = self.remaining.next() else {
            return Ok(None);
        };
        let path = self.path.with_index(index);
        let pass = self.pass;
        seed.deserialize(Cursor {
            node,
            path: &path,
            pass,
        })
        .map(Some)
    }
}

/// The entries of a mapping. If the type's keys are known, unknown keys are reported and skipped, and missing keys are
/// reported and replaced by placeholders.
pub(super) struct Keys<'de, 'p> {
    entries: slice::Iter<'de, Entry>,
    fields: Option<&'static [&'static str]>,
    missing: Vec<&'static str>,
    value: Option<&'de Entry>,
    path: &'p Path<'p>,
    pass: &'p Pass<'p>,
}

impl<'de, 'p> Keys<'de, 'p> {
    pub(super) fn new(
        cursor: Cursor<'de, 'p>,
        entries: &'de [Entry],
        fields: Option<&'static [&'static str]>,
    ) -> Self {
        Self {
            entries: entries.iter(),
            fields,
            missing: fields.map_or_else(Vec::new, |fields| check_keys(cursor, entries, fields)),
            value: None,
            path: cursor.path,
            pass: cursor.pass,
        }
    }
}

impl<'de> MapAccess<'de> for Keys<'de, '_> {
    type Error = DecodeProblem;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, DecodeProblem> {
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

    fn next_value_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<S::Value, DecodeProblem> {
        let Some(entry) = self.value.take() else {
            return seed.deserialize(self.pass.placeholder);
        };
        let path = self.path.with_key(&entry.key, entry.key_span);
        seed.deserialize(Cursor {
            node: &entry.value,
            path: &path,
            pass: self.pass,
        })
    }
}

/// Reports unknown and missing keys; returns all missing keys.
fn check_keys(
    cursor: Cursor<'_, '_>,
    entries: &[Entry],
    fields: &'static [&'static str],
) -> Vec<&'static str> {
    let has = |field: &str| entries.iter().any(|entry| entry.key == field);
    let absent: Vec<&str> = fields.iter().copied().filter(|field| !has(field)).collect();
    let missing: Vec<&str> = cursor
        .pass
        .constraints
        .required_keys(fields)
        .filter(|field| absent.contains(field))
        .collect();
    let mut suggested = BTreeSet::new();
    for entry in entries {
        if !fields.contains(&entry.key.as_str()) {
            let near = phrases::closest_match(&entry.key, absent.iter().copied());
            let near = near.or_else(|| unique_suffix_match(&entry.key, &absent));
            let likely = unique_required_match(&entry.key, &missing).filter(|_| near.is_none());
            suggested.extend(near.or(likely));
            report_unknown_key(cursor, entry, (near, likely), fields);
        }
    }
    let mut may_be_base = cursor.path.is_root() && !has("base");
    for field in &missing {
        if !suggested.contains(field) {
            // Reported once per document.
            report_missing_key(cursor, field, std::mem::take(&mut may_be_base));
        }
    }
    if !missing.is_empty() {
        let span = cursor.node.span();
        cursor.pass.poison(if cursor.path.is_root() {
            span.empty_at_start()
        } else {
            span
        });
    }
    missing
}

/// The only key that ends with this one: `mountPath` for `path`.
fn unique_suffix_match<'f>(key: &str, fields: &[&'f str]) -> Option<&'f str> {
    let mut letters = key.chars();
    let first = letters.next()?.to_ascii_uppercase();
    let end = format!("{first}{}", letters.as_str());
    let mut ending = fields.iter().filter(|field| field.ends_with(&end));
    let only = ending.next().copied();
    only.filter(|_| ending.next().is_none())
}

/// Names of keys in other APIs: `size` of a `LeaderWorkerSet` or a `RayCluster` is the number of nodes.
const FOREIGN_KEY_NAMES: &[(&str, &str)] = &[("gpu", "gpusPerNode"), ("size", "nodes")];

/// The only required key that starts with this one, or has this name in another API: `gpusPerNode` for `gpus`. The
/// meaning can differ, so it is suggested, but not applied as a fix.
fn unique_required_match<'f>(key: &str, missing: &[&'f str]) -> Option<&'f str> {
    let is_prefix = |field: &&&str| {
        let rest = field.strip_prefix(key).unwrap_or_default();
        !key.is_empty() && rest.starts_with(|c: char| c.is_ascii_uppercase())
    };
    let is_foreign_name = |field: &&&str| FOREIGN_KEY_NAMES.contains(&(key, field));
    let mut matching = missing
        .iter()
        .filter(|it| is_prefix(it) || is_foreign_name(it));
    let only = matching.next().copied();
    only.filter(|_| matching.next().is_none())
}

/// Reports an unknown key, with a similar key or the likely intended one.
pub(super) fn report_unknown_key(
    cursor: Cursor<'_, '_>,
    entry: &Entry,
    (near, likely): (Option<&str>, Option<&str>),
    fields: &[&str],
) {
    let known = phrases::quoted_conjunction(fields, "and");
    let location = cursor.path.quoted();
    let finding = Finding {
        code: &codes::UNKNOWN_KEY,
        span: entry.key_span,
        source_span: entry.key_span,
        message: format!("unknown key `{}` in {location}", abbreviate(&entry.key)),
        label: "unknown key".to_owned(),
    };
    let used = match cursor.node.origin {
        Origin::Written { alias: used, .. } => used.unwrap_or(Span::NONE),
        _ => Span::NONE,
    };
    cursor.pass.record(finding, |builder| {
        let builder = builder.label(used, "used here");
        let location = cursor.path.to_string();
        let generic = misplaced_key::without_indexes(&location);
        if let Some(help) = foreign_keys::find_help(&generic, &entry.key) {
            return builder.help(format!("{help}; the keys are {known}"));
        }
        match (near, likely) {
            (Some(near), _) => builder
                .help(format!("did you mean `{near}`? the keys are {known}"))
                .replace(entry.key_span, near),
            (None, Some(likely)) => {
                builder.help(format!("did you mean `{likely}`? the keys are {known}"))
            }
            (None, None) if fields.is_empty() => {
                builder.help("delete it: this mapping has no keys")
            }
            (None, None) => {
                let location_help = misplaced_key::location_help(&entry.key, &location);
                let elsewhere = location_help
                    .map(|it| format!("{it}; "))
                    .unwrap_or_default();
                builder.help(format!("{elsewhere}the keys are {known}"))
            }
        }
    });
}

/// Reports a missing key. A document without a required key can be a base of other files.
fn report_missing_key(cursor: Cursor<'_, '_>, field: &str, may_be_base: bool) {
    let node = cursor.node;
    let first = node.entries().first().map(|entry| entry.key_span);
    let used = node.span() != cursor.source_span();
    let span = match cursor.path.key_span() {
        _ if used => node.span(),
        Some(key) => key,
        None => first.unwrap_or(node.span()),
    };
    let finding = Finding {
        code: &codes::MISSING_KEY,
        span,
        source_span: if used { cursor.source_span() } else { span },
        message: format!("missing key `{field}` in {}", cursor.path.quoted()),
        label: format!("`{field}` is required"),
    };
    let mut help = format!("add `{field}:`");
    if may_be_base {
        help += "; if this file is a base, check the files that name it in `base:` instead";
    }
    cursor.pass.record(finding, |builder| builder.help(help));
}

/// A key of a mapping, with its span.
struct Key<'de> {
    entry: &'de Entry,
}

impl<'de> Deserializer<'de> for Key<'de> {
    type Error = DecodeProblem;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeProblem> {
        visitor.visit_borrowed_str(&self.entry.key)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, DecodeProblem> {
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

#[cfg(test)]
mod tests {
    use super::{unique_required_match, unique_suffix_match};

    #[test]
    fn unique_suffix_is_suggested() {
        let keys = ["name", "mountPath", "sizeGiB", "minNodes", "maxNodes"];
        assert_eq!(unique_suffix_match("path", &keys), Some("mountPath"));
        assert_eq!(unique_suffix_match("nodes", &keys), None);
        assert_eq!(unique_suffix_match("ame", &keys), None);
        assert_eq!(unique_suffix_match("", &keys), None);
    }

    #[test]
    fn required_key_prefix_is_suggested() {
        let required = ["image", "nodes", "gpusPerNode"];
        assert_eq!(
            unique_required_match("gpus", &required),
            Some("gpusPerNode")
        );
        assert_eq!(unique_required_match("size", &required), Some("nodes"));
        assert_eq!(unique_required_match("size", &["image"]), None);
        assert_eq!(unique_required_match("gpu", &required), Some("gpusPerNode"));
        assert_eq!(unique_required_match("node", &required), None);
        assert_eq!(unique_required_match("namespace", &["name"]), None);
        assert_eq!(
            unique_required_match("gpus", &["gpusPerNode", "gpusPerPod"]),
            None
        );
        assert_eq!(unique_required_match("", &["Image"]), None);
    }
}
