//! A JSON value as text with the range of a marked part, and access to parts by path.

use serde_json::Value;

/// A step of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PathStep {
    /// The value of a key.
    Key(String),
    /// An item of a list.
    Item(usize),
}

/// A value as text.
pub(super) struct MarkedText {
    /// The value as JSON, which is also YAML.
    pub(super) text: String,
    /// The byte range of the marked part, including its key.
    pub(super) marked: Option<(usize, usize)>,
}

impl MarkedText {
    /// Serializes a value and records the range of the part at a path.
    pub(super) fn from_value(root: &Value, marked: &[PathStep]) -> Self {
        let mut text = Self {
            text: String::new(),
            marked: None,
        };
        text.write(root, Some(marked), 0);
        text.text.push('\n');
        text
    }

    /// `marked` is the rest of the path, if this value is on it.
    fn write(&mut self, value: &Value, marked: Option<&[PathStep]>, depth: usize) {
        let indent = "  ".repeat(depth + 1);
        let start = self.text.len();
        match value {
            Value::Object(fields) if !fields.is_empty() => {
                self.text.push('{');
                for (index, (key, field)) in fields.iter().enumerate() {
                    self.text.push_str(if index == 0 { "\n" } else { ",\n" });
                    self.text.push_str(&indent);
                    let start = self.text.len();
                    let rest = marked.and_then(|marked| match marked.split_first() {
                        Some((PathStep::Key(expected), rest)) if expected == key => Some(rest),
                        _ => None,
                    });
                    self.text.push_str(&Value::from(key.as_str()).to_string());
                    self.text.push_str(": ");
                    self.write(field, rest, depth + 1);
                    if rest.is_some_and(<[PathStep]>::is_empty) {
                        self.marked = Some((start, self.text.len()));
                    }
                }
                self.text.push('\n');
                self.text.push_str(&indent[2..]);
                self.text.push('}');
            }
            Value::Array(items) if !items.is_empty() => {
                self.text.push('[');
                for (index, item) in items.iter().enumerate() {
                    self.text.push_str(if index == 0 { "\n" } else { ",\n" });
                    self.text.push_str(&indent);
                    let rest = marked.and_then(|marked| match marked.split_first() {
                        Some((PathStep::Item(expected), rest)) if *expected == index => Some(rest),
                        _ => None,
                    });
                    self.write(item, rest, depth + 1);
                }
                self.text.push('\n');
                self.text.push_str(&indent[2..]);
                self.text.push(']');
            }
            other => self.text.push_str(&other.to_string()),
        }
        if marked.is_some_and(<[PathStep]>::is_empty) && self.marked.is_none() {
            self.marked = Some((start, self.text.len()));
        }
    }
}

/// The part at a path.
pub(super) fn get<'v>(root: &'v Value, path: &[PathStep]) -> Option<&'v Value> {
    path.iter().try_fold(root, |value, step| match step {
        PathStep::Key(key) => value.get(key),
        PathStep::Item(index) => value.get(index),
    })
}

fn get_mut<'v>(root: &'v mut Value, path: &[PathStep]) -> Option<&'v mut Value> {
    path.iter().try_fold(root, |value, step| match step {
        PathStep::Key(key) => value.get_mut(key),
        PathStep::Item(index) => value.get_mut(index),
    })
}

/// Sets the value at a path whose parents exist.
pub(super) fn set(root: &mut Value, path: &[PathStep], value: Value) {
    let (last, parents) = path.split_last().unwrap();
    let parent = get_mut(root, parents).unwrap_or_else(|| panic!("{path:?} has no parent"));
    match last {
        PathStep::Key(key) => {
            parent.as_object_mut().unwrap().insert(key.clone(), value);
        }
        PathStep::Item(index) => {
            let items = parent.as_array_mut().unwrap();
            items.resize((*index + 1).max(items.len()), Value::Null);
            items[*index] = value;
        }
    }
}

/// Removes the key at a path.
pub(super) fn remove(root: &mut Value, path: &[PathStep]) {
    let Some((PathStep::Key(key), parents)) = path.split_last() else {
        return;
    };
    if let Some(Value::Object(parent)) = get_mut(root, parents) {
        parent.remove(key);
    }
}
