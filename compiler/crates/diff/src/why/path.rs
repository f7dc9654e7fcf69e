//! Paths in a document: `spec.template.spec.tolerations[0].key`.

use std::fmt;

use gpuc_syntax::node::{Node, Value};

/// One segment of a path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    /// The value of a key.
    Key(String),
    /// An item of a list, counted from 0.
    Index(usize),
}

/// The path from the root of a document to one of its parts; empty for the whole document.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Path(pub Vec<Step>);

impl Path {
    /// Parses `spec.containers[0]["a.b/c"]`, with or without a leading dot. The error describes the mistake.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut steps = Vec::new();
        let mut rest = text.strip_prefix('.').unwrap_or(text);
        while !rest.is_empty() {
            if let Some(inside) = rest.strip_prefix('[') {
                let (step, after) = parse_bracket(inside)?;
                steps.push(step);
                rest = after;
            } else {
                let end = rest.find(['.', '[']).unwrap_or(rest.len());
                let (key, after) = rest.split_at(end);
                if key.is_empty() {
                    return Err("two dots follow each other".to_owned());
                }
                steps.push(Step::Key(key.to_owned()));
                rest = after;
            }
            if let Some(after) = rest.strip_prefix('.') {
                rest = after;
                if rest.is_empty() {
                    return Err("it ends with a dot".to_owned());
                }
            }
        }
        Ok(Self(steps))
    }

    /// The path with another segment.
    #[must_use]
    pub fn child(&self, step: Step) -> Self {
        let mut steps = self.0.clone();
        steps.push(step);
        Self(steps)
    }

    /// The part of a document at this path.
    pub fn find<'n>(&self, root: &'n Node) -> Option<&'n Node> {
        self.0.iter().try_fold(root, child_of)
    }

    /// The number of segments that exist, and the part that they lead to.
    pub fn find_longest<'n>(&self, root: &'n Node) -> (usize, &'n Node) {
        let mut node = root;
        for (count, of) in self.0.iter().enumerate() {
            match child_of(node, of) {
                Some(below) => node = below,
                None => return (count, node),
            }
        }
        (self.0.len(), node)
    }

    /// Whether the path equals the other or is below it.
    pub fn is_below(&self, other: &Self) -> bool {
        self.0.starts_with(&other.0)
    }

    /// The keys without indexes, as in the schema: `nodePools.taints.key`.
    pub fn keys(&self) -> String {
        let keys = self.0.iter().filter_map(|step| match step {
            Step::Key(key) => Some(key.as_str()),
            Step::Index(_) => None,
        });
        keys.collect::<Vec<_>>().join(".")
    }
}

fn child_of<'n>(node: &'n Node, step: &Step) -> Option<&'n Node> {
    match step {
        Step::Key(key) => node.get(key),
        Step::Index(index) => node.items().get(*index),
    }
}

/// Parses the text after an opening bracket; returns the rest after the closing one.
fn parse_bracket(text: &str) -> Result<(Step, &str), String> {
    if text.starts_with('"') {
        let mut read = serde_json::Deserializer::from_str(text).into_iter::<String>();
        let key = read.next().and_then(Result::ok);
        let after = &text[read.byte_offset()..];
        if let (Some(key), Some(after)) = (key, after.strip_prefix(']')) {
            return Ok((Step::Key(key), after));
        }
        return Err("the key in brackets does not end with `\"]`".to_owned());
    }
    let Some((inside, after)) = text.split_once(']') else {
        return Err("a bracket is not closed".to_owned());
    };
    let step = match inside.parse() {
        Ok(index) => Step::Index(index),
        Err(_) => Step::Key(inside.trim_matches('\'').to_owned()),
    };
    Ok((step, after))
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, step) in self.0.iter().enumerate() {
            match step {
                Step::Index(index) => write!(f, "[{index}]")?,
                Step::Key(key) if key.is_empty() || key.contains(['.', '[', ']', '"', '\'']) => {
                    write!(f, "[{}]", serde_json::Value::from(key.as_str()))?;
                }
                Step::Key(key) if place == 0 => f.write_str(key)?,
                Step::Key(key) => write!(f, ".{key}")?,
            }
        }
        Ok(())
    }
}

/// Visits every part of a document, parents first.
pub(super) fn walk<'n>(root: &'n Node, see: &mut impl FnMut(&Path, &'n Node)) {
    fn walk_below<'n>(path: &mut Path, node: &'n Node, see: &mut impl FnMut(&Path, &'n Node)) {
        see(path, node);
        match &node.value {
            Value::Scalar(_) => {}
            Value::Sequence(items) => {
                for (index, item) in items.iter().enumerate() {
                    path.0.push(Step::Index(index));
                    walk_below(path, item, see);
                    path.0.pop();
                }
            }
            Value::Mapping(entries) => {
                for entry in entries {
                    path.0.push(Step::Key(entry.key.clone()));
                    walk_below(path, &entry.value, see);
                    path.0.pop();
                }
            }
        }
    }
    walk_below(&mut Path::default(), root, see);
}

/// A mutable part of a document.
pub(super) fn find_mut<'n>(root: &'n mut Node, path: &[Step]) -> Option<&'n mut Node> {
    path.iter().try_fold(root, child_mut)
}

fn child_mut<'n>(node: &'n mut Node, step: &Step) -> Option<&'n mut Node> {
    match (&mut node.value, step) {
        (Value::Mapping(entries), Step::Key(key)) => {
            let entry = entries.iter_mut().find(|entry| entry.key == *key);
            entry.map(|entry| &mut entry.value)
        }
        (Value::Sequence(items), Step::Index(index)) => items.get_mut(*index),
        _ => None,
    }
}

/// Whether a part has no nested parts.
pub(super) fn is_leaf(node: &Node) -> bool {
    node.entries().is_empty() && node.items().is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_parse_as_printed() {
        for text in [
            "",
            "spec",
            "spec.template.spec.tolerations[0].key",
            r#"metadata.labels["app.kubernetes.io/name"]"#,
            "a[0][1].b",
            r#"[""].a"#,
            r#"["a\"]b"][2]"#,
        ] {
            assert_eq!(Path::parse(text).unwrap().to_string(), text);
        }
        let same = |a, b| assert_eq!(Path::parse(a).unwrap(), Path::parse(b).unwrap());
        same(".spec.a", "spec.a");
        same("labels[a.b/c]", r#"labels["a.b/c"]"#);
        same("labels['a.b/c']", r#"labels["a.b/c"]"#);
        for (text, wrong) in [
            ("a..b", "dots"),
            ("a.", "dot"),
            ("a[0", "closed"),
            ("a[\"b]", "does not end"),
        ] {
            let error = Path::parse(text).unwrap_err();
            assert!(error.contains(wrong), "{text}: {error}");
        }
    }
}
