//! A configuration with every default written out, and for each where it comes from.

use std::fmt::Write;

use serde_json::Value as Json;

use crate::model::{Cluster, Filled};
use crate::node::{Because, Node, Scalar, Value};
use crate::yaml;

/// The configuration as YAML. What nobody wrote has a comment that says why it is so.
pub fn expand(written: &Node, cluster: &Cluster) -> String {
    let config = &*cluster.written;
    let mut json = serde_json::to_value(config).expect("the schema's types serialise to JSON");
    for filled in &cluster.filled {
        put(&mut json, &filled.path, filled.value.clone());
    }
    let mut text = String::new();
    let mut page = Page {
        filled: &cluster.filled,
        path: Vec::new(),
        text: &mut text,
    };
    page.mapping(&json, Some(written), 0);
    text
}

fn put(json: &mut Json, path: &[String], value: Json) {
    let Some((last, parents)) = path.split_last() else {
        return;
    };
    let mut place = json;
    for key in parents {
        place = match place {
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
    if let Json::Object(fields) = place {
        fields.insert(last.clone(), value);
    }
}

struct Page<'p> {
    filled: &'p [Filled],
    path: Vec<String>,
    text: &'p mut String,
}

impl Page<'_> {
    fn mapping(&mut self, json: &Json, written: Option<&Node>, indent: usize) {
        for (key, value) in json.as_object().into_iter().flatten() {
            let node = written.and_then(|written| written.get(key));
            self.path.push(key.clone());
            let key = yaml::to_yaml(&text_node(key));
            let _ = write!(self.text, "{:indent$}{}:", "", key.trim_end());
            self.value(value, node, indent);
            self.path.pop();
        }
    }

    /// A value after its key, with the comment that it needs.
    fn value(&mut self, json: &Json, written: Option<&Node>, indent: usize) {
        match json {
            Json::Object(fields) if !fields.is_empty() => {
                self.text.push('\n');
                self.mapping(json, written, indent + 2);
            }
            Json::Array(items) if !items.is_empty() => {
                self.text.push('\n');
                for (index, item) in items.iter().enumerate() {
                    let node = written.and_then(|written| written.items().get(index));
                    self.path.push(index.to_string());
                    self.item(item, node, indent);
                    self.path.pop();
                }
            }
            leaf => {
                let leaf = yaml::to_yaml(&Node::from_json(leaf.clone()));
                let _ = write!(self.text, " {}", leaf.trim_end().replace('\n', "\\n"));
                let _ = writeln!(self.text, "{}", self.comment(written));
            }
        }
    }

    fn item(&mut self, json: &Json, written: Option<&Node>, indent: usize) {
        let _ = write!(self.text, "{:indent$}  -", "");
        match json {
            Json::Object(fields) if !fields.is_empty() => {
                let start = self.text.len();
                self.mapping(json, written, indent + 4);
                // The first key stands beside the dash.
                let first = start..start + indent + 4;
                self.text.replace_range(first, " ");
            }
            _ => self.value(json, written, indent + 2),
        }
    }

    /// Why a value is there that nobody wrote.
    fn comment(&self, written: Option<&Node>) -> String {
        if written.is_some() {
            return String::new();
        }
        let filled = self.filled.iter().find(|filled| filled.path == self.path);
        match filled.map(|filled| &filled.because) {
            Some(Because::Rule(why)) => format!("  # {why}"),
            Some(Because::Fact { what, .. }) => format!("  # {what}"),
            Some(Because::Default | Because::Written) | None => "  # default".to_owned(),
        }
    }
}

fn text_node(text: &str) -> Node {
    Node {
        value: Value::Scalar(Scalar::Text(text.to_owned())),
        origin: crate::node::Origin::Inherited,
    }
}
