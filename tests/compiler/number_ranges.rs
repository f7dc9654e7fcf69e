//! The number ranges of the JSON Schema are enforced. The next lower and higher numbers are rejected at their location,
//! with a message that contains the range.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use gpuc_syntax::node::{Node, Value};
use serde_json::Value as Json;

use crate::support::{compile_text, repository};

/// A number in a cluster file, with its schema.
struct Number<'s> {
    /// The JSON pointer of the schema, for messages: `$defs/NodePool/properties/diskGiB`.
    pointer: String,
    schema: &'s Json,
    /// The byte range of the number in the text.
    range: std::ops::Range<usize>,
}

/// Resolves the references of a schema.
fn resolve_reference<'s>(whole: &'s Json, pointer: &str, schema: &'s Json) -> (String, &'s Json) {
    match schema.get("$ref").and_then(Json::as_str) {
        Some(way) => {
            let way = way.trim_start_matches("#/");
            let found = whole.pointer(&format!("/{way}")).unwrap();
            resolve_reference(whole, way, found)
        }
        None => (pointer.to_owned(), schema),
    }
}

/// Collects a schema and all of its alternatives.
fn collect_alternatives<'s>(
    whole: &'s Json,
    pointer: &str,
    schema: &'s Json,
    found: &mut Vec<(String, &'s Json)>,
) {
    let (pointer, schema) = resolve_reference(whole, pointer, schema);
    for key in ["anyOf", "oneOf", "allOf"] {
        let several = schema
            .get(key)
            .and_then(Json::as_array)
            .into_iter()
            .flatten();
        for (index, one) in several.enumerate() {
            collect_alternatives(whole, &format!("{pointer}/{key}/{index}"), one, found);
        }
    }
    found.push((pointer, schema));
}

fn collect<'s>(
    whole: &'s Json,
    pointer: &str,
    schema: &'s Json,
    node: &Node,
    numbers: &mut Vec<Number<'s>>,
) {
    let mut schemas = Vec::new();
    collect_alternatives(whole, pointer, schema, &mut schemas);
    for (pointer, schema) in schemas {
        match &node.value {
            Value::Mapping(entries) => {
                for entry in entries {
                    let named = schema.get("properties").and_then(|it| it.get(&entry.key));
                    let (below, schema) = match (named, schema.get("additionalProperties")) {
                        (Some(named), _) => (format!("{pointer}/properties/{}", entry.key), named),
                        (None, Some(any)) if any.is_object() => {
                            (format!("{pointer}/additionalProperties"), any)
                        }
                        _ => continue,
                    };
                    collect(whole, &below, schema, &entry.value, numbers);
                }
            }
            Value::Sequence(items) => {
                if let Some(schema) = schema.get("items") {
                    for item in items {
                        collect(whole, &format!("{pointer}/items"), schema, item, numbers);
                    }
                }
            }
            Value::Scalar(_) => {
                let span = node.span();
                let is_number = |kind: &Json| kind == "integer" || kind == "number";
                let kinds = match &schema["type"] {
                    Json::Array(kinds) => kinds.iter().any(is_number),
                    kind => is_number(kind),
                };
                let text = node.text().unwrap_or_default();
                if kinds && text.parse::<f64>().is_ok() && span.is_written() {
                    let range = span.start as usize..span.end as usize;
                    numbers.push(Number {
                        pointer,
                        schema,
                        range,
                    });
                }
            }
        }
    }
}

/// The clusters that use every setting, and the examples of the rules.
fn texts() -> Vec<(String, String)> {
    let folder = repository().join("tests/compiler/rich");
    let mut paths: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|it| it.unwrap().path())
        .collect();
    paths.sort();
    let rich = paths.into_iter().map(|path| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        (name, fs::read_to_string(&path).unwrap())
    });
    let pages = gpuc::codes()
        .into_iter()
        .filter(|code| !code.good().contains("\n---"));
    let pages = pages.map(|code| (code.id.to_owned(), code.good()));
    rich.chain(pages).collect()
}

/// The out-of-range numbers to try: one below the minimum and one above the maximum.
fn out_of_range_numbers(schema: &Json) -> Vec<(i64, &'static str)> {
    let end = |key: &str| schema.get(key).and_then(Json::as_i64);
    let mut steps = Vec::new();
    if let Some(least) = end("minimum") {
        steps.push((least - 1, "less"));
    }
    match end("maximum") {
        Some(most) => steps.push((most + 1, "more")),
        None if schema["format"] == "uint32" => steps.push((i64::from(u32::MAX) + 1, "more")),
        None => {}
    }
    steps
}

#[test]
fn numbers_out_of_range_are_rejected_at_their_location() {
    let whole = gpuc_syntax::schema::schema_value();
    let mut seen: BTreeSet<(String, &str)> = BTreeSet::new();
    let mut wrong = BTreeMap::new();
    for (name, text) in texts() {
        let outcome = compile_text(&text);
        let Some(compilation) = outcome.compilations.first() else {
            continue;
        };
        let mut numbers = Vec::new();
        collect(&whole, "", &whole, &compilation.loaded.root, &mut numbers);
        for number in numbers {
            for (value, which) in out_of_range_numbers(number.schema) {
                if !seen.insert((number.pointer.clone(), which)) {
                    continue;
                }
                let Number { range, .. } = &number;
                let changed = format!("{}{value}{}", &text[..range.start], &text[range.end..]);
                let outcome = compile_text(&changed);
                // The primary location may be another number, with a label here.
                let is_reported = outcome.findings.iter().any(|found| {
                    let mut locations = found.labels.iter().chain([&found.primary]);
                    let is_error = found.severity == gpuc_syntax::diag::Severity::Error;
                    is_error && locations.any(|it| it.span.start as usize == range.start)
                });
                if !is_reported {
                    let messages: Vec<_> = outcome
                        .findings
                        .iter()
                        .map(|it| it.message.clone())
                        .collect();
                    wrong.insert((number.pointer.clone(), value), (name.clone(), messages));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} are accepted: {wrong:#?}", wrong.len());
    let mut never = Vec::new();
    for (name, schema) in whole["$defs"].as_object().unwrap() {
        for (key, schema) in schema["properties"].as_object().into_iter().flatten() {
            let pointer = format!("$defs/{name}/properties/{key}");
            let is_number = !out_of_range_numbers(schema).is_empty();
            // All kinds of workloads share most keys, so that one of them is enough.
            let end = format!("/properties/{key}");
            if is_number && !seen.iter().any(|it| it.0.ends_with(&end)) {
                never.push(pointer);
            }
        }
    }
    assert!(never.is_empty(), "no cluster has {never:#?}");
    assert!(seen.len() > 150, "{}", seen.len());
}
