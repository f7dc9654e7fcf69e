//! A JSON value as text, with the place of one part of it; and parts found by their paths.

use serde_json::Value;

/// A step on the way to a part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PathStep {
    /// The value of a key.
    Key(String),
    /// An item of a list.
    Item(usize),
}

/// A value as text.
pub(super) struct MarkedText {
    /// JSON, which is YAML too.
    pub(super) text: String,
    /// From where to where the marked part goes, its key included.
    pub(super) marked: Option<(usize, usize)>,
}

impl MarkedText {
    /// Writes a value, and remembers the place of the part at a path.
    pub(super) fn from_value(root: &Value, marked: &[PathStep]) -> Self {
        let mut text = Self {
            text: String::new(),
            marked: None,
        };
        text.write(root, Some(marked), 0);
        text.text.push('\n');
        text
    }

    /// `marked` is what is left of the path, where this value is on it.
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
                        Some((PathStep::Key(wanted), rest)) if wanted == key => Some(rest),
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
                        Some((PathStep::Item(wanted), rest)) if *wanted == index => Some(rest),
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

/// Puts a value at a path whose containers are there.
pub(super) fn set(root: &mut Value, path: &[PathStep], value: Value) {
    let (last, parents) = path.split_last().unwrap();
    let parent = get_mut(root, parents).unwrap_or_else(|| panic!("nothing holds {path:?}"));
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

/// Takes the key at a path away.
pub(super) fn remove(root: &mut Value, path: &[PathStep]) {
    let Some((PathStep::Key(key), parents)) = path.split_last() else {
        return;
    };
    if let Some(Value::Object(parent)) = get_mut(root, parents) {
        parent.remove(key);
    }
}
