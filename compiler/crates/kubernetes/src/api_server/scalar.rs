//! Scalars as kubectl sends them to the API server.

use gpuc_syntax::node::{Node, Scalar, Value};
use gpuc_syntax::variables::has_placeholder;
use gpuc_syntax::yaml::core_schema::CoreValue;

/// The value of a node.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum ParsedValue<'n> {
    /// Null: as if the key were not set.
    Null,
    /// A Boolean.
    Bool(bool),
    /// An integer.
    Integer(i128),
    /// Any other number.
    Float(f64),
    /// A string.
    Text(&'n str),
    /// Text that is filled in later: it can become any value.
    Templated,
    /// A mapping.
    Mapping,
    /// A list.
    List,
}

/// Words that are Booleans in YAML 1.1, which kubectl reads.
///
/// Source: go-yaml/yaml v2 `resolve.go`, `resolveMap` (from memory).
const TRUE_WORDS: &[&str] = &["yes", "on"];
const FALSE_WORDS: &[&str] = &["no", "off"];

/// Reads a node.
pub(super) fn parse_value(node: &Node) -> ParsedValue<'_> {
    let scalar = match &node.value {
        Value::Mapping(_) => return ParsedValue::Mapping,
        Value::Sequence(_) => return ParsedValue::List,
        Value::Scalar(scalar) => scalar,
    };
    match scalar.core_value() {
        CoreValue::Null => ParsedValue::Null,
        CoreValue::Bool(value) => ParsedValue::Bool(value),
        CoreValue::Integer(value) => ParsedValue::Integer(parse_octal(scalar).unwrap_or(value)),
        CoreValue::Float(value) => parse_float(value),
        CoreValue::Text(text) if has_placeholder(text) => ParsedValue::Templated,
        CoreValue::Text(text) => match scalar {
            Scalar::Written { plain: true, .. } => parse_yaml_1_1_bool(text),
            _ => ParsedValue::Text(text),
        },
    }
}

/// Integral numbers in other notations are integers: `1.0`, `1e3`.
fn parse_float(value: f64) -> ParsedValue<'static> {
    let is_whole = value.fract() == 0.0 && value.abs() < 9e15;
    #[expect(
        clippy::cast_possible_truncation,
        reason = "an integer that is not too large"
    )]
    let integer = is_whole.then(|| i128::from(value as i64));
    integer.map_or(ParsedValue::Float(value), ParsedValue::Integer)
}

/// `0644` is octal in YAML 1.1.
fn parse_octal(scalar: &Scalar) -> Option<i128> {
    let Scalar::Written { text, .. } = scalar else {
        return None;
    };
    let digits = text.strip_prefix('0').filter(|it| !it.is_empty())?;
    i128::from_str_radix(digits, 8).ok()
}

fn parse_yaml_1_1_bool(text: &str) -> ParsedValue<'_> {
    let lower = text.to_ascii_lowercase();
    if TRUE_WORDS.contains(&lower.as_str()) {
        return ParsedValue::Bool(true);
    }
    if FALSE_WORDS.contains(&lower.as_str()) {
        return ParsedValue::Bool(false);
    }
    ParsedValue::Text(text)
}

/// The value of a key, unless it is null.
pub(super) fn get_non_null<'n>(node: &'n Node, key: &str) -> Option<&'n Node> {
    node.get(key)
        .filter(|it| parse_value(it) != ParsedValue::Null)
}

/// The string value of a key, if it is known and not empty.
pub(super) fn get_text<'n>(node: &'n Node, key: &str) -> Option<&'n str> {
    match parse_value(node.get(key)?) {
        ParsedValue::Text(text) if !text.is_empty() => Some(text),
        _ => None,
    }
}

/// The integer value of a key.
pub(super) fn get_integer(node: &Node, key: &str) -> Option<i128> {
    match parse_value(node.get(key)?) {
        ParsedValue::Integer(number) => Some(number),
        _ => None,
    }
}

/// The Boolean value of a key.
pub(super) fn get_bool(node: &Node, key: &str) -> Option<bool> {
    match parse_value(node.get(key)?) {
        ParsedValue::Bool(on) => Some(on),
        _ => None,
    }
}

/// The items of the list value of a key, with indexes.
pub(super) fn indexed_items<'n>(
    node: &'n Node,
    key: &str,
) -> impl Iterator<Item = (usize, &'n Node)> {
    node.get(key)
        .map_or(&[][..], Node::items)
        .iter()
        .enumerate()
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpuc_syntax::source::Span;

    #[test]
    fn scalars_match_kubectl() {
        let read = |text: &str, plain: bool| {
            let text = text.to_owned();
            let node = Node::written(Value::Scalar(Scalar::Written { text, plain }), Span::NONE);
            match super::parse_value(&node) {
                ParsedValue::Text(_) => "text".to_owned(),
                other => format!("{other:?}"),
            }
        };
        assert_eq!(read("0644", true), "Integer(420)");
        assert_eq!(read("0", true), "Integer(0)");
        assert_eq!(read("3.0", true), "Integer(3)");
        assert_eq!(read("0.5", true), "Float(0.5)");
        assert_eq!(read("Yes", true), "Bool(true)");
        assert_eq!(read("off", true), "Bool(false)");
        assert_eq!(read("off", false), "text");
        assert_eq!(read("~", true), "Null");
        assert_eq!(read("${REPLICAS}", true), "Templated");
        assert_eq!(read("3", false), "text");
    }
}
