//! Delivery of the tree to the cluster: the same steps for Flux, Argo CD and `install.sh`.

mod argocd;
mod flux;

use gpuc_schema::Spanned;
use gpuc_schema::config::Gitops;
use serde_json::Value as Json;

use gpuc_model::check::Checked;
use gpuc_model::plan::{Delivery, Guide, Object, Release, Step, StepKind};
use gpuc_syntax::node::{Entry, Node, Origin, Value};
use gpuc_syntax::source::Span;

/// The maximum length of a name that objects carry in a label.
const MAX_NAME_LENGTH: usize = 63;

/// The timeout until all of a component or chart is ready.
const READY_TIMEOUT: &str = "15m";

/// Everything to deliver.
pub(super) struct Deliverables<'p> {
    /// The objects.
    pub(super) objects: &'p [Object],
    /// The releases.
    pub(super) releases: &'p [Release],
    /// The steps of both, each after its dependencies.
    pub(super) steps: &'p [Step],
}

/// The delivery method with its objects.
pub(super) fn delivery(cluster: &Checked<'_>, deliverables: &Deliverables<'_>) -> Delivery {
    match cluster.config.gitops.as_ref().map(|it| &it.value) {
        None => Delivery::Script,
        Some(Gitops::Flux(settings)) => flux::delivery(&cluster.name, settings, deliverables),
        Some(Gitops::Argocd(settings)) => argocd::delivery(&cluster.name, settings, deliverables),
    }
}

/// Annotates objects that a GitOps controller must not delete, recreate or change. Namespaces, and NodePools with
/// machines, have the annotations of every controller: during a migration, the old controller sees the tree of the new
/// one before it is removed.
pub(super) fn protect(cluster: &Checked<'_>, objects: &mut [Object]) {
    let gitops = cluster.config.gitops.as_ref();
    let gitops_kind = gitops.map(|it| &it.value);
    for object in objects {
        let is_always = object.identity.kind == "Namespace" || object.has_machines;
        let mut protections = Vec::new();
        if is_always || matches!(gitops_kind, Some(Gitops::Flux(_))) {
            protections.extend(flux::protection_annotations(object));
        }
        if is_always || matches!(gitops_kind, Some(Gitops::Argocd(_))) {
            protections.extend(argocd::protection_options(object));
        }
        let origin = || {
            let reason = "the GitOps controller must not delete or change the object";
            Origin::rule(gitops.map(|it| it.span), reason)
        };
        for (key, value) in protections {
            annotate(object, key, Node::from_serializable(&value, origin()));
        }
    }
}

/// Whether deleting the object also deletes objects that gpuc does not manage, or data.
fn must_be_retained(object: &Object) -> bool {
    let kind = object.identity.kind.as_str();
    matches!(kind, "Namespace" | "PersistentVolumeClaim") || object.has_machines
}

/// Whether the object has immutable fields: the pod template of jobs, the value and preemption policy of a class.
///
/// Source: `ValidatePriorityClassUpdate` in kubernetes `pkg/apis/scheduling/validation/validation.go`, read 2026-11-22.
fn is_immutable(object: &Object) -> bool {
    matches!(
        object.identity.kind.as_str(),
        "Job" | "TrainJob" | "PyTorchJob" | "JobSet" | "PriorityClass"
    )
}

impl<'p> Deliverables<'p> {
    fn objects_of(&self, name: &str) -> impl Iterator<Item = &'p Object> {
        let objects = self.objects.iter();
        objects.filter(move |object| object.component == name)
    }

    fn release(&self, name: &str) -> &'p Release {
        let release = self.releases.iter().find(|release| release.name == name);
        release.unwrap_or_else(|| unreachable!("{name} is a step because it is a release"))
    }

    /// The folder of a step's objects, below the cluster's. Those of a release are in the GitOps controller's folder.
    fn folder(step: &Step, controller_folder: &str) -> String {
        match step.kind {
            StepKind::Component => format!("manifests/{}", step.name),
            StepKind::Release => format!("{controller_folder}/{}", step.name),
        }
    }
}

/// The location of the tree in a repository, and the namespace of the controller that reads it.
struct Location<'p> {
    /// The cluster's name.
    cluster: &'p str,
    repository: &'p Spanned<String>,
    branch: &'p Spanned<String>,
    path: &'p Spanned<String>,
    namespace: &'p Spanned<String>,
}

impl Location<'_> {
    /// A folder of the tree relative to the repository's root, without `.` and redundant slashes.
    fn folder(&self, below: &str) -> String {
        let parts = self.path.split('/').chain(below.split('/'));
        let parts: Vec<_> = parts.filter(|part| !matches!(*part, "" | ".")).collect();
        parts.join("/")
    }

    /// The name of a step's object, unique among those of other clusters.
    fn name(&self, step: &str) -> String {
        let full_name = format!("{}-{step}", self.cluster);
        if full_name.len() <= MAX_NAME_LENGTH {
            return full_name;
        }
        let shortened = full_name[..MAX_NAME_LENGTH - 9].trim_end_matches('-');
        format!("{shortened}-{:08x}", fingerprint(&full_name))
    }

    /// The spans of the settings.
    fn inputs(&self) -> Vec<Span> {
        let settings = [self.repository, self.branch, self.path, self.namespace];
        settings.iter().map(|it| it.span).collect()
    }

    /// An object of the GitOps controller, in its namespace.
    fn object(&self, folder: &str, kind: (&str, &str), name: &str, spec: &Json) -> Object {
        let object = serde_json::json!({
            "apiVersion": kind.0,
            "kind": kind.1,
            "metadata": {"name": name, "namespace": self.namespace.value},
            "spec": spec,
        });
        let reason = "every part of the tree is installed after its dependencies";
        Object::new(folder, &object, Origin::rule(self.inputs(), reason))
    }

    fn guide(
        &self,
        [secret, chart_secret]: [Option<&Spanned<String>>; 2],
        elsewhere: bool,
        leaving: &'static [&'static str],
    ) -> Guide {
        Guide {
            repository: self.repository.value.clone(),
            branch: self.branch.value.clone(),
            path: self.folder(""),
            namespace: self.namespace.value.clone(),
            secret: secret.map(|it| it.value.clone()),
            chart_secret: chart_secret.map(|it| it.value.clone()),
            elsewhere,
            renders: false,
            leaving,
        }
    }
}

/// A stable hash that distinguishes shortened names (FNV-1a, <https://www.rfc-editor.org/rfc/rfc9923>, read
/// 2026-11-21).
fn fingerprint(text: &str) -> u32 {
    let bytes = text.bytes();
    bytes.fold(0x811c_9dc5, |sum, byte| {
        (sum ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    })
}

/// Whether a string in the object looks like a variable to Flux.
fn has_variables(node: &Node) -> bool {
    match &node.value {
        Value::Scalar(_) => node.text().is_some_and(|text| text.contains("${")),
        Value::Sequence(items) => items.iter().any(has_variables),
        Value::Mapping(entries) => entries
            .iter()
            .any(|entry| entry.key.contains("${") || has_variables(&entry.value)),
    }
}

/// Whether values contain a null, by which Helm removes a chart's default. The API server may drop a null in an object,
/// where it means that a field is not set.
fn has_null(values: &Node) -> bool {
    fn has(value: &Json) -> bool {
        match value {
            Json::Array(items) => items.iter().any(has),
            Json::Object(fields) => fields.values().any(has),
            value => value.is_null(),
        }
    }
    has(&serde_json::to_value(values).expect("values are YAML"))
}

/// Values as text for Helm: JSON, which is valid YAML.
fn to_json_text(values: &Node) -> String {
    let text = serde_json::to_string_pretty(values);
    text.expect("values are YAML") + "\n"
}

fn annotate(object: &mut Object, key: &str, value: Node) {
    set_at(&mut object.node, &["metadata", "annotations", key], value);
}

/// Sets a value at a path and creates missing mappings.
fn set_at(node: &mut Node, path: &[&str], value: Node) {
    let Some((key, rest)) = path.split_first() else {
        *node = value;
        return;
    };
    let Value::Mapping(entries) = &mut node.value else {
        unreachable!("objects and their metadata are mappings");
    };
    let index = entries.iter().position(|entry| entry.key == *key);
    let index = index.unwrap_or_else(|| {
        entries.push(Entry {
            key: (*key).to_owned(),
            key_span: Span::NONE,
            value: Node::from_json(serde_json::json!({})),
        });
        entries.len() - 1
    });
    set_at(&mut entries[index].value, rest, value);
}

#[cfg(test)]
mod tests;
