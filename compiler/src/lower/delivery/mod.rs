//! What brings the tree to the cluster: the same steps, for Flux, for Argo CD, and for a script.

mod argocd;
mod flux;

use gpuc_schema::Spanned;
use gpuc_schema::config::Gitops;
use serde_json::Value as Json;

use crate::check::Checked;
use crate::node::{Entry, Node, Origin, Value};
use crate::plan::{Delivery, Guide, Object, Release, Step, What};
use crate::source::Span;

/// The most characters of a name that its objects carry in a label.
const LONGEST: usize = 63;

/// How long a component or a chart may take until all of it is ready.
const READY_WITHIN: &str = "15m";

/// Everything that is to be brought.
pub(super) struct Goods<'p> {
    /// The objects.
    pub(super) objects: &'p [Object],
    /// The releases.
    pub(super) releases: &'p [Release],
    /// Both, each after what it needs.
    pub(super) steps: &'p [Step],
}

/// What brings them.
pub(super) fn delivery(cluster: &Checked<'_>, goods: &Goods<'_>) -> Delivery {
    match cluster.written.gitops.as_ref().map(|it| &it.value) {
        None => Delivery::Script,
        Some(Gitops::Flux(settings)) => flux::delivery(&cluster.name, settings, goods),
        Some(Gitops::Argocd(settings)) => argocd::delivery(&cluster.name, settings, goods),
    }
}

/// Writes on objects what a tool that brings them must not do with them. A namespace has the words of every tool,
/// whatever brings it: where one tool, or the script, takes over from another, the other is removed after it has seen
/// the tree of its successor.
pub(super) fn protect(cluster: &Checked<'_>, objects: &mut [Object]) {
    let gitops = cluster.written.gitops.as_ref();
    let tool = gitops.map(|it| &it.value);
    for object in objects {
        let is_namespace = object.identity.kind == "Namespace";
        let mut protections = Vec::new();
        if is_namespace || matches!(tool, Some(Gitops::Flux(_))) {
            protections.extend(flux::protections(object));
        }
        if is_namespace || matches!(tool, Some(Gitops::Argocd(_))) {
            protections.extend(argocd::protections(object));
        }
        let origin = || {
            let why = "what brings the object to the cluster must not remove or change it";
            Origin::rule(gitops.map(|it| it.span), why)
        };
        for (key, value) in protections {
            annotate(object, key, Node::typed(&value, origin()));
        }
    }
}

/// Whether an object holds what would be gone with it: other people's things, or data.
fn is_kept(object: &Object) -> bool {
    matches!(
        object.identity.kind.as_str(),
        "Namespace" | "PersistentVolumeClaim"
    )
}

/// Whether Kubernetes refuses changes: of the pods of jobs, of a class's value and of whether it preempts.
///
/// Source: `ValidatePriorityClassUpdate` in kubernetes `pkg/apis/scheduling/validation/validation.go`, read
/// 2026-11-22.
fn is_fixed(object: &Object) -> bool {
    matches!(
        object.identity.kind.as_str(),
        "Job" | "TrainJob" | "PyTorchJob" | "JobSet" | "PriorityClass"
    )
}

impl<'p> Goods<'p> {
    fn of_component(&self, name: &str) -> impl Iterator<Item = &'p Object> {
        let objects = self.objects.iter();
        objects.filter(move |object| object.component == name)
    }

    fn release(&self, name: &str) -> &'p Release {
        let release = self.releases.iter().find(|release| release.name == name);
        release.unwrap_or_else(|| unreachable!("{name} is a step because it is a release"))
    }

    /// The folder of a step's objects, below the cluster's: a release's stand with those of the tool.
    fn folder(step: &Step, of_tool: &str) -> String {
        match step.what {
            What::Component => format!("manifests/{}", step.name),
            What::Release => format!("{of_tool}/{}", step.name),
        }
    }
}

/// Where the tree lies in a repository, and who reads it there.
struct Place<'p> {
    /// The cluster's name.
    cluster: &'p str,
    repository: &'p Spanned<String>,
    branch: &'p Spanned<String>,
    path: &'p Spanned<String>,
    namespace: &'p Spanned<String>,
}

impl Place<'_> {
    /// A folder of the tree as seen from the repository's root, without `.` and doubled or last slashes.
    fn folder(&self, below: &str) -> String {
        let parts = self.path.split('/').chain(below.split('/'));
        let parts: Vec<_> = parts.filter(|part| !matches!(*part, "" | ".")).collect();
        parts.join("/")
    }

    /// What an object of a step is called, among those of other clusters and of other people.
    fn name(&self, step: &str) -> String {
        let whole = format!("{}-{step}", self.cluster);
        if whole.len() <= LONGEST {
            return whole;
        }
        let kept = whole[..LONGEST - 9].trim_end_matches('-');
        format!("{kept}-{:08x}", fingerprint(&whole))
    }

    /// Where the settings were written.
    fn inputs(&self) -> Vec<Span> {
        let settings = [self.repository, self.branch, self.path, self.namespace];
        settings.iter().map(|it| it.span).collect()
    }

    /// An object of the tool's, in its namespace.
    fn object(&self, folder: &str, kind: (&str, &str), name: &str, spec: &Json) -> Object {
        let object = serde_json::json!({
            "apiVersion": kind.0,
            "kind": kind.1,
            "metadata": {"name": name, "namespace": self.namespace.value},
            "spec": spec,
        });
        let why = "every part of the tree is brought to the cluster after what it needs";
        Object::new(folder, &object, Origin::rule(self.inputs(), why))
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

/// A number of a text that is the same for ever, to tell shortened names apart (FNV-1a,
/// <https://www.rfc-editor.org/rfc/rfc9923>, read 2026-11-21).
fn fingerprint(text: &str) -> u32 {
    let bytes = text.bytes();
    bytes.fold(0x811c_9dc5, |sum, byte| {
        (sum ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    })
}

/// Whether a text of the object looks like a variable to Flux.
fn has_variables(node: &Node) -> bool {
    match &node.value {
        Value::Scalar(_) => node.text().is_some_and(|text| text.contains("${")),
        Value::Sequence(items) => items.iter().any(has_variables),
        Value::Mapping(entries) => entries
            .iter()
            .any(|entry| entry.key.contains("${") || has_variables(&entry.value)),
    }
}

/// Whether values have a null, by which Helm removes what a chart has by default. In an object it need not arrive: to
/// whoever applies one, it means that a field is not set.
fn has_null(values: &Node) -> bool {
    fn has(value: &Json) -> bool {
        match value {
            Json::Array(items) => items.iter().any(has),
            Json::Object(fields) => fields.values().any(has),
            value => value.is_null(),
        }
    }
    has(&serde_json::to_value(values).expect("values are what YAML can say"))
}

/// Values as text that Helm reads: JSON, which YAML has in it.
fn as_text(values: &Node) -> String {
    let text = serde_json::to_string_pretty(values);
    text.expect("values are what YAML can say") + "\n"
}

fn annotate(object: &mut Object, key: &str, value: Node) {
    put(&mut object.node, &["metadata", "annotations", key], value);
}

/// Puts a value at a path; mappings on the way are made.
fn put(node: &mut Node, path: &[&str], value: Node) {
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
    put(&mut entries[index].value, rest, value);
}

#[cfg(test)]
mod tests;
