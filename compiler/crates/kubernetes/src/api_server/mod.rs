//! Validation of objects as by the Kubernetes API server. [`validate_object`] visits an object according to Kubernetes'
//! types and reports unknown fields and invalid values. For each nested object, the rules report further violations.
//! Both `gpuc check --manifests` and the audit of patches use it.

mod containers;
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
mod quantities;
mod ranges;
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
pub use field_path::{Step, format_path, locate_path};
pub use scheduling::DEFAULT_SCHEDULER;
pub use security::{level_name, pod_security_violations};
pub use types::{REMOVED_FIELDS, custom_groups};

/// The maximum number of violations of an object; the rest is not validated. A file of 1 MB can have tens of thousands.
pub const MAX_VIOLATIONS: usize = 100;

/// A violation: the location, the problem, and the fix.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Violation {
    /// The path.
    pub path: Vec<Step>,
    /// Whether the key is invalid, not its value.
    pub is_key: bool,
    /// The problem.
    pub message: String,
    /// The fix, as an instruction.
    pub help: String,
    /// The correct key or value, if it is certain enough to apply it.
    pub suggestion: Option<String>,
    /// The project and version whose CRD does not have a field or value; other versions can have it.
    pub unknown_to_project: Option<&'static str>,
    /// The project and version whose CRD contains the violated rule; other versions may not contain it.
    pub rule_owner: Option<&'static str>,
}

/// The completeness of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Completeness {
    /// Complete: missing fields are not set.
    Complete,
    /// Partial: other sources can set further fields.
    Partial,
}

/// The state of visiting an object.
struct Visit<'n> {
    path: Vec<Step>,
    /// The enclosing objects with their types, outermost first.
    ancestors: Vec<(&'static str, &'n Node)>,
    is_complete: bool,
    /// The volumes that the controller adds to pods; `None` if they are not known.
    added_volumes: Option<&'static [&'static str]>,
    violations: Vec<Violation>,
}

/// A visited object, for rules.
struct ObjectContext<'w, 'n> {
    /// The object's type.
    type_name: &'static str,
    node: &'n Node,
    path: &'w [Step],
    ancestors: &'w [(&'static str, &'n Node)],
    is_complete: bool,
    added_volumes: Option<&'static [&'static str]>,
    violations: &'w mut Vec<Violation>,
}

impl<'n> ObjectContext<'_, 'n> {
    /// Reports a violation at a path below this object; the message is created with the full path.
    fn report(
        &mut self,
        below: impl IntoIterator<Item = Step>,
        message: impl FnOnce(&str) -> String,
        help: impl Into<String>,
    ) {
        let parent_len = self.path.len();
        let path: Vec<_> = self.path.iter().cloned().chain(below).collect();
        self.violations.push(Violation {
            message: message(&format_path(&path)),
            // For a whole object, report its key: the value can start several lines below.
            is_key: path.len() == parent_len,
            path,
            help: help.into(),
            suggestion: None,
            unknown_to_project: None,
            rule_owner: None,
        });
    }

    /// Sets the correct value of the last violation.
    fn suggest(&mut self, meant: Option<String>) {
        if let Some(found) = self.violations.last_mut() {
            found.suggestion = meant;
        }
    }

    /// Whether further violations would be dropped.
    fn is_full(&self) -> bool {
        self.violations.len() >= MAX_VIOLATIONS
    }

    /// The innermost enclosing object of a type.
    fn enclosing_object(&self, name: &str) -> Option<&'n Node> {
        let mut above = self.ancestors.iter().rev();
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
pub fn is_known_kind(api_version: &str, kind: &str) -> bool {
    types::object_type_name(api_version, kind).is_some()
}

/// For a custom resource with an API version that its CRD does not serve: the project, its version, and the served API
/// versions, newest last.
pub fn other_versions(api_version: &str, kind: &str) -> Option<(&'static str, Vec<&'static str>)> {
    let (group, _) = api_version.split_once('/')?;
    let versions = types::known_versions(group, kind);
    let project = types::defining_project(versions.first()?)?;
    (!versions.contains(&api_version)).then_some((project, versions))
}

/// The violations of an object, at most [`MAX_VIOLATIONS`], in the order of the text.
pub fn validate_object(
    api_version: &str,
    kind: &str,
    node: &Node,
    extent: Completeness,
) -> Vec<Violation> {
    let mut found = operators::validate(api_version, kind, node, extent);
    let volumes = operators::added_volumes(api_version, kind, node);
    if let Some(name) = types::object_type_name(api_version, kind) {
        found.extend(validate_type(node, Vec::new(), name, extent, volumes));
    } else {
        for (path, name, node) in pod_templates(node) {
            if found.len() < MAX_VIOLATIONS {
                found.extend(validate_type(node, path, name, extent, volumes));
            }
        }
    }
    found.truncate(MAX_VIOLATIONS);
    found
}

/// The violations of a pod `spec` at any path.
pub fn validate_pod_spec(spec: &Node, extent: Completeness) -> Vec<Violation> {
    validate_type(spec, Vec::new(), "PodSpec", extent, Some(&[]))
}

fn validate_type(
    node: &Node,
    path: Vec<Step>,
    name: &'static str,
    extent: Completeness,
    added_volumes: Option<&'static [&'static str]>,
) -> Vec<Violation> {
    let mut visit = Visit {
        added_volumes,
        path,
        ancestors: Vec::new(),
        is_complete: extent == Completeness::Complete,
        violations: Vec::new(),
    };
    types::validate_value(&mut visit, &types::ValueType::Object(name), node);
    visit.violations
}

/// The pod templates in a custom resource, with their types: fields with this name whose `spec` has containers.
fn pod_templates(root: &Node) -> Vec<(Vec<Step>, &'static str, &Node)> {
    let mut found = Vec::new();
    collect_pod_templates(root, &mut Vec::new(), &mut found);
    found
}

fn collect_pod_templates<'n>(
    node: &'n Node,
    path: &mut Vec<Step>,
    found: &mut Vec<(Vec<Step>, &'static str, &'n Node)>,
) {
    match &node.value {
        Value::Scalar(_) => {}
        Value::Sequence(items) => {
            for (index, item) in items.iter().enumerate() {
                path.push(Step::Item(index));
                collect_pod_templates(item, path, found);
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
                    collect_pod_templates(&entry.value, path, found);
                }
                path.pop();
            }
        }
    }
}
