//! Builds mappings: duplicate keys, keys that are not strings, and merge keys.

use std::collections::BTreeMap;

use super::codes;
use crate::diag::Report;
use crate::node::{Entry, Node, Scalar, Value};
use crate::source::Span;

/// A mapping under construction.
#[derive(Default)]
pub(super) struct MappingBuilder {
    entries: Vec<Entry>,
    /// The first span of each key.
    keys: BTreeMap<String, Span>,
    /// The values of `<<`.
    merged: Option<Node>,
}

impl MappingBuilder {
    /// Adds an entry. The last value of a duplicate key is kept, as in kubectl.
    pub(super) fn add(&mut self, key: Node, value: Node, report: &mut Report) {
        let key_span = key.span();
        let Value::Scalar(Scalar::Written { text, plain }) = key.value else {
            if !matches!(key.value, Value::Scalar(_)) {
                report
                    .diagnostic(
                        &codes::KEY_NOT_TEXT,
                        key_span,
                        "a key must be a string, not a list or a mapping",
                    )
                    .help("quote it if it starts with `[`, `{` or `?`")
                    .emit();
            }
            return;
        };
        if plain && key_span.start == key_span.end {
            report
                .diagnostic(&codes::KEY_NOT_TEXT, key_span, "value without a key")
                .help("write the key before `:`")
                .emit();
            return;
        }
        if let Some(first) = self.keys.get(&text) {
            report
                .diagnostic(
                    &codes::DUPLICATE_KEY,
                    key_span,
                    format!("duplicate key `{text}`"),
                )
                .primary_label("set again here")
                .label(*first, "first set here")
                .help("delete one of the two: YAML parsers differ in which one they use")
                .emit();
            if let Some(entry) = self.entries.iter_mut().find(|entry| entry.key == text) {
                (entry.key_span, entry.value) = (key_span, value);
            }
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

    /// The entries, followed by those of `<<`. Own entries override merged ones, and earlier merges override later
    /// ones.
    pub(super) fn finish(mut self, report: &mut Report) -> Vec<Entry> {
        let Some(merged) = self.merged.take() else {
            return self.entries;
        };
        let span = merged.span();
        let sources = match merged.value {
            Value::Sequence(items) => items,
            _ => vec![merged],
        };
        for source in sources {
            let source_span = source.span();
            let Value::Mapping(entries) = source.value else {
                if !matches!(source.value, Value::Scalar(Scalar::Null)) {
                    report
                        .diagnostic(
                            &codes::MERGE_NOT_MAPPING,
                            source_span,
                            "the value of `<<` must be a mapping",
                        )
                        .label(
                            if source_span == span {
                                Span::NONE
                            } else {
                                span
                            },
                            "merged here",
                        )
                        .help("use an alias of a mapping, or a list of such aliases")
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
