//! The plan of a cluster as compact YAML: every object, release, cloud resource and install step, without scripts.

use std::fmt::Write;

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use gpuc_model::plan::{
    Contents, Credentials, Delivery, Expectation, Object, Plan, Provisioning, Release, Resource,
    StepKind,
};

/// The maximum length of a line. Longer values are written as blocks.
const WIDTH: usize = 120;

/// Texts with more lines are replaced with their digest.
const MAX_LINES: usize = 40;

/// Texts with more characters are replaced with their digest.
const MAX_CHARACTERS: usize = 2000;

/// The plan as a YAML document.
pub(super) fn render(plan: &Plan) -> String {
    let mut text = String::new();
    for (name, section) in [
        ("cluster", json!(plan.cluster)),
        ("summary", summary(plan)),
        ("provisioning", provisioning(&plan.provisioning)),
        ("objects", objects(&plan.objects)),
        ("releases", entries(plan.releases.iter().map(release))),
        ("steps", entries(plan.steps.iter().map(step))),
        ("delivery", delivery(&plan.delivery)),
        (
            "verification",
            entries(plan.expectations.iter().map(expectation)),
        ),
    ] {
        text.push_str(name);
        text.push(':');
        write_value(&mut text, &section, 2, name.len() + 1);
    }
    text
}

/// A mapping. Panics on duplicate keys, because one of the values would be lost.
fn entries(entries: impl Iterator<Item = (String, Value)>) -> Value {
    let mut mapping = Map::new();
    for (key, value) in entries {
        let replaced = mapping.insert(key.clone(), value);
        assert!(replaced.is_none(), "two entries are named {key}");
    }
    Value::Object(mapping)
}

/// The plan's summary without empty values, as in the tree's README.
fn summary(plan: &Plan) -> Value {
    let mut summary = json!(plan.summary);
    remove_empty(&mut summary);
    summary
}

fn remove_empty(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.values_mut().for_each(remove_empty);
            fields.retain(|_, field| {
                let is_empty = field.as_str().is_some_and(str::is_empty)
                    || field.as_array().is_some_and(Vec::is_empty);
                !is_empty
            });
        }
        Value::Array(items) => items.iter_mut().for_each(remove_empty),
        _ => {}
    }
}

fn provisioning(provisioning: &Provisioning) -> Value {
    let context = match &provisioning.credentials {
        Credentials::Fetch(_) => Value::Null,
        Credentials::Context(context) => json!(context),
    };
    let identity = provisioning.identity.iter();
    let files = provisioning.files.iter().map(|file| {
        let contents = match &file.contents {
            Contents::Yaml(node) | Contents::Json(node) => serde_json::to_value(node).unwrap(),
            Contents::Script(text) | Contents::Text(text) => json!(digest(text)),
        };
        (file.path.clone(), contents)
    });
    let tools = provisioning.tools.iter().map(|tool| {
        let words = std::iter::once(tool.name).chain(tool.minimum_versions.iter().copied());
        words.collect::<Vec<_>>().join(" ")
    });
    let tools: Vec<_> = tools.collect();
    without_nulls(json!({
        "tools": tools,
        "identity": entries(identity.map(|check| (check.subject.to_owned(), json!(check.expected)))),
        "context": context,
        "resources": entries(provisioning.resources.iter().map(resource)),
        "files": entries(files),
    }))
}

fn resource(resource: &Resource) -> (String, Value) {
    let fields = resource.fields.iter();
    let created_by = resource.created_with.as_ref().map(|other| &other.title);
    let value = json!({
        "script": resource.script,
        "createdBy": created_by,
        "fields": entries(fields.map(|field| (field.kind.name.to_owned(), field.desired.clone()))),
    });
    let name = format!(
        "{} {} in {}",
        resource.kind.name, resource.name, resource.script
    );
    (name, without_nulls(value))
}

fn without_nulls(mut value: Value) -> Value {
    value
        .as_object_mut()
        .unwrap()
        .retain(|_, value| !value.is_null());
    value
}

/// Objects by component.
fn objects(objects: &[Object]) -> Value {
    let mut components = Map::new();
    for object in objects {
        let component = components
            .entry(object.component.clone())
            .or_insert_with(|| json!({}));
        let identity = &object.identity;
        let name = match &identity.namespace {
            Some(namespace) => format!("{} {namespace}/{}", identity.kind, identity.name),
            None => format!("{} {}", identity.kind, identity.name),
        };
        let replaced = component
            .as_object_mut()
            .unwrap()
            .insert(name.clone(), body(object));
        assert!(replaced.is_none(), "two objects are named {name}");
    }
    Value::Object(components)
}

/// An object without its kind and name, which form its key.
fn body(object: &Object) -> Value {
    let mut value = serde_json::to_value(&object.node).unwrap();
    let fields = value.as_object_mut().unwrap();
    fields.remove("kind");
    let metadata = fields["metadata"].as_object_mut().unwrap();
    metadata.remove("name");
    metadata.remove("namespace");
    if metadata.is_empty() {
        fields.remove("metadata");
    }
    if object.identity.kind == "PrometheusRule" {
        let groups = serde_json::to_string_pretty(&fields["spec"]["groups"]).unwrap();
        fields["spec"]["groups"] = json!(digest(&groups));
    }
    value
}

fn release(release: &Release) -> (String, Value) {
    let value = json!({
        "chart": format!("{} {}", release.chart.name, release.chart.version),
        "repository": release.repository,
        "namespace": release.namespace,
        "pools": release.pools,
        "daemonSets": release.daemon_sets,
        "values": release.values,
    });
    (release.name.clone(), value)
}

fn step(step: &gpuc_model::plan::Step) -> (String, Value) {
    let kind = match step.kind {
        StepKind::Component => "component",
        StepKind::Release => "release",
    };
    let needs = step.dependencies.iter().map(|need| need.step.as_str());
    (
        format!("{kind} {}", step.name),
        json!(needs.collect::<Vec<_>>()),
    )
}

fn delivery(delivery: &Delivery) -> Value {
    match delivery {
        Delivery::Script => json!("install.sh"),
        Delivery::Gitops {
            tool,
            folder,
            objects: registered,
            guide,
        } => json!({
            "tool": tool,
            "folder": folder,
            "objects": objects(registered),
            "guide": guide,
        }),
    }
}

fn expectation(expectation: &Expectation) -> (String, Value) {
    let devices = expectation.devices.iter().map(|device| {
        json!({
            "class": device.class,
            "driver": device.driver,
            "type": device.kind,
            "profile": device.profile,
            "perNode": device.per_node,
        })
    });
    let value = json!({
        "selector": expectation.selector,
        "minNodes": expectation.min_nodes,
        "period": expectation.period,
        "allocatable": expectation.allocatable,
        "devices": devices.collect::<Vec<_>>(),
        "fabric": expectation.interconnect,
        "daemonSets": expectation.daemon_sets,
        "tolerations": expectation.tolerations,
        "runtimeClass": expectation.runtime_class,
    });
    (expectation.pool.clone(), value)
}

/// The SHA-256 and the number of lines of a text.
fn digest(text: &str) -> String {
    let hash = Sha256::digest(text.as_bytes());
    let mut hex = String::new();
    for byte in hash {
        write!(hex, "{byte:02x}").unwrap();
    }
    format!("sha256 {hex} of {} lines", text.lines().count())
}

/// Writes the value of a key that ends at `column`, or of a list item. Further lines are indented by `indent` spaces.
fn write_value(text: &mut String, value: &Value, indent: usize, column: usize) {
    if let Some(flow) = flow(value).filter(|flow| column + 1 + flow.chars().count() <= WIDTH) {
        text.push_str(&format!(" {flow}\n"));
        return;
    }
    let spaces = " ".repeat(indent);
    match value {
        Value::Object(fields) => {
            text.push('\n');
            for (key, field) in sorted(fields) {
                let key = scalar(key);
                text.push_str(&format!("{spaces}{key}:"));
                write_value(text, field, indent + 2, indent + key.chars().count() + 1);
            }
        }
        Value::Array(items) => {
            text.push('\n');
            for item in items {
                let mut nested = String::new();
                write_value(&mut nested, item, indent + 2, indent + 1);
                // The first field of a mapping is on the line of the dash.
                let nested = match nested.strip_prefix('\n') {
                    Some(block) => block.trim_start().to_owned(),
                    None => nested.trim_start().to_owned(),
                };
                text.push_str(&format!("{spaces}- {nested}"));
            }
        }
        Value::String(long) => {
            let is_script = long.starts_with("#!") || long.contains("set -");
            let is_block = long.contains('\n') && !long.starts_with([' ', '\n', '\t']);
            let is_large = long.lines().count() > MAX_LINES || long.len() > MAX_CHARACTERS;
            if is_large || is_block && is_script {
                text.push_str(&format!(" {}\n", digest(long)));
            } else if is_block && !long.ends_with("\n\n") {
                text.push_str(if long.ends_with('\n') {
                    " |\n"
                } else {
                    " |-\n"
                });
                for line in long.lines() {
                    let line = format!("{spaces}{line}");
                    text.push_str(line.trim_end_matches(' '));
                    text.push('\n');
                }
            } else {
                text.push_str(&format!(" {}\n", scalar(long)));
            }
        }
        other => text.push_str(&format!(" {other}\n")),
    }
}

/// The value on one line, or `None` if it contains a multi-line text.
fn flow(value: &Value) -> Option<String> {
    Some(match value {
        Value::Object(fields) => {
            let fields = sorted(fields).into_iter();
            let fields =
                fields.map(|(key, field)| Some(format!("{}: {}", scalar(key), flow(field)?)));
            format!("{{{}}}", fields.collect::<Option<Vec<_>>>()?.join(", "))
        }
        Value::Array(items) => {
            let items = items.iter().map(flow);
            format!("[{}]", items.collect::<Option<Vec<_>>>()?.join(", "))
        }
        Value::String(text) if text.contains('\n') || text.len() > WIDTH => return None,
        Value::String(text) => scalar(text),
        other => other.to_string(),
    })
}

/// The fields by name, because the order depends on the features of `serde_json`.
fn sorted(fields: &Map<String, Value>) -> Vec<(&String, &Value)> {
    let mut fields: Vec<_> = fields.iter().collect();
    fields.sort_by(|one, other| one.0.cmp(other.0));
    fields
}

/// A text, without quotes if every YAML parser reads it as a string.
fn scalar(text: &str) -> String {
    let words = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];
    let is_plain = text.starts_with(|first: char| first.is_ascii_alphabetic() || first == '/')
        && !text.ends_with([' ', ':'])
        && !text.contains(": ")
        && text
            .chars()
            .all(|it| it.is_ascii_alphanumeric() || " ._/:@+-".contains(it))
        && !words.contains(&text.to_ascii_lowercase().as_str());
    if is_plain {
        text.to_owned()
    } else {
        Value::from(text).to_string()
    }
}
