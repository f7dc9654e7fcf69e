//! The edits between two inputs, and applying some of them to the old input.

use gpuc_syntax::load::{Loaded, STDIN};
use gpuc_syntax::node::{Entry, Node, Value};
use gpuc_syntax::source::Span;
use gpuc_syntax::yaml::core_schema::CoreValue;

use super::fields::{child_path, items_with_names};

/// One edit of the input.
#[derive(Clone, Debug)]
pub(super) struct Edit {
    /// The path of the value, for display: `nodePools[train].nodes.max`.
    pub path: String,
    /// The location of the value; in the old input if the value was removed.
    pub span: Span,
    /// Whether the value was removed, so that its location is in the old input.
    pub is_removal: bool,
    target: EditPath,
    new_value: EditedValue,
}

/// The path to a value.
#[derive(Clone, Debug, Default)]
struct EditPath {
    steps: Vec<Step>,
    path: String,
}

#[derive(Clone, Debug)]
enum Step {
    Key(String),
    Item(String),
}

#[derive(Clone, Debug)]
enum EditedValue {
    Removed,
    /// The value, with the location of its key.
    Value(Span, Node),
    /// The same items in another order.
    Order(Vec<String>),
    /// The same document in a file of this name.
    File(Option<String>),
    /// Not an edit of the document: a machine that the lock selects for a pool.
    Machine(String, String),
}

impl Edit {
    /// An edit of the lock that selects another machine for a pool.
    pub(super) fn machine_selection(pool: &str, machine: &str) -> Self {
        Self {
            path: format!("machines.{pool}, edited in the lock: not requested by the input"),
            span: Span::NONE,
            is_removal: false,
            target: EditPath::default(),
            new_value: EditedValue::Machine(pool.to_owned(), machine.to_owned()),
        }
    }

    /// The pool and the machine of an edit of the lock.
    pub(super) fn selected_machine(&self) -> Option<(&str, &str)> {
        match &self.new_value {
            EditedValue::Machine(pool, machine) => Some((pool, machine)),
            _ => None,
        }
    }

    /// Whether only the file was renamed, which appears in the headers of generated files.
    pub(super) fn is_file_rename(&self) -> bool {
        matches!(self.new_value, EditedValue::File(_))
    }
}

impl EditPath {
    fn with_key(&self, key: &str) -> Self {
        let mut steps = self.steps.clone();
        steps.push(Step::Key(key.to_owned()));
        let path = child_path(&self.path, key);
        Self { steps, path }
    }

    fn with_item(&self, name: &str) -> Self {
        let mut steps = self.steps.clone();
        steps.push(Step::Item(name.to_owned()));
        let path = format!("{}[{name}]", self.path);
        Self { steps, path }
    }
}

/// Every edit from `before` to `after`, a renamed file last. Comments, quotes and the order of keys are not edits.
pub(super) fn edits(before: &Loaded, after: &Loaded) -> Vec<Edit> {
    let mut edits = edits_between(&before.root, &after.root);
    if before.file != after.file {
        let was = before.file.as_deref().unwrap_or(STDIN);
        edits.push(Edit {
            path: format!("the name of this file, formerly {was}"),
            span: Span {
                source: after.source,
                start: 0,
                end: 0,
            },
            is_removal: false,
            target: EditPath::default(),
            new_value: EditedValue::File(after.file.clone()),
        });
    }
    edits
}

fn edits_between(before: &Node, after: &Node) -> Vec<Edit> {
    let mut edits = Vec::new();
    compare_nodes(before, after, &EditPath::default(), &mut edits);
    edits
}

fn compare_nodes(before: &Node, after: &Node, at: &EditPath, edits: &mut Vec<Edit>) {
    match (&before.value, &after.value) {
        (Value::Mapping(old), Value::Mapping(new)) => compare_mappings(old, new, at, edits),
        (Value::Sequence(old), Value::Sequence(new))
            if have_distinct_names(old) && have_distinct_names(new) =>
        {
            compare_lists(after, old, new, at, edits);
        }
        _ if has_equal_value(before, after) => {}
        _ => edits.push(Edit {
            path: at.path.clone(),
            span: after.span(),
            is_removal: false,
            target: at.clone(),
            new_value: EditedValue::Value(Span::NONE, after.clone()),
        }),
    }
}

fn compare_mappings(old: &[Entry], new: &[Entry], at: &EditPath, edits: &mut Vec<Edit>) {
    for entry in old {
        let at = at.with_key(&entry.key);
        match new.iter().find(|it| it.key == entry.key) {
            Some(now) => compare_nodes(&entry.value, &now.value, &at, edits),
            None => edits.push(removal(at, entry.key_span, &entry.value)),
        }
    }
    for entry in new {
        if !old.iter().any(|it| it.key == entry.key) {
            edits.push(addition(
                at.with_key(&entry.key),
                entry.key_span,
                &entry.value,
            ));
        }
    }
}

fn compare_lists(after: &Node, old: &[Node], new: &[Node], at: &EditPath, edits: &mut Vec<Edit>) {
    let (old, new) = (items_with_names(old), items_with_names(new));
    for (name, item) in &old {
        let at = at.with_item(name);
        match new.iter().find(|(it, _)| it == name) {
            Some((_, now)) => compare_nodes(item, now, &at, edits),
            None => edits.push(removal(at, Span::NONE, item)),
        }
    }
    for (name, item) in &new {
        if !old.iter().any(|(it, _)| it == name) {
            edits.push(addition(at.with_item(name), Span::NONE, item));
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
            is_removal: false,
            target: at.clone(),
            new_value: EditedValue::Order(new.into_iter().map(|(name, _)| name).collect()),
        });
    }
}

fn removal(at: EditPath, key: Span, value: &Node) -> Edit {
    Edit {
        path: at.path.clone(),
        span: edit_span(key, value),
        is_removal: true,
        target: at,
        new_value: EditedValue::Removed,
    }
}

fn addition(at: EditPath, key: Span, value: &Node) -> Edit {
    Edit {
        path: at.path.clone(),
        span: edit_span(key, value),
        is_removal: false,
        target: at,
        new_value: EditedValue::Value(key, value.clone()),
    }
}

/// The location of the key, if there is one: the location of a mapping is that of its first key.
fn edit_span(key: Span, value: &Node) -> Span {
    if key.is_written() { key } else { value.span() }
}

/// Whether all items of a list have distinct names, so that their order does not matter.
fn have_distinct_names(items: &[Node]) -> bool {
    let names = |item: &Node| item.get("name").and_then(Node::text).is_some();
    items.iter().all(names)
        && items_with_names(items)
            .iter()
            .all(|(name, item)| item.get("name").and_then(Node::text) == Some(name))
}

/// Whether two trees have equal values.
fn has_equal_value(before: &Node, after: &Node) -> bool {
    match (&before.value, &after.value) {
        (Value::Scalar(old), Value::Scalar(new)) => match (old.core_value(), new.core_value()) {
            // NaN equals NaN.
            (CoreValue::Float(old), CoreValue::Float(new)) => old.to_bits() == new.to_bits(),
            (old, new) => old == new,
        },
        (Value::Sequence(old), Value::Sequence(new)) => {
            old.len() == new.len()
                && old
                    .iter()
                    .zip(new)
                    .all(|(old, new)| has_equal_value(old, new))
        }
        (Value::Mapping(old), Value::Mapping(new)) => {
            let is_unchanged = |entry: &Entry| {
                let now = new.iter().find(|it| it.key == entry.key);
                now.is_some_and(|now| has_equal_value(&entry.value, &now.value))
            };
            old.len() == new.len() && old.iter().all(is_unchanged)
        }
        _ => false,
    }
}

/// Applies some of the edits to the old input.
#[must_use]
pub(super) fn apply_edits<'e>(
    before: &Loaded,
    edits: impl IntoIterator<Item = &'e Edit>,
) -> Loaded {
    let mut loaded = before.clone();
    for edit in edits {
        match &edit.new_value {
            EditedValue::File(name) => loaded.file.clone_from(name),
            EditedValue::Machine(..) => {}
            to => apply_at(&mut loaded.root, &edit.target.steps, to),
        }
    }
    loaded
}

fn apply_at(node: &mut Node, steps: &[Step], to: &EditedValue) {
    let Some((step, rest)) = steps.split_first() else {
        match to {
            EditedValue::Value(_, value) => *node = value.clone(),
            EditedValue::Order(names) => reorder(node, names),
            EditedValue::Removed | EditedValue::File(_) | EditedValue::Machine(..) => {}
        }
        return;
    };
    match (step, &mut node.value) {
        (Step::Key(key), Value::Mapping(entries)) => {
            let index = entries.iter().position(|entry| entry.key == *key);
            match (index, to) {
                (Some(index), EditedValue::Removed) if rest.is_empty() => {
                    drop(entries.remove(index));
                }
                (Some(index), _) => apply_at(&mut entries[index].value, rest, to),
                (None, EditedValue::Value(key_span, value)) => entries.push(Entry {
                    key: key.clone(),
                    key_span: *key_span,
                    value: value.clone(),
                }),
                (None, _) => {}
            }
        }
        (Step::Item(name), Value::Sequence(items)) => {
            let names = items_with_names(items);
            let index = names.iter().position(|(it, _)| it == name);
            match (index, to) {
                (Some(index), EditedValue::Removed) if rest.is_empty() => drop(items.remove(index)),
                (Some(index), _) => apply_at(&mut items[index], rest, to),
                (None, EditedValue::Value(_, value)) => items.push(value.clone()),
                (None, _) => {}
            }
        }
        _ => {}
    }
}

fn reorder(node: &mut Node, names: &[String]) {
    if let Value::Sequence(items) = &mut node.value {
        let position = |item: &Node| {
            let name = item.get("name").and_then(Node::text);
            names.iter().position(|it| Some(it.as_str()) == name)
        };
        items.sort_by_key(position);
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
            super::edits(&apply_edits(before, &edits), after).is_empty(),
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
