//! Leaves, as kubectl hands them to the API server.

use crate::node::{Node, Scalar, Value};
use crate::yaml::core_schema::Core;

/// What a node is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Read<'n> {
    /// Nothing: as if the key were not there.
    Nothing,
    /// True or false.
    Switch(bool),
    /// A whole number.
    Whole(i128),
    /// Any other number.
    Number(f64),
    /// Text.
    Text(&'n str),
    /// Text that a program fills in later: it may become anything.
    Open,
    /// Keys and values.
    Mapping,
    /// A list.
    List,
}

/// Words that are switches in YAML 1.1, which is what kubectl reads.
///
/// Source: go-yaml/yaml v2 `resolve.go`, `resolveMap` (from memory).
const ON: &[&str] = &["yes", "on"];
const OFF: &[&str] = &["no", "off"];

/// What fills in values: Helm, envsubst and Flux, kustomize and `OpenShift`'s templates.
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

/// Whole numbers with a point are whole: `1.0`, `1e3`.
fn float(value: f64) -> Read<'static> {
    let is_whole = value.fract() == 0.0 && value.abs() < 9e15;
    #[expect(clippy::cast_possible_truncation, reason = "whole, and not too large")]
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

/// The value of a key that says something.
pub(super) fn get<'n>(node: &'n Node, key: &str) -> Option<&'n Node> {
    node.get(key).filter(|it| read(it) != Read::Nothing)
}

/// The text below a key, where it is known and not empty.
pub(super) fn text<'n>(node: &'n Node, key: &str) -> Option<&'n str> {
    match read(node.get(key)?) {
        Read::Text(text) if !text.is_empty() => Some(text),
        _ => None,
    }
}

/// The whole number below a key.
pub(super) fn whole(node: &Node, key: &str) -> Option<i128> {
    match read(node.get(key)?) {
        Read::Whole(number) => Some(number),
        _ => None,
    }
}

/// The switch below a key.
pub(super) fn switch(node: &Node, key: &str) -> Option<bool> {
    match read(node.get(key)?) {
        Read::Switch(on) => Some(on),
        _ => None,
    }
}

/// The items of the list below a key, with their numbers.
pub(super) fn items<'n>(node: &'n Node, key: &str) -> impl Iterator<Item = (usize, &'n Node)> {
    node.get(key)
        .map_or(&[][..], Node::items)
        .iter()
        .enumerate()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Span;

    #[test]
    fn leaves_are_read_as_kubectl_does() {
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
