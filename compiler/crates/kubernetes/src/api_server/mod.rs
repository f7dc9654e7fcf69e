//! Validation of objects as by the Kubernetes API server. [`look`] visits an object according to Kubernetes' types and
//! reports unknown fields and invalid values. For each nested object, the rules report further violations. Both `gpuc
//! check --manifests` and the audit of patches use it.

mod amounts;
mod containers;
mod counts;
mod data;
mod enums;
mod expressions;
pub mod field_path;
mod job_sets;
mod jobs;
mod kernel;
mod lengths;
mod limits;
mod names;
mod network;
mod operators;
mod pod_dns;
mod pods;
pub mod priority;
mod rbac;
mod references;
mod required;
mod rules;
mod scalar;
mod scaling;
mod scheduling;
mod security;
pub mod services;
mod sources;
mod storage;
mod strategies;
mod types;
mod volumes;

use gpuc_syntax::node::{Node, Value};

pub use enums::ENUMS;
pub use field_path::{Step, place, words};
pub use scheduling::DEFAULT_SCHEDULER;
pub use security::{insecure, level_name};
pub use types::{GONE, definitions};

/// A violation: the location, the problem, and the fix.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Refused {
    /// The path.
    pub path: Vec<Step>,
    /// Whether the key is invalid, not its value.
    pub of_key: bool,
    /// The problem.
    pub message: String,
    /// The fix, as an instruction.
    pub help: String,
    /// The correct key or value, if it is certain enough to apply it.
    pub meant: Option<String>,
    /// The project and version whose CRD does not have a field or value; other versions can have it.
    pub unknown_to: Option<&'static str>,
    /// The project and version whose CRD contains the violated rule; other versions may not contain it.
    pub rule_of: Option<&'static str>,
}

/// The completeness of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// Complete: missing fields are not set.
    Whole,
    /// Partial: other sources can set further fields.
    Part,
}

/// The state of visiting an object.
struct Visit<'n> {
    path: Vec<Step>,
    /// The enclosing objects with their types, outermost first.
    above: Vec<(&'static str, &'n Node)>,
    is_whole: bool,
    found: Vec<Refused>,
}

/// A visited object, for rules.
struct ObjectContext<'w, 'n> {
    /// The object's type.
    name: &'static str,
    node: &'n Node,
    path: &'w [Step],
    above: &'w [(&'static str, &'n Node)],
    is_whole: bool,
    found: &'w mut Vec<Refused>,
}

impl<'n> ObjectContext<'_, 'n> {
    /// Reports a violation at a path below this object; the message is created with the full path.
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
            // For a whole object, report its key: the value can start several lines below.
            of_key: path.len() == own,
            path,
            help: help.into(),
            meant: None,
            unknown_to: None,
            rule_of: None,
        });
    }

    /// Sets the correct value of the last violation.
    fn meant(&mut self, meant: Option<String>) {
        if let Some(found) = self.found.last_mut() {
            found.meant = meant;
        }
    }

    /// The innermost enclosing object of a type.
    fn enclosing(&self, name: &str) -> Option<&'n Node> {
        let mut above = self.above.iter().rev();
        above.find(|it| it.0 == name).map(|it| it.1)
    }

    /// The key of this object, ignoring list indexes.
    fn key(&self) -> &str {
        let mut keys = self.path.iter().rev();
        let key = keys.find_map(|step| match step {
            Step::Key(key) => Some(key.as_str()),
            Step::Item(_) => None,
        });
        key.unwrap_or_default()
    }
}

/// Whether the complete type of an object, built-in or custom, is known.
pub fn knows(api_version: &str, kind: &str) -> bool {
    types::of_object(api_version, kind).is_some()
}

/// For a custom resource with an API version that its CRD does not serve: the project, its version, and the served API
/// versions, newest last.
pub fn instead(api_version: &str, kind: &str) -> Option<(&'static str, Vec<&'static str>)> {
    let (group, _) = api_version.split_once('/')?;
    let versions = types::versions(group, kind);
    let project = types::defined_by(versions.first()?)?;
    (!versions.contains(&api_version)).then_some((project, versions))
}

/// The violations of an object, in the order of the text.
pub fn look(api_version: &str, kind: &str, node: &Node, extent: Extent) -> Vec<Refused> {
    let mut found = operators::validate(api_version, kind, node, extent);
    if let Some(name) = types::of_object(api_version, kind) {
        found.extend(part(node, Vec::new(), name, extent));
        return found;
    }
    let pods = templates(node).into_iter();
    found.extend(pods.flat_map(|(path, name, node)| part(node, path, name, extent)));
    found
}

/// The violations of a pod `spec` at any path.
pub fn look_at_pod(spec: &Node, extent: Extent) -> Vec<Refused> {
    part(spec, Vec::new(), "PodSpec", extent)
}

fn part(node: &Node, path: Vec<Step>, name: &'static str, extent: Extent) -> Vec<Refused> {
    let mut look = Visit {
        path,
        above: Vec::new(),
        is_whole: extent == Extent::Whole,
        found: Vec::new(),
    };
    types::walk(&mut look, &types::Type::Object(name), node);
    look.found
}

/// The pod templates in a custom resource, with their types: fields with this name whose `spec` has containers.
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
