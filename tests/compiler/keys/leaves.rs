//! The keys of the file, from its JSON Schema.

use std::fmt;

use serde_json::{Map, Value};

use super::bases::values_at;
use super::text::{self, PathStep};

/// A key whose value contains no other keys.
#[derive(Clone, Debug)]
pub(super) struct Leaf {
    /// The path of the key. Lists are represented by their first item.
    pub(super) path: Vec<PathStep>,
    /// The kind of the value.
    pub(super) kind: LeafKind,
    /// Whether the key is optional.
    pub(super) optional: bool,
    /// The key of the choice that contains the value.
    pub(super) tag: Option<String>,
    /// The schema of the value.
    pub(super) schema: Value,
}

/// The kind of a value.
#[derive(Clone, Debug)]
pub(super) enum LeafKind {
    /// A constant, for which there is no other value to try.
    Constant,
    /// An enumeration.
    Enum(Vec<String>),
    /// True or false.
    Bool,
    /// An empty mapping.
    Empty,
    /// Anything else.
    Other,
}

/// Every key of a schema.
pub(super) fn all_leaves(schema: &Value) -> Vec<Leaf> {
    let mut leaves = Vec::new();
    walk(schema, schema, &[], true, &mut leaves);
    leaves
}

fn walk(root: &Value, schema: &Value, path: &[PathStep], optional: bool, leaves: &mut Vec<Leaf>) {
    let schema = resolve_reference(root, schema);
    let leaf = |kind, tag: Option<&str>| Leaf {
        path: path.to_vec(),
        kind,
        optional,
        tag: tag.map(str::to_owned),
        schema: schema.clone(),
    };
    let below = |key: &str| [path, &[PathStep::Key(key.to_owned())]].concat();
    if let Some(choices) = schema.get("oneOf").and_then(Value::as_array) {
        let mut values = Vec::new();
        for choice in choices {
            values.extend(enum_values(choice));
            for (tag, value) in fields(choice) {
                let value = resolve_reference(root, value);
                if fields(&value).next().is_some() {
                    walk(root, &value, &below(tag), false, leaves);
                } else {
                    let kind = if is_empty(&value) {
                        LeafKind::Empty
                    } else {
                        LeafKind::Other
                    };
                    leaves.push(leaf(kind, Some(tag)));
                }
            }
        }
        match values.len() {
            0 => {}
            1 if choices.len() == 1 => leaves.push(leaf(LeafKind::Constant, None)),
            _ => leaves.push(leaf(LeafKind::Enum(values), None)),
        }
        return;
    }
    let items = schema
        .get("items")
        .map(|items| resolve_reference(root, items));
    if let Some(items) = items.filter(|items| fields(items).next().is_some()) {
        let path = [path, &[PathStep::Item(0)]].concat();
        walk(root, &items, &path, false, leaves);
        return;
    }
    if fields(&schema).next().is_some() {
        let required = schema.get("required").and_then(Value::as_array);
        for (key, value) in fields(&schema) {
            let needed = required.is_some_and(|it| it.iter().any(|it| it == key));
            walk(root, value, &below(key), !needed, leaves);
        }
        return;
    }
    let values = enum_values(&schema);
    let kind = match () {
        () if values.len() == 1 => LeafKind::Constant,
        () if !values.is_empty() => LeafKind::Enum(values),
        () if schema.get("type") == Some(&Value::from("boolean")) => LeafKind::Bool,
        () if is_empty(&schema) => LeafKind::Empty,
        () => LeafKind::Other,
    };
    leaves.push(leaf(kind, None));
}

impl Leaf {
    /// The keys of the path in dotted notation, without indexes.
    pub(super) fn dotted(&self) -> String {
        let keys = self.path.iter().filter_map(|step| match step {
            PathStep::Key(key) => Some(key.as_str()),
            PathStep::Item(_) => None,
        });
        let keys: Vec<_> = keys.chain(self.tag.as_deref()).collect();
        keys.join(".")
    }

    /// The section that contains the key: a section of the file, of a pool or of a cloud.
    pub(super) fn section(&self) -> &[PathStep] {
        let first = self.path.first();
        let is = |name: &str| first == Some(&PathStep::Key(name.to_owned()));
        let depth = if is("nodePools") || is("cloud") { 3 } else { 1 };
        &self.path[..depth.min(self.path.len())]
    }

    /// The same key in each pool of the file.
    pub(super) fn in_every_pool(&self, root: &Value) -> Vec<Self> {
        let of_pools = self.path.first() == Some(&PathStep::Key("nodePools".to_owned()));
        let pools = root["nodePools"].as_array().map_or(1, Vec::len);
        let count = if of_pools { pools } else { 1 };
        (0..count)
            .map(|index| {
                let mut leaf = self.clone();
                if of_pools {
                    leaf.path[1] = PathStep::Item(index);
                }
                leaf
            })
            .collect()
    }

    /// Adds minimal parents of the key. Returns the path of the outermost added parent, or of the key.
    pub(super) fn insert_parents(
        &self,
        root: &mut Value,
        schema: &Value,
        cloud: &str,
    ) -> Vec<PathStep> {
        let mut outermost = None;
        for length in 1..=self.path.len() {
            let path = &self.path[..length];
            let there = text::get(root, path).is_some_and(|value| !value.is_null());
            let last = length == self.path.len();
            if there || (last && self.optional) {
                continue;
            }
            let at = schema_at(schema, path);
            // This choice replaces another choice in the same place.
            let (parent, key) = (&path[..length - 1], &path[length - 1]);
            let choice = schema_at(schema, parent).get("oneOf").is_some();
            if let (true, PathStep::Key(tag)) = (choice, key) {
                let value = minimal_value(schema, &at, &dotted(path), cloud);
                let mut only = Map::new();
                only.insert(tag.clone(), value);
                text::set(root, parent, Value::Object(only));
                outermost.get_or_insert_with(|| parent.to_vec());
                continue;
            }
            text::set(root, path, minimal_value(schema, &at, &dotted(path), cloud));
            outermost.get_or_insert_with(|| path.to_vec());
        }
        let mut outermost = outermost.unwrap_or_else(|| self.path.clone());
        // A key that the test removes again has no location, so that its parent is marked.
        while text::get(root, &outermost).is_none() || outermost.last().is_some_and(is_item) {
            outermost.pop();
        }
        outermost
    }
}

impl fmt::Display for Leaf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, step) in self.path.iter().enumerate() {
            match step {
                PathStep::Key(key) if index == 0 => write!(f, "{key}")?,
                PathStep::Key(key) => write!(f, ".{key}")?,
                PathStep::Item(index) => write!(f, "[{index}]")?,
            }
        }
        self.tag.as_ref().map_or(Ok(()), |tag| write!(f, ".{tag}"))
    }
}

fn is_item(step: &PathStep) -> bool {
    matches!(step, PathStep::Item(_))
}

fn dotted(path: &[PathStep]) -> String {
    let keys = path.iter().filter_map(|step| match step {
        PathStep::Key(key) => Some(key.as_str()),
        PathStep::Item(_) => None,
    });
    keys.collect::<Vec<_>>().join(".")
}

/// The minimal value of a key: its required keys only.
fn minimal_value(root: &Value, schema: &Value, path: &str, cloud: &str) -> Value {
    let schema = resolve_reference(root, schema);
    if let Some(value) = values_at(cloud, path).into_iter().next() {
        return value;
    }
    if let Some(choices) = schema.get("oneOf").and_then(Value::as_array) {
        let first = &choices[0];
        if let Some(word) = enum_values(first).into_iter().next() {
            return Value::from(word);
        }
        let (tag, value) = fields(first).next().unwrap();
        let value = minimal_value(root, value, &format!("{path}.{tag}"), cloud);
        return Value::Object(Map::from_iter([(tag.clone(), value)]));
    }
    if let Some(items) = schema.get("items") {
        return Value::Array(vec![minimal_value(root, items, path, cloud)]);
    }
    if schema.get("type") == Some(&Value::from("object")) {
        let required = schema.get("required").and_then(Value::as_array);
        let needed = fields(&schema).filter(|(key, _)| {
            required.is_some_and(|required| required.iter().any(|it| it == *key))
        });
        let needed = needed.map(|(key, value)| {
            let value = minimal_value(root, value, &format!("{path}.{key}"), cloud);
            (key.clone(), value)
        });
        return Value::Object(needed.collect());
    }
    super::bases::schema_values(&schema)
        .into_iter()
        .next()
        .unwrap_or_else(|| Value::from("demo"))
}

fn schema_at(root: &Value, path: &[PathStep]) -> Value {
    let mut schema = resolve_reference(root, root);
    for step in path {
        let next = match step {
            PathStep::Item(_) => schema.get("items").cloned(),
            PathStep::Key(key) => {
                let choices = schema.get("oneOf").and_then(Value::as_array);
                let choices = choices.into_iter().flatten();
                let mut all = choices.chain([&schema]).flat_map(fields);
                let found = all.find(|(name, _)| *name == key);
                found.map(|(_, value)| value.clone())
            }
        };
        schema = resolve_reference(
            root,
            &next.unwrap_or_else(|| panic!("no schema for {path:?}")),
        );
    }
    schema
}

/// The schema that a reference or an optional value refers to.
fn resolve_reference(root: &Value, schema: &Value) -> Value {
    if let Some(target) = schema.get("$ref").and_then(Value::as_str) {
        let target = target.trim_start_matches('#');
        return resolve_reference(root, root.pointer(target).unwrap());
    }
    if let Some(choices) = schema.get("anyOf").and_then(Value::as_array) {
        let real = choices.iter().find(|choice| choice["type"] != "null");
        return resolve_reference(root, real.unwrap());
    }
    schema.clone()
}

fn fields(schema: &Value) -> impl Iterator<Item = (&String, &Value)> {
    let fields = schema.get("properties").and_then(Value::as_object);
    fields.into_iter().flatten()
}

fn enum_values(schema: &Value) -> Vec<String> {
    let listed = schema.get("enum").and_then(Value::as_array);
    let values = listed.into_iter().flatten().chain(schema.get("const"));
    values
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect()
}

fn is_empty(schema: &Value) -> bool {
    schema.get("type") == Some(&Value::from("object"))
        && schema.get("additionalProperties") == Some(&Value::from(false))
}
