//! Scalars as kubectl sends them to the API server.

use gpuc_syntax::node::{Node, Scalar, Value};
use gpuc_syntax::yaml::core_schema::Core;

/// The value of a node.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Read<'n> {
    /// Null: as if the key were not set.
    Nothing,
    /// A Boolean.
    Switch(bool),
    /// An integer.
    Whole(i128),
    /// Any other number.
    Number(f64),
    /// A string.
    Text(&'n str),
    /// Text that is filled in later: it can become any value.
    Open,
    /// A mapping.
    Mapping,
    /// A list.
    List,
}

/// Words that are Booleans in YAML 1.1, which kubectl reads.
///
/// Source: go-yaml/yaml v2 `resolve.go`, `resolveMap` (from memory).
const ON: &[&str] = &["yes", "on"];
const OFF: &[&str] = &["no", "off"];

/// Marks of template languages: Helm, envsubst and Flux, kustomize, and `OpenShift` templates.
const MARKS: &[&str] = &["{{", "${", "$("];

/// Reads a node.
pub(super) fn read(node: &Node) -> Read<'_> {
    let scalar = match &node.value {
        Value::Mapping(_) => return Read::Mapping,
        Value::Sequence(_) => return Read::List,
        Value::Scalar(scalar) => scalar,
    };
    match scalar.core() {
        Core::Null => Read::Nothing,
        Core::Bool(value) => Read::Switch(value),
        Core::Integer(value) => Read::Whole(octal(scalar).unwrap_or(value)),
        Core::Float(value) => float(value),
        Core::Text(text) if MARKS.iter().any(|mark| text.contains(mark)) => Read::Open,
        Core::Text(text) => match scalar {
            Scalar::Written { plain: true, .. } => switch_of_old(text),
            _ => Read::Text(text),
        },
    }
}

/// Integral numbers in other notations are integers: `1.0`, `1e3`.
fn float(value: f64) -> Read<'static> {
    let is_whole = value.fract() == 0.0 && value.abs() < 9e15;
    #[expect(
        clippy::cast_possible_truncation,
        reason = "an integer that is not too large"
    )]
    let whole = is_whole.then(|| i128::from(value as i64));
    whole.map_or(Read::Number(value), Read::Whole)
}

/// `0644` is octal in YAML 1.1.
fn octal(scalar: &Scalar) -> Option<i128> {
    let Scalar::Written { text, .. } = scalar else {
        return None;
    };
    let digits = text.strip_prefix('0').filter(|it| !it.is_empty())?;
    i128::from_str_radix(digits, 8).ok()
}

fn switch_of_old(text: &str) -> Read<'_> {
    let lower = text.to_ascii_lowercase();
    if ON.contains(&lower.as_str()) {
        return Read::Switch(true);
    }
    if OFF.contains(&lower.as_str()) {
        return Read::Switch(false);
    }
    Read::Text(text)
}

/// The value of a key, unless it is null.
pub(super) fn get<'n>(node: &'n Node, key: &str) -> Option<&'n Node> {
    node.get(key).filter(|it| read(it) != Read::Nothing)
}

/// The string value of a key, if it is known and not empty.
pub(super) fn text<'n>(node: &'n Node, key: &str) -> Option<&'n str> {
    match read(node.get(key)?) {
        Read::Text(text) if !text.is_empty() => Some(text),
        _ => None,
    }
}

/// The integer value of a key.
pub(super) fn whole(node: &Node, key: &str) -> Option<i128> {
    match read(node.get(key)?) {
        Read::Whole(number) => Some(number),
        _ => None,
    }
}

/// The Boolean value of a key.
pub(super) fn switch(node: &Node, key: &str) -> Option<bool> {
    match read(node.get(key)?) {
        Read::Switch(on) => Some(on),
        _ => None,
    }
}

/// The items of the list value of a key, with indexes.
pub(super) fn items<'n>(node: &'n Node, key: &str) -> impl Iterator<Item = (usize, &'n Node)> {
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
            match super::read(&node) {
                Read::Text(_) => "text".to_owned(),
                other => format!("{other:?}"),
            }
        };
        assert_eq!(read("0644", true), "Whole(420)");
        assert_eq!(read("0", true), "Whole(0)");
        assert_eq!(read("3.0", true), "Whole(3)");
        assert_eq!(read("0.5", true), "Number(0.5)");
        assert_eq!(read("Yes", true), "Switch(true)");
        assert_eq!(read("off", true), "Switch(false)");
        assert_eq!(read("off", false), "text");
        assert_eq!(read("~", true), "Nothing");
        assert_eq!(read("${REPLICAS}", true), "Open");
        assert_eq!(read("3", false), "text");
    }
}
