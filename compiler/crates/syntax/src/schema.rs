//! The JSON Schema of gpu-cluster.yaml, for completion and hover in editors, and for `gpuc explain`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use gpuc_schema::config::GpuCluster;
use serde_json::Value;

/// The text of the schema, which is committed as `schema/gpu-cluster.schema.json`.
pub fn schema_json() -> String {
    let text = serde_json::to_string_pretty(&schema_value()).expect("a schema is JSON");
    text + "\n"
}

/// The schema as a value.
pub fn schema_value() -> Value {
    schemars::schema_for!(GpuCluster).to_value()
}

/// The documentation of a key, such as `nodePools.sharing.mig`.
pub struct KeyDocumentation {
    /// The key's documentation.
    pub description: String,
    /// The type, as text.
    pub kind: String,
    /// The default, as JSON.
    pub default: Option<Value>,
    /// Examples, as JSON.
    pub examples: Vec<Value>,
    /// The nested keys, each with the first line of its documentation.
    pub keys: Vec<(String, String)>,
    /// The allowed values, each with its documentation.
    pub values: Vec<(String, String)>,
}

/// Looks up a key; list indexes are ignored. The error contains the unknown part and the known keys.
pub fn describe_key(path: &str) -> Result<KeyDocumentation, (String, Vec<String>)> {
    let root = schema_value();
    let mut schema = root.clone();
    for part in path.split('.').filter(|part| !part.is_empty()) {
        let name = part.split('[').next().unwrap_or(part);
        let properties = properties(&root, &schema);
        let found = properties.iter().find(|(key, _)| key == name);
        let Some((_, found)) = found else {
            let keys = properties.into_iter().map(|(key, _)| key).collect();
            return Err((name.to_owned(), keys));
        };
        schema = found.clone();
    }
    Ok(document_key(&root, &schema))
}

/// The paths of all keys, each before its nested keys.
pub fn key_paths() -> Vec<String> {
    static PATHS: LazyLock<Vec<String>> = LazyLock::new(collect_paths);
    PATHS.clone()
}

fn collect_paths() -> Vec<String> {
    let root = schema_value();
    let mut found = Vec::new();
    // The stack is processed from the end.
    let mut pending = vec![(String::new(), root.clone())];
    while let Some((path, schema)) = pending.pop() {
        for (key, below) in properties(&root, &schema).into_iter().rev() {
            let path = if path.is_empty() {
                key
            } else {
                format!("{path}.{key}")
            };
            pending.push((path, below));
        }
        if !path.is_empty() {
            found.push(path);
        }
    }
    found
}

/// The keys of the items of a list, or of a mapping, at a path; none if they are scalars.
pub fn child_keys(path: &str) -> Vec<String> {
    describe_key(path).map_or_else(
        |_| Vec::new(),
        |documented| documented.keys.into_iter().map(|(key, _)| key).collect(),
    )
}

/// The required keys of a mapping at a path.
pub fn required_keys(path: &str) -> Vec<String> {
    let Some(schema) = find_schema(&ROOT, path) else {
        return Vec::new();
    };
    let mut target = resolve_reference(&ROOT, &schema);
    if let Some(items) = target.get("items") {
        target = resolve_reference(&ROOT, items);
    }
    let required = target.get("required").and_then(Value::as_array);
    let required = required.into_iter().flatten().filter_map(Value::as_str);
    required.map(str::to_owned).collect()
}

/// Whether the items of a list are texts.
pub fn has_text_items(path: &str) -> bool {
    let list = find_schema(&ROOT, path).map(|schema| resolve_reference(&ROOT, &schema));
    let items = list.as_ref().and_then(|list| list.get("items"));
    items.is_some_and(|items| string_property(&resolve_reference(&ROOT, items), "type") == "string")
}

/// Whether the mapping around a key requires it.
pub fn is_required(path: &str) -> bool {
    let (parent, key) = path.rsplit_once('.').unwrap_or(("", path));
    required_keys(parent).iter().any(|required| required == key)
}

/// An option of the choice at a path as it is written: a word, or a mapping with the required keys of its settings.
pub fn option_syntax(path: &str, option: &str) -> String {
    let path = format!("{path}.{option}");
    let Some(settings) = find_schema(&ROOT, &path) else {
        return option.to_owned();
    };
    let settings = resolve_reference(&ROOT, &settings);
    if settings.get("oneOf").is_some() || string_property(&settings, "type") != "object" {
        return format!("{{{option}: …}}");
    }
    let required = required_keys(&path);
    let keys: Vec<_> = required.iter().map(|key| format!("{key}: …")).collect();
    format!("{{{option}: {{{}}}}}", keys.join(", "))
}

/// The schema, for lookups.
static ROOT: LazyLock<Value> = LazyLock::new(schema_value);

/// The schema of a key; list indexes are ignored.
fn find_schema(root: &Value, path: &str) -> Option<Value> {
    let parts = path.split('.').filter(|part| !part.is_empty());
    parts.into_iter().try_fold(root.clone(), |schema, part| {
        let name = part.split('[').next()?;
        let mut properties = properties(root, &schema).into_iter();
        let found = properties.find(|(key, _)| key == name);
        found.map(|(_, below)| below).or_else(|| {
            let values = resolve_reference(root, &schema);
            values
                .get("additionalProperties")
                .filter(|it| it.is_object())
                .cloned()
        })
    })
}

/// The paths of keys with a suffix such as `mig` or `sharing.mig`, ignoring case.
pub fn paths_with_suffix(name: &str) -> Vec<String> {
    let end = format!(".{}", name.to_lowercase());
    let mut paths = key_paths();
    paths.retain(|path| format!(".{}", path.to_lowercase()).ends_with(&end));
    paths
}

fn document_key(root: &Value, schema: &Value) -> KeyDocumentation {
    let target = resolve_reference(root, schema);
    let own = string_property(schema, "description");
    let keys = properties(root, schema);
    KeyDocumentation {
        description: if own.is_empty() {
            string_property(&target, "description")
        } else {
            own
        },
        kind: type_description(root, schema),
        default: schema.get("default").cloned(),
        examples: schema
            .get("examples")
            .or_else(|| target.get("examples"))
            .and_then(Value::as_array)
            .cloned()
            .unwrap_or_default(),
        keys: keys
            .iter()
            .map(|(key, schema)| {
                let described = short_description(root, schema);
                (key.clone(), described)
            })
            .collect(),
        values: allowed_values(&target),
    }
}

fn short_description(root: &Value, schema: &Value) -> String {
    let own = string_property(schema, "description");
    let description = if own.is_empty() {
        string_property(&resolve_reference(root, schema), "description")
    } else {
        own
    };
    first_paragraph(&description)
}

/// The first paragraph of documentation, in one line.
pub fn first_paragraph(text: &str) -> String {
    let first = text.split("\n\n").next();
    first.unwrap_or_default().replace('\n', " ")
}

fn type_description(root: &Value, schema: &Value) -> String {
    let target = resolve_reference(root, schema);
    match target.get("type") {
        Some(Value::String(type_name)) if type_name == "array" => {
            let items = target.get("items").cloned().unwrap_or_default();
            format!("list of {}", type_description(root, &items))
        }
        Some(Value::String(word)) => word.clone(),
        Some(Value::Array(words)) => {
            let words = words.iter().filter_map(Value::as_str);
            words
                .filter(|word| *word != "null")
                .collect::<Vec<_>>()
                .join(" or ")
        }
        _ if target.get("oneOf").is_some() => "one of its values".to_owned(),
        _ => "value".to_owned(),
    }
}

/// The options of a choice: plain values, and keys of mappings with one key.
fn allowed_values(target: &Value) -> Vec<(String, String)> {
    let Some(choices) = target.get("oneOf").and_then(Value::as_array) else {
        return Vec::new();
    };
    choices
        .iter()
        .filter_map(|choice| {
            choice
                .get("const")
                .and_then(Value::as_str)
                .map(|name| (name, choice))
        })
        .map(|(name, choice)| (name.to_owned(), string_property(choice, "description")))
        .collect()
}

/// The range of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NumberRange {
    /// The minimum.
    pub min: Option<i64>,
    /// The maximum.
    pub max: Option<i64>,
}

impl NumberRange {
    /// Whether a number is in the range.
    pub fn contains(self, number: i128) -> bool {
        self.min.is_none_or(|min| number >= min.into())
            && self.max.is_none_or(|max| number <= max.into())
    }
}

/// The ranges of the number at a path without indexes: `nodePools.diskGiB`. One range per alternative.
pub fn number_ranges(path: &str) -> &'static [NumberRange] {
    static RANGES: LazyLock<BTreeMap<String, Vec<NumberRange>>> = LazyLock::new(|| {
        let root = schema_value();
        let mut found = BTreeMap::new();
        collect_ranges(&root, &root, &mut String::new(), &mut found);
        found
    });
    RANGES.get(path).map_or(&[], Vec::as_slice)
}

/// Whether the list of an optional key, at a path without indexes, must have an item.
pub fn needs_item(path: &str) -> bool {
    static LISTS: LazyLock<BTreeSet<String>> = LazyLock::new(|| {
        let root = schema_value();
        let mut found = BTreeSet::new();
        collect_lists(&root, &root, &mut String::new(), &mut found);
        found
    });
    LISTS.contains(path)
}

fn collect_lists(root: &Value, schema: &Value, path: &mut String, found: &mut BTreeSet<String>) {
    let reference = schema.get("$ref").and_then(Value::as_str);
    let target = reference.and_then(|it| root.pointer(it.trim_start_matches('#')));
    if let Some(target) = target {
        collect_lists(root, target, path, found);
    }
    for choices in ["anyOf", "oneOf", "allOf"] {
        let choices = schema.get(choices).and_then(Value::as_array);
        for choice in choices.into_iter().flatten() {
            collect_lists(root, choice, path, found);
        }
    }
    if let Some(items) = schema.get("items") {
        collect_lists(root, items, path, found);
    }
    let min = schema.get("minItems").and_then(Value::as_u64);
    if min.is_some_and(|min| min > 0) {
        found.insert(path.clone());
    }
    let properties = schema.get("properties").and_then(Value::as_object);
    for (key, below) in properties.into_iter().flatten() {
        let before = path.len();
        if !path.is_empty() {
            path.push('.');
        }
        path.push_str(key);
        collect_lists(root, below, path, found);
        // Rules report an empty list of a required key, with what is missing.
        let required = schema.get("required").and_then(Value::as_array);
        if required.is_some_and(|it| it.iter().any(|it| it == key)) {
            found.remove(path.as_str());
        }
        path.truncate(before);
    }
}

fn collect_ranges(
    root: &Value,
    schema: &Value,
    path: &mut String,
    found: &mut BTreeMap<String, Vec<NumberRange>>,
) {
    let reference = schema.get("$ref").and_then(Value::as_str);
    let target = reference.and_then(|it| root.pointer(it.trim_start_matches('#')));
    if let Some(target) = target {
        collect_ranges(root, target, path, found);
    }
    for choices in ["anyOf", "oneOf", "allOf"] {
        let choices = schema.get(choices).and_then(Value::as_array);
        for choice in choices.into_iter().flatten() {
            collect_ranges(root, choice, path, found);
        }
    }
    if let Some(items) = schema.get("items") {
        collect_ranges(root, items, path, found);
    }
    let end = |key: &str| schema.get(key).and_then(Value::as_i64);
    let (min, max) = (end("minimum"), end("maximum"));
    if min.is_some() || max.is_some() {
        let own = found.entry(path.clone()).or_default();
        own.push(NumberRange { min, max });
    }
    let properties = schema.get("properties").and_then(Value::as_object);
    for (key, below) in properties.into_iter().flatten() {
        let before = path.len();
        if !path.is_empty() {
            path.push('.');
        }
        path.push_str(key);
        collect_ranges(root, below, path, found);
        path.truncate(before);
    }
}

/// The nested keys of a schema, through references, lists, options and choices.
fn properties(root: &Value, schema: &Value) -> Vec<(String, Value)> {
    let target = resolve_reference(root, schema);
    if let Some(items) = target.get("items") {
        return properties(root, items);
    }
    let mut found: Vec<(String, Value)> = Vec::new();
    let own = target.get("properties").and_then(Value::as_object);
    for (key, value) in own.into_iter().flatten() {
        found.push((key.clone(), value.clone()));
    }
    for choice in target
        .get("oneOf")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
    {
        let properties = choice.get("properties").and_then(Value::as_object);
        for (key, value) in properties.into_iter().flatten() {
            let mut value = value.clone();
            let documented = choice.get("description");
            if let (Some(description), Some(value)) = (documented, value.as_object_mut()) {
                value.insert("description".to_owned(), description.clone());
            }
            found.push((key.clone(), value));
        }
    }
    found
}

/// Resolves references; for an optional value, the schema of the value.
fn resolve_reference(root: &Value, schema: &Value) -> Value {
    let options = schema.get("anyOf").and_then(Value::as_array);
    if let Some(options) = options {
        let non_null = options
            .iter()
            .find(|option| string_property(option, "type") != "null");
        return non_null
            .map(|some| resolve_reference(root, some))
            .unwrap_or_default();
    }
    let Some(reference) = schema.get("$ref").and_then(Value::as_str) else {
        return schema.clone();
    };
    let target = root.pointer(reference.trim_start_matches('#'));
    target
        .map(|target| resolve_reference(root, target))
        .unwrap_or_default()
}

fn string_property(schema: &Value, key: &str) -> String {
    let text = schema.get(key).and_then(Value::as_str);
    text.unwrap_or_default().to_owned()
}
