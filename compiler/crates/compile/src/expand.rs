//! A configuration with all defaults and their sources.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde_json::Value as Json;

use gpuc_model::{Cluster, DefaultedSetting};
use gpuc_syntax::node::{DerivationReason, Node, Scalar, Value};
use gpuc_syntax::yaml;

/// The configuration as a YAML file that generates the same tree. Each default has a comment with its reason. Values
/// that gpuc selects, such as machine types, are only comments, so that gpuc still selects them.
pub fn expand(written: &Node, cluster: &Cluster) -> String {
    let json = with_defaults(cluster);
    let mut text = String::new();
    let (picks, filled) = cluster
        .defaulted_settings
        .iter()
        .partition(|filled| filled.is_selected);
    let mut page = ExpandedFile {
        defaults: settings_by_path(filled),
        selections: settings_by_path(picks),
        path: Vec::new(),
        text: &mut text,
    };
    page.write_mapping(&json, Some(written), 0);
    text
}

/// The configuration with defaults, as data: independent of explicit defaults and of bases. Values that gpuc selects
/// are not included.
pub fn with_defaults(cluster: &Cluster) -> Json {
    let config = &*cluster.config;
    let mut json = serde_json::to_value(config).expect("the schema's types serialise to JSON");
    if let Some(fields) = json.as_object_mut() {
        // The base is already merged.
        fields.shift_remove("base");
    }
    for (index, pool) in cluster.pools.iter().enumerate() {
        let applies = cluster.cloud.facts().creates_machines && !pool.is_existing();
        let pool = json.pointer_mut(&format!("/nodePools/{index}"));
        if let Some(fields) = pool.and_then(Json::as_object_mut)
            && !applies
        {
            // The disks of machines that gpuc does not create have no default.
            fields.shift_remove("diskGiB");
        }
    }
    for filled in cluster
        .defaulted_settings
        .iter()
        .filter(|filled| !filled.is_selected)
    {
        set_path(&mut json, &filled.path, filled.value.clone());
    }
    json
}

fn set_path(json: &mut Json, path: &[String], value: Json) {
    let Some((last, parents)) = path.split_last() else {
        return;
    };
    let mut target = json;
    for key in parents {
        target = match target {
            Json::Array(items) => match key
                .parse()
                .ok()
                .and_then(|index: usize| items.get_mut(index))
            {
                Some(item) => item,
                None => return,
            },
            Json::Object(fields) => fields
                .entry(key)
                .or_insert_with(|| Json::Object(serde_json::Map::new())),
            _ => return,
        };
    }
    if let Json::Object(fields) = target {
        fields.insert(last.clone(), value);
    }
}

fn settings_by_path(filled: Vec<&DefaultedSetting>) -> BTreeMap<&[String], &DefaultedSetting> {
    let filled = filled.into_iter();
    filled.map(|one| (one.path.as_slice(), one)).collect()
}

struct ExpandedFile<'p> {
    defaults: BTreeMap<&'p [String], &'p DefaultedSetting>,
    selections: BTreeMap<&'p [String], &'p DefaultedSetting>,
    path: Vec<String>,
    text: &'p mut String,
}

impl ExpandedFile<'_> {
    fn write_mapping(&mut self, json: &Json, written: Option<&Node>, indent: usize) {
        for (key, value) in json.as_object().into_iter().flatten() {
            let node = written.and_then(|written| written.get(key));
            self.path.push(key.clone());
            let key = yaml::to_yaml(&text_node(key));
            let _ = write!(self.text, "{:indent$}{}:", "", key.trim_end());
            self.write_value(value, node, indent);
            self.path.pop();
        }
        self.write_selections(indent);
    }

    /// Writes the values that gpuc selected as a comment.
    fn write_selections(&mut self, indent: usize) {
        let below = self.selections.range(self.path.as_slice()..);
        let below = below.take_while(|(path, _)| path.starts_with(&self.path));
        for (path, pick) in below.filter(|(path, _)| path.len() == self.path.len() + 1) {
            let (key, value) = (&path[self.path.len()], format_scalar(&pick.value));
            let reason = source_text(&pick.source);
            let _ = writeln!(self.text, "{:indent$}# {key}: {value}, {reason}", "");
        }
    }

    /// Writes a value after its key, with a comment if it is a default.
    fn write_value(&mut self, json: &Json, written: Option<&Node>, indent: usize) {
        match json {
            Json::Object(fields) if !fields.is_empty() => {
                self.text.push('\n');
                self.write_mapping(json, written, indent + 2);
            }
            Json::Array(items) if !items.is_empty() => {
                self.text.push('\n');
                for (index, item) in items.iter().enumerate() {
                    let node = written.and_then(|written| written.items().get(index));
                    self.path.push(index.to_string());
                    self.write_item(item, node, indent);
                    self.path.pop();
                }
            }
            leaf => {
                let _ = write!(self.text, " {}", format_scalar(leaf));
                let _ = writeln!(self.text, "{}", self.default_comment(written));
            }
        }
    }

    fn write_item(&mut self, json: &Json, written: Option<&Node>, indent: usize) {
        let _ = write!(self.text, "{:indent$}  -", "");
        match json {
            Json::Object(fields) if !fields.is_empty() => {
                let start = self.text.len();
                self.write_mapping(json, written, indent + 4);
                // The first key is on the line of the dash.
                let first = start..start + indent + 4;
                self.text.replace_range(first, " ");
            }
            _ => self.write_value(json, written, indent + 2),
        }
    }

    /// The comment for a default.
    fn default_comment(&self, written: Option<&Node>) -> String {
        if written.is_some() {
            return String::new();
        }
        let filled = self.defaults.get(self.path.as_slice());
        let reason = filled.map_or("default", |filled| source_text(&filled.source));
        format!("  # {reason}")
    }
}

fn source_text(because: &DerivationReason) -> &'static str {
    match because {
        DerivationReason::Rule(reason) => reason,
        DerivationReason::Fact { statement, .. } => statement,
        DerivationReason::Default | DerivationReason::Written => "default",
    }
}

/// A scalar or an empty collection, on one line.
fn format_scalar(value: &Json) -> String {
    let text = yaml::to_yaml(&Node::from_json(value.clone()));
    let text = text.trim_end();
    if text.contains('\n') {
        // A multi-line string in double quotes, which YAML and JSON share.
        value.to_string()
    } else {
        text.to_owned()
    }
}

fn text_node(text: &str) -> Node {
    Node {
        value: Value::Scalar(Scalar::Text(text.to_owned())),
        origin: gpuc_syntax::node::Origin::Inherited,
    }
}
