//! What the API server refuses of an object that is or makes pods, whoever wrote it.
//!
//! [`look`] walks through an object by Kubernetes' types: fields that it does not know, and values that it does not
//! take. At each object on the way the rules say what else is refused. Both `gpuc check --manifests` and the audit
//! of patches ask here, so that neither knows less than the other.

mod amounts;
mod containers;
mod counts;
mod data;
mod empty;
mod enums;
mod expressions;
mod hosts;
mod jobs;
mod kernel;
mod limits;
mod names;
mod network;
mod operators;
mod place;
mod pods;
pub mod priority;
mod probes;
mod read;
mod references;
mod rights;
mod rules;
mod scaling;
pub mod schedulers;
mod scheduling;
mod security;
pub mod services;
mod sets;
mod sizes;
mod sources;
mod storage;
mod strategies;
mod types;
mod volumes;

use crate::node::{Node, Value};

pub use enums::ENUMS;
pub use place::{Step, place, words};
pub use probes::lost_ports;
pub use security::{insecure, level_name};
pub use types::{GONE, definitions};

/// Something that the API server refuses, where, and what to write.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Refused {
    /// The way to it.
    pub path: Vec<Step>,
    /// Whether it is the key that is wrong, and not its value.
    pub of_key: bool,
    /// What is wrong.
    pub message: String,
    /// What to write.
    pub help: String,
    /// The key or the value that was meant for sure enough to put it there.
    pub meant: Option<String>,
    /// The project whose definition of a custom resource does not know a field or a word, and its version: another
    /// version may.
    pub unknown_to: Option<&'static str>,
    /// The project whose definition says the rule that refuses it, and its version: another version may not.
    pub rule_of: Option<&'static str>,
}

/// How much of an object is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// All of it: what is missing is missing.
    Whole,
    /// Something else may say the rest.
    Part,
}

/// A way through an object.
struct Look<'n> {
    path: Vec<Step>,
    /// The objects around, the outermost first, each with its type.
    above: Vec<(&'static str, &'n Node)>,
    is_whole: bool,
    found: Vec<Refused>,
}

/// An object on the way, for rules.
struct Here<'w, 'n> {
    /// Its type.
    name: &'static str,
    node: &'n Node,
    path: &'w [Step],
    above: &'w [(&'static str, &'n Node)],
    is_whole: bool,
    found: &'w mut Vec<Refused>,
}

impl<'n> Here<'_, 'n> {
    /// Refuses what stands below this object; the message is made with its path.
    fn refuse(
        &mut self,
        below: impl IntoIterator<Item = Step>,
        message: impl FnOnce(&str) -> String,
        help: impl Into<String>,
    ) {
        let own = self.path.len();
        let path: Vec<_> = self.path.iter().cloned().chain(below).collect();
        self.found.push(Refused {
            message: message(&words(&path)),
            // Of an object as a whole the key is the place: its value may begin lines below.
            of_key: path.len() == own,
            path,
            help: help.into(),
            meant: None,
            unknown_to: None,
            rule_of: None,
        });
    }

    /// Says of what was refused last what was meant.
    fn meant(&mut self, meant: Option<String>) {
        if let Some(found) = self.found.last_mut() {
            found.meant = meant;
        }
    }

    /// The nearest object around of a type.
    fn around(&self, name: &str) -> Option<&'n Node> {
        let mut above = self.above.iter().rev();
        above.find(|it| it.0 == name).map(|it| it.1)
    }

    /// The key that holds this object, past the number of an item.
    fn key(&self) -> &str {
        let mut keys = self.path.iter().rev();
        let key = keys.find_map(|step| match step {
            Step::Key(key) => Some(key.as_str()),
            Step::Item(_) => None,
        });
        key.unwrap_or_default()
    }
}

/// Whether an object is one of Kubernetes' own, or a custom resource, that are known here whole.
pub fn knows(api_version: &str, kind: &str) -> bool {
    types::of_object(api_version, kind).is_some()
}

/// Of a kind of custom resource whose definition does not serve an API version: the project and its version, and the
/// API versions that it serves, the newest last.
pub fn instead(api_version: &str, kind: &str) -> Option<(&'static str, Vec<&'static str>)> {
    let (group, _) = api_version.split_once('/')?;
    let versions = types::versions(group, kind);
    let project = types::defined_by(versions.first()?)?;
    (!versions.contains(&api_version)).then_some((project, versions))
}

/// What the API server refuses of an object, in the order of the text.
pub fn look(api_version: &str, kind: &str, node: &Node, extent: Extent) -> Vec<Refused> {
    let mut found = operators::look(api_version, kind, node, extent);
    if let Some(name) = types::of_object(api_version, kind) {
        found.extend(part(node, Vec::new(), name, extent));
        return found;
    }
    let pods = templates(node).into_iter();
    found.extend(pods.flat_map(|(path, name, node)| part(node, path, name, extent)));
    found
}

/// What the API server refuses of the specification of a pod, wherever that stands.
pub fn look_at_pod(spec: &Node, extent: Extent) -> Vec<Refused> {
    part(spec, Vec::new(), "PodSpec", extent)
}

fn part(node: &Node, path: Vec<Step>, name: &'static str, extent: Extent) -> Vec<Refused> {
    let mut look = Look {
        path,
        above: Vec::new(),
        is_whole: extent == Extent::Whole,
        found: Vec::new(),
    };
    types::walk(&mut look, &types::Type::Object(name), node);
    look.found
}

/// The templates of pods in a custom resource, with their types: what is called so and has a specification with
/// containers.
fn templates(root: &Node) -> Vec<(Vec<Step>, &'static str, &Node)> {
    let mut found = Vec::new();
    collect(root, &mut Vec::new(), &mut found);
    found
}

fn collect<'n>(
    node: &'n Node,
    path: &mut Vec<Step>,
    found: &mut Vec<(Vec<Step>, &'static str, &'n Node)>,
) {
    match &node.value {
        Value::Scalar(_) => {}
        Value::Sequence(items) => {
            for (index, item) in items.iter().enumerate() {
                path.push(Step::Item(index));
                collect(item, path, found);
                path.pop();
            }
        }
        Value::Mapping(entries) => {
            for entry in entries {
                path.push(Step::Key(entry.key.clone()));
                let spec = entry.value.get("spec");
                let has = |key: &str| spec.is_some_and(|spec| spec.get(key).is_some());
                if entry.key.ends_with("emplate") && has("containers") {
                    found.push((path.clone(), "PodTemplateSpec", &entry.value));
                } else {
                    collect(&entry.value, path, found);
                }
                path.pop();
            }
        }
    }
}
