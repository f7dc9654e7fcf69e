//! Paths in an object.

use gpuc_syntax::node::Node;
use gpuc_syntax::source::Span;

/// A step of a path: a key or an index.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    /// A key of a mapping.
    Key(String),
    /// The index of an item.
    Item(usize),
}

impl From<&str> for Step {
    fn from(key: &str) -> Self {
        Self::Key(key.to_owned())
    }
}

impl From<usize> for Step {
    fn from(index: usize) -> Self {
        Self::Item(index)
    }
}

/// The innermost node on a path that has a source location.
pub fn locate_path(node: &Node, path: &[Step], is_key: bool) -> Option<Span> {
    let mut node = node;
    let mut found = None;
    for (index, step) in path.iter().enumerate() {
        let (key, next) = match step {
            Step::Key(key) => {
                let Some(entry) = node.entry(key) else { break };
                (entry.key_span, &entry.value)
            }
            Step::Item(item) => {
                let Some(next) = node.items().get(*item) else {
                    break;
                };
                (Span::NONE, next)
            }
        };
        let is_last = index + 1 == path.len();
        let candidates = if is_key && is_last {
            [next.span(), key]
        } else {
            [key, next.span()]
        };
        for span in candidates.into_iter().filter(|span| span.is_written()) {
            found = Some(span);
        }
        node = next;
    }
    found
}

/// A path as text: `spec.containers[0].image`.
pub fn format_path(path: &[Step]) -> String {
    let mut words = String::new();
    for step in path {
        match step {
            Step::Key(key) if words.is_empty() => words.push_str(key),
            Step::Key(key) => words = format!("{words}.{key}"),
            Step::Item(index) => words = format!("{words}[{index}]"),
        }
    }
    words
}
