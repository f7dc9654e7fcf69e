//! Keys and values to a mapping: keys set twice, keys that are no text, and merge keys.

use std::collections::BTreeMap;

use super::codes;
use crate::diag::Report;
use crate::node::{Entry, Node, Scalar, Value};
use crate::source::Span;

/// A mapping that is being read.
#[derive(Default)]
pub(super) struct Mapping {
    entries: Vec<Entry>,
    /// Where each key was written first.
    keys: BTreeMap<String, Span>,
    /// What stands under `<<`.
    merged: Option<Node>,
}

impl Mapping {
    /// Takes a key and its value. Of a key that is set twice the first value stays.
    pub(super) fn add(&mut self, key: Node, value: Node, report: &mut Report) {
        let key_span = key.span();
        let Value::Scalar(Scalar::Written { text, plain }) = key.value else {
            if !matches!(key.value, Value::Scalar(_)) {
                report
                    .draft(
                        &codes::KEY_NOT_TEXT,
                        key_span,
                        "a key must be text, not a list or a mapping",
                    )
                    .help("quote it if it starts with `[`, `{` or `?`")
                    .emit();
            }
            return;
        };
        if plain && key_span.start == key_span.end {
            report
                .draft(
                    &codes::KEY_NOT_TEXT,
                    key_span,
                    "a value stands here without a key",
                )
                .help("write the key before `:`")
                .emit();
            return;
        }
        if let Some(first) = self.keys.get(&text) {
            report
                .draft(
                    &codes::DUPLICATE_KEY,
                    key_span,
                    format!("the key `{text}` is set twice"),
                )
                .here("set again here")
                .label(*first, "first set here")
                .help("delete one of the two; YAML readers disagree on which one counts")
                .emit();
            return;
        }
        self.keys.insert(text.clone(), key_span);
        if plain && text == "<<" {
            self.merged = Some(value);
            return;
        }
        self.entries.push(Entry {
            key: text,
            key_span,
            value,
        });
    }

    /// The entries, with those under `<<` after them. What the mapping says itself wins, then what is merged first.
    pub(super) fn finish(mut self, report: &mut Report) -> Vec<Entry> {
        let Some(merged) = self.merged.take() else {
            return self.entries;
        };
        let span = merged.span();
        let parts = match merged.value {
            Value::Sequence(items) => items,
            _ => vec![merged],
        };
        for part in parts {
            let part_span = part.span();
            let Value::Mapping(entries) = part.value else {
                if !matches!(part.value, Value::Scalar(Scalar::Null)) {
                    report
                        .draft(
                            &codes::MERGE_NOT_MAPPING,
                            part_span,
                            "`<<` merges mappings only",
                        )
                        .label(
                            if part_span == span { Span::NONE } else { span },
                            "merged here",
                        )
                        .help("give it an alias of a mapping, or a list of such aliases")
                        .emit();
                }
                continue;
            };
            for entry in entries {
                if !self.keys.contains_key(&entry.key) {
                    self.keys.insert(entry.key.clone(), entry.key_span);
                    self.entries.push(entry);
                }
            }
        }
        self.entries
    }
}
