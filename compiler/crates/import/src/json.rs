//! Access to JSON and to YAML in ConfigMaps, and the notation of sources.

use std::fmt::Display;

use gpuc_syntax::diag::Report;
use gpuc_syntax::source::Sources;
use gpuc_syntax::yaml;
use serde::Serialize;
use serde_json::Value;

/// The maximum length of a value in a source.
const MAX_VALUE: usize = 120;

/// The notation of a source: an object, a field, and its value.
pub(crate) fn source(object: impl Display, field: impl Display, value: impl Display) -> String {
    let value = value.to_string();
    let short: String = value.chars().take(MAX_VALUE).collect();
    let rest = if short.len() < value.len() { "…" } else { "" };
    format!("{object}#{field} = {short}{rest}")
}

/// The text at a JSON pointer; `None` if it is absent, empty or no text.
pub(crate) fn text<'v>(value: &'v Value, pointer: &str) -> Option<&'v str> {
    let found = value.pointer(pointer)?.as_str()?;
    (!found.is_empty()).then_some(found)
}

/// The number at a JSON pointer; clouds write some numbers as text.
pub(crate) fn number(value: &Value, pointer: &str) -> Option<i64> {
    match value.pointer(pointer)? {
        Value::Number(number) => number.as_i64(),
        Value::String(text) => text.parse().ok(),
        _ => None,
    }
}

/// Whether the value at a JSON pointer is `true`.
pub(crate) fn is_true(value: &Value, pointer: &str) -> bool {
    value.pointer(pointer) == Some(&Value::Bool(true))
}

/// The items of the list at a JSON pointer; none if it is absent.
pub(crate) fn items<'v>(value: &'v Value, pointer: &str) -> &'v [Value] {
    let list = value.pointer(pointer).and_then(Value::as_array);
    list.map_or(&[], Vec::as_slice)
}

/// The texts of the list at a JSON pointer.
pub(crate) fn texts<'v>(value: &'v Value, pointer: &str) -> Vec<&'v str> {
    items(value, pointer)
        .iter()
        .filter_map(Value::as_str)
        .collect()
}

/// The entries of the mapping at a JSON pointer whose values are texts.
pub(crate) fn text_entries<'v>(value: &'v Value, pointer: &str) -> Vec<(&'v str, &'v str)> {
    let entries = value.pointer(pointer).and_then(Value::as_object);
    let entries = entries.into_iter().flatten();
    entries
        .filter_map(|(key, value)| Some((key.as_str(), value.as_str()?)))
        .collect()
}

/// The name of a value of the schema in the file.
pub(crate) fn word(value: &impl Serialize) -> String {
    let json = serde_json::to_value(value).unwrap_or_default();
    json.as_str().unwrap_or_default().to_owned()
}

/// The first YAML document of a text; `None` if the text is not YAML.
pub(crate) fn parse_yaml(text: &str) -> Option<Value> {
    let mut sources = Sources::default();
    let id = sources.add("", text);
    let mut report = Report::default();
    let documents = yaml::parse(&sources, id, &mut report);
    if report.has_errors() {
        return None;
    }
    serde_json::to_value(&documents.first()?.root).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn yaml_of_config_maps_is_read() {
        let text = "version: v1\nsharing:\n  timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 4}]}\n";
        let value = parse_yaml(text).unwrap();
        assert_eq!(
            number(&value, "/sharing/timeSlicing/resources/0/replicas"),
            Some(4)
        );
        assert_eq!(parse_yaml("a: [b"), None);
        assert_eq!(parse_yaml(""), None);
    }

    #[test]
    fn long_values_are_cut_between_characters() {
        let source = source("Node a", "spec", "ä".repeat(200));
        assert_eq!(source.chars().filter(|c| *c == 'ä').count(), MAX_VALUE);
        assert!(source.ends_with('…'));
    }

    #[test]
    fn numbers_may_be_texts() {
        assert_eq!(number(&json!({"a": "12"}), "/a"), Some(12));
        assert_eq!(number(&json!({"a": "x"}), "/a"), None);
    }
}
