//! The edits between two inputs, and applying some of them to the old input.

use gpuc_syntax::load::{Loaded, STDIN};
use gpuc_syntax::node::{Entry, Node, Value};
use gpuc_syntax::source::Span;
use gpuc_syntax::yaml::core_schema::Core;

use super::fields::{below, named};

/// One edit of the input.
#[derive(Clone, Debug)]
pub(super) struct Edit {
    /// The path of the value, for display: `nodePools[train].nodes.max`.
    pub path: String,
    /// The location of the value; in the old input if the value was removed.
    pub span: Span,
    /// Whether the value was removed, so that its location is in the old input.
    pub is_gone: bool,
    at: At,
    to: To,
}

/// The path to a value.
#[derive(Clone, Debug, Default)]
struct At {
    steps: Vec<Step>,
    path: String,
}

#[derive(Clone, Debug)]
enum Step {
    Key(String),
    Item(String),
}

#[derive(Clone, Debug)]
enum To {
    Nothing,
    /// The value, with the location of its key.
    Value(Span, Node),
    /// The same items in another order.
    Order(Vec<String>),
    /// The same document in a file of this name.
    File(Option<String>),
    /// Not an edit of the document: a machine that the lock selects for a pool.
    Pick(String, String),
}

impl Edit {
    /// An edit of the lock that selects another machine for a pool.
    pub(super) fn pick(pool: &str, machine: &str) -> Self {
        Self {
            path: format!("machines.{pool}, edited in the lock: not requested by the input"),
            span: Span::NONE,
            is_gone: false,
            at: At::default(),
            to: To::Pick(pool.to_owned(), machine.to_owned()),
        }
    }

    /// The pool and the machine of an edit of the lock.
    pub(super) fn picked(&self) -> Option<(&str, &str)> {
        match &self.to {
            To::Pick(pool, machine) => Some((pool, machine)),
            _ => None,
        }
    }

    /// Whether only the file was renamed, which appears in the headers of generated files.
    pub(super) fn is_of_file(&self) -> bool {
        matches!(self.to, To::File(_))
    }
}

impl At {
    fn key(&self, key: &str) -> Self {
        let mut steps = self.steps.clone();
        steps.push(Step::Key(key.to_owned()));
        let path = below(&self.path, key);
        Self { steps, path }
    }

    fn item(&self, name: &str) -> Self {
        let mut steps = self.steps.clone();
        steps.push(Step::Item(name.to_owned()));
        let path = format!("{}[{name}]", self.path);
        Self { steps, path }
    }
}

/// Every edit from `before` to `after`, a renamed file last. Comments, quotes and the order of keys are not edits.
pub(super) fn edits(before: &Loaded, after: &Loaded) -> Vec<Edit> {
    let mut edits = within(&before.root, &after.root);
    if before.file != after.file {
        let was = before.file.as_deref().unwrap_or(STDIN);
        edits.push(Edit {
            path: format!("the name of this file, formerly {was}"),
            span: Span {
                source: after.source,
                start: 0,
                end: 0,
            },
            is_gone: false,
            at: At::default(),
            to: To::File(after.file.clone()),
        });
    }
    edits
}

fn within(before: &Node, after: &Node) -> Vec<Edit> {
    let mut edits = Vec::new();
    compare(before, after, &At::default(), &mut edits);
    edits
}

fn compare(before: &Node, after: &Node, at: &At, edits: &mut Vec<Edit>) {
    match (&before.value, &after.value) {
        (Value::Mapping(old), Value::Mapping(new)) => mappings(old, new, at, edits),
        (Value::Sequence(old), Value::Sequence(new)) if are_named(old) && are_named(new) => {
            lists(after, old, new, at, edits);
        }
        _ if is_same(before, after) => {}
        _ => edits.push(Edit {
            path: at.path.clone(),
            span: after.span(),
            is_gone: false,
            at: at.clone(),
            to: To::Value(Span::NONE, after.clone()),
        }),
    }
}

fn mappings(old: &[Entry], new: &[Entry], at: &At, edits: &mut Vec<Edit>) {
    for entry in old {
        let at = at.key(&entry.key);
        match new.iter().find(|it| it.key == entry.key) {
            Some(now) => compare(&entry.value, &now.value, &at, edits),
            None => edits.push(gone(at, entry.key_span, &entry.value)),
        }
    }
    for entry in new {
        if !old.iter().any(|it| it.key == entry.key) {
            edits.push(come(at.key(&entry.key), entry.key_span, &entry.value));
        }
    }
}

fn lists(after: &Node, old: &[Node], new: &[Node], at: &At, edits: &mut Vec<Edit>) {
    let (old, new) = (named(old), named(new));
    for (name, item) in &old {
        let at = at.item(name);
        match new.iter().find(|(it, _)| it == name) {
            Some((_, now)) => compare(item, now, &at, edits),
            None => edits.push(gone(at, Span::NONE, item)),
        }
    }
    for (name, item) in &new {
        if !old.iter().any(|(it, _)| it == name) {
            edits.push(come(at.item(name), Span::NONE, item));
        }
    }
    let stay = |items: &[(String, &Node)], others: &[(String, &Node)]| {
        let names = items.iter().map(|(name, _)| name.clone());
        let stays = |name: &String| others.iter().any(|(it, _)| it == name);
        names.filter(stays).collect::<Vec<_>>()
    };
    if stay(&old, &new) != stay(&new, &old) {
        edits.push(Edit {
            path: format!("the order of {}", at.path),
            span: after.span(),
            is_gone: false,
            at: at.clone(),
            to: To::Order(new.into_iter().map(|(name, _)| name).collect()),
        });
    }
}

fn gone(at: At, key: Span, value: &Node) -> Edit {
    Edit {
        path: at.path.clone(),
        span: place(key, value),
        is_gone: true,
        at,
        to: To::Nothing,
    }
}

fn come(at: At, key: Span, value: &Node) -> Edit {
    Edit {
        path: at.path.clone(),
        span: place(key, value),
        is_gone: false,
        at,
        to: To::Value(key, value.clone()),
    }
}

/// The location of the key, if there is one: the location of a mapping is that of its first key.
fn place(key: Span, value: &Node) -> Span {
    if key.is_written() { key } else { value.span() }
}

/// Whether all items of a list have distinct names, so that their order does not matter.
fn are_named(items: &[Node]) -> bool {
    let names = |item: &Node| item.get("name").and_then(Node::text).is_some();
    items.iter().all(names)
        && named(items)
            .iter()
            .all(|(name, item)| item.get("name").and_then(Node::text) == Some(name))
}

/// Whether two trees have equal values.
fn is_same(before: &Node, after: &Node) -> bool {
    match (&before.value, &after.value) {
        (Value::Scalar(old), Value::Scalar(new)) => match (old.core(), new.core()) {
            // NaN equals NaN.
            (Core::Float(old), Core::Float(new)) => old.to_bits() == new.to_bits(),
            (old, new) => old == new,
        },
        (Value::Sequence(old), Value::Sequence(new)) => {
            old.len() == new.len() && old.iter().zip(new).all(|(old, new)| is_same(old, new))
        }
        (Value::Mapping(old), Value::Mapping(new)) => {
            let same = |entry: &Entry| {
                let now = new.iter().find(|it| it.key == entry.key);
                now.is_some_and(|now| is_same(&entry.value, &now.value))
            };
            old.len() == new.len() && old.iter().all(same)
        }
        _ => false,
    }
}

/// Applies some of the edits to the old input.
#[must_use]
pub(super) fn with<'e>(before: &Loaded, edits: impl IntoIterator<Item = &'e Edit>) -> Loaded {
    let mut loaded = before.clone();
    for edit in edits {
        match &edit.to {
            To::File(name) => loaded.file.clone_from(name),
            To::Pick(..) => {}
            to => carry_out(&mut loaded.root, &edit.at.steps, to),
        }
    }
    loaded
}

fn carry_out(node: &mut Node, steps: &[Step], to: &To) {
    let Some((step, rest)) = steps.split_first() else {
        match to {
            To::Value(_, value) => *node = value.clone(),
            To::Order(names) => reorder(node, names),
            To::Nothing | To::File(_) | To::Pick(..) => {}
        }
        return;
    };
    match (step, &mut node.value) {
        (Step::Key(key), Value::Mapping(entries)) => {
            let index = entries.iter().position(|entry| entry.key == *key);
            match (index, to) {
                (Some(index), To::Nothing) if rest.is_empty() => drop(entries.remove(index)),
                (Some(index), _) => carry_out(&mut entries[index].value, rest, to),
                (None, To::Value(key_span, value)) => entries.push(Entry {
                    key: key.clone(),
                    key_span: *key_span,
                    value: value.clone(),
                }),
                (None, _) => {}
            }
        }
        (Step::Item(name), Value::Sequence(items)) => {
            let names = named(items);
            let index = names.iter().position(|(it, _)| it == name);
            match (index, to) {
                (Some(index), To::Nothing) if rest.is_empty() => drop(items.remove(index)),
                (Some(index), _) => carry_out(&mut items[index], rest, to),
                (None, To::Value(_, value)) => items.push(value.clone()),
                (None, _) => {}
            }
        }
        _ => {}
    }
}

fn reorder(node: &mut Node, names: &[String]) {
    if let Value::Sequence(items) = &mut node.value {
        let place = |item: &Node| {
            let name = item.get("name").and_then(Node::text);
            names.iter().position(|it| Some(it.as_str()) == name)
        };
        items.sort_by_key(place);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loaded(file: &str, text: &str) -> Loaded {
        let mut sources = gpuc_syntax::source::Sources::default();
        let source = sources.add(file, text);
        let mut report = gpuc_syntax::diag::Report::default();
        let root = gpuc_syntax::yaml::parse(&sources, source, &mut report)[0]
            .root
            .clone();
        Loaded {
            root,
            source,
            file: Some(file.to_owned()),
            is_base: false,
            poisoned: Vec::new(),
        }
    }

    fn paths(before: &str, after: &str) -> Vec<String> {
        paths_of(&loaded("a.yaml", before), &loaded("a.yaml", after))
    }

    fn paths_of(before: &Loaded, after: &Loaded) -> Vec<String> {
        let edits = edits(before, after);
        assert!(
            super::edits(&with(before, &edits), after).is_empty(),
            "applying all edits yields the new input"
        );
        edits.into_iter().map(|edit| edit.path).collect()
    }

    #[test]
    fn renamed_file_is_an_edit() {
        let before = loaded("a.yaml", "a: 1\n");
        let after = loaded("b.yaml", "a: 2\n");
        let name = "the name of this file, formerly a.yaml";
        assert_eq!(paths_of(&before, &after), ["a", name]);
    }

    #[test]
    fn equal_values_are_no_edit() {
        assert!(paths("a: 1 # one\nb: 'x'\n", "b: \"x\"\na: 1\n").is_empty());
    }

    #[test]
    fn items_are_matched_by_name() {
        let before = "pools: [{name: a, max: 1}, {name: b, max: 1}, {name: c}]\n";
        let after = "pools: [{name: c}, {name: d}, {name: b, max: 2}]\n";
        assert_eq!(
            paths(before, after),
            ["pools[a]", "pools[b].max", "pools[d]", "the order of pools"]
        );
    }

    #[test]
    fn scalar_lists_and_other_shapes_change_as_a_whole() {
        assert_eq!(paths("zones: [a, b]\n", "zones: [b, a]\n"), ["zones"]);
        assert_eq!(paths("a: {b: 1}\n", "a: 1\n"), ["a"]);
        assert_eq!(paths("a: {b: 1}\n", "{}\n"), ["a"]);
    }
}
