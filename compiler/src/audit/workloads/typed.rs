//! What becomes of patched objects in Kubernetes' own types: keys that these do not know, and values that they do not
//! take.

use gpuc_schema::Span;
use k8s_openapi::api::apps::v1::{Deployment, StatefulSet};
use k8s_openapi::api::batch::v1::{CronJob, Job};
use k8s_openapi::api::core::v1::PodSpec;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value as Json, json};
use serde_path_to_error::Segment;

use super::Wrong;
use crate::diag::words::nearest;
use crate::lower::workloads::pod_specs;
use crate::node::Node;
use crate::plan::Object;

/// Fields that are younger than the types: of Kubernetes 1.34 and 1.35 (from memory).
const YOUNGER: &[&str] = &[
    "fileKeyRef",
    "hostnameOverride",
    "podCertificate",
    "restartPolicyRules",
    "workloadRef",
];

/// Fields that are often patched, for what was probably meant.
const COMMON: &[&str] = &[
    "activeDeadlineSeconds",
    "affinity",
    "annotations",
    "args",
    "automountServiceAccountToken",
    "backoffLimit",
    "capabilities",
    "command",
    "completions",
    "containers",
    "dnsPolicy",
    "emptyDir",
    "env",
    "envFrom",
    "failureThreshold",
    "hostIPC",
    "hostNetwork",
    "hostPID",
    "image",
    "imagePullPolicy",
    "imagePullSecrets",
    "initContainers",
    "labels",
    "lifecycle",
    "limits",
    "livenessProbe",
    "mountPath",
    "nodeSelector",
    "parallelism",
    "periodSeconds",
    "ports",
    "priorityClassName",
    "privileged",
    "readinessProbe",
    "readOnly",
    "replicas",
    "requests",
    "resources",
    "restartPolicy",
    "runAsNonRoot",
    "runAsUser",
    "runtimeClassName",
    "schedulerName",
    "securityContext",
    "serviceAccountName",
    "shareProcessNamespace",
    "startupProbe",
    "strategy",
    "suspend",
    "terminationGracePeriodSeconds",
    "tolerations",
    "topologySpreadConstraints",
    "ttlSecondsAfterFinished",
    "value",
    "valueFrom",
    "volumeMounts",
    "volumes",
    "workingDir",
];

/// A step of a path: a key, or the number of an item.
#[derive(Clone, Debug)]
pub(super) enum Step {
    Key(String),
    Item(usize),
}

/// Whether a tree fits a type, and what of it the type does not know.
struct Read {
    lost: Vec<Vec<Step>>,
    error: Option<(Vec<Step>, String)>,
}

/// What Kubernetes' types say of an object, and whether it selects its own pods.
pub(super) fn look(object: &Object, patch: Span) -> Vec<Wrong> {
    let node = &object.node;
    let mut found = match object.identity.kind.as_str() {
        "Job" => wrong(node, through::<Job>, patch),
        "CronJob" => wrong(node, through::<CronJob>, patch),
        "Deployment" => wrong(node, through::<Deployment>, patch),
        "StatefulSet" => wrong(node, through::<StatefulSet>, patch),
        _ => {
            let specs = pod_specs(node).into_iter();
            let found = specs.flat_map(|spec| wrong(spec, through::<PodSpec>, patch));
            found.collect()
        }
    };
    found.extend(selects(node, patch));
    found
}

fn wrong(node: &Node, through: fn(&Json) -> Read, patch: Span) -> Vec<Wrong> {
    let mut meant = json!(node);
    amounts(&mut meant, "");
    let read = through(&meant);
    let lost = read.lost.into_iter().map(|path| {
        let help = match path.last() {
            Some(Step::Key(key)) => nearest(key, COMMON.iter().copied()),
            _ => None,
        };
        let help = match help {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => "remove it, or write it where Kubernetes looks for it".to_owned(),
        };
        Wrong {
            span: place(node, &path, true).unwrap_or(patch),
            message: format!("Kubernetes knows no `{}`", words(&path)),
            help,
        }
    });
    let error = read.error.map(|(path, error)| Wrong {
        span: place(node, &path, false).unwrap_or(patch),
        message: format!("Kubernetes cannot read `{}`: {error}", words(&path)),
        help: "write a value of the kind that is expected".to_owned(),
    });
    lost.chain(error).collect()
}

/// Kubernetes takes amounts as numbers too; its types here only as text.
fn amounts(value: &mut Json, key: &str) {
    match value {
        Json::Object(fields) => {
            let are_amounts = matches!(key, "requests" | "limits" | "overhead");
            for (key, value) in fields {
                let is_amount = are_amounts || matches!(key.as_str(), "sizeLimit" | "divisor");
                if is_amount && value.is_number() {
                    *value = json!(value.to_string());
                }
                amounts(value, key);
            }
        }
        Json::Array(items) => items.iter_mut().for_each(|item| amounts(item, "")),
        _ => {}
    }
}

fn through<T: DeserializeOwned + Serialize>(meant: &Json) -> Read {
    let mut read = Read {
        lost: Vec::new(),
        error: None,
    };
    match serde_path_to_error::deserialize::<_, T>(meant) {
        Ok(typed) => lost(meant, &json!(typed), &mut Vec::new(), &mut read.lost),
        Err(error) => {
            let steps = error.path().iter().filter_map(|segment| match segment {
                Segment::Seq { index } => Some(Step::Item(*index)),
                Segment::Map { key } => Some(Step::Key(key.clone())),
                Segment::Enum { .. } | Segment::Unknown => None,
            });
            let path = steps.collect();
            read.error = Some((path, error.into_inner().to_string()));
        }
    }
    read
}

fn lost(meant: &Json, read: &Json, path: &mut Vec<Step>, found: &mut Vec<Vec<Step>>) {
    match (meant, read) {
        (Json::Object(meant), Json::Object(read)) => {
            for (key, value) in meant {
                path.push(Step::Key(key.clone()));
                match read.get(key) {
                    Some(read) => lost(value, read, path, found),
                    None if value.is_null() || YOUNGER.contains(&key.as_str()) => {}
                    None => found.push(path.clone()),
                }
                path.pop();
            }
        }
        (Json::Array(meant), Json::Array(read)) => {
            for (index, (meant, read)) in meant.iter().zip(read).enumerate() {
                path.push(Step::Item(index));
                lost(meant, read, path, found);
                path.pop();
            }
        }
        _ => {}
    }
}

/// The innermost place on the way along a path that somebody wrote.
pub(super) fn place(node: &Node, path: &[Step], of_key: bool) -> Option<Span> {
    let mut node = node;
    let mut found = None;
    for (index, step) in path.iter().enumerate() {
        let (key, next) = match step {
            Step::Key(key) => {
                let Some(entry) = node.entry(key) else { break };
                (entry.key_span, &entry.value)
            }
            Step::Item(item) => {
                let Some(next) = node.items().get(*item) else {
                    break;
                };
                (Span::NONE, next)
            }
        };
        let is_last = index + 1 == path.len();
        let both = if of_key && is_last {
            [next.span(), key]
        } else {
            [key, next.span()]
        };
        for span in both.into_iter().filter(|span| span.is_written()) {
            found = Some(span);
        }
        node = next;
    }
    found
}

fn words(path: &[Step]) -> String {
    let mut words = String::new();
    for step in path {
        match step {
            Step::Key(key) if words.is_empty() => words.push_str(key),
            Step::Key(key) => words = format!("{words}.{key}"),
            Step::Item(index) => words = format!("{words}[{index}]"),
        }
    }
    words
}

/// The API server refuses what makes pods that it does not select.
fn selects(node: &Node, patch: Span) -> Option<Wrong> {
    let spec = node.get("spec")?;
    let selector = spec.get("selector")?;
    let labels = spec.get("template")?.get("metadata");
    let labels = labels.and_then(|metadata| metadata.get("labels"));
    let of = |key: &str| {
        labels
            .and_then(|labels| labels.get(key))
            .and_then(Node::text)
    };
    let equal = selector.get("matchLabels").map_or(&[][..], Node::entries);
    let unlike = equal
        .iter()
        .find(|entry| entry.value.text() != of(&entry.key));
    let terms = selector
        .get("matchExpressions")
        .map_or(&[][..], Node::items);
    let term = terms.iter().find(|term| !holds(term, of));
    let is_empty = equal.is_empty() && terms.is_empty();
    let (key, at) = match (unlike, term) {
        (Some(entry), _) => (entry.key.clone(), entry.value.span()),
        (None, Some(term)) => (
            term.get("key")?.text().unwrap_or_default().to_owned(),
            term.span(),
        ),
        (None, None) if is_empty => (String::new(), Span::NONE),
        (None, None) => return None,
    };
    let own = labels.and_then(|labels| labels.get(&key)).map(Node::span);
    let mut places = [at, own.unwrap_or(Span::NONE)].into_iter();
    Some(Wrong {
        span: places.find(|span| span.is_written()).unwrap_or(patch),
        message: if is_empty {
            "`spec.selector` selects nothing".to_owned()
        } else {
            format!("`spec.selector` does not select the pods of its own template, by `{key}`")
        },
        help:
            "write the same labels in `spec.template.metadata.labels`, or remove the patch of one"
                .to_owned(),
    })
}

fn holds<'n>(term: &'n Node, of: impl Fn(&str) -> Option<&'n str>) -> bool {
    let key = term.get("key").and_then(Node::text).unwrap_or_default();
    let values = term.get("values").map_or(&[][..], Node::items);
    let is_one = |own| values.iter().any(|value| value.text() == Some(own));
    match (term.get("operator").and_then(Node::text), of(key)) {
        (Some("In"), own) => own.is_some_and(is_one),
        (Some("NotIn"), own) => !own.is_some_and(is_one),
        (Some("Exists"), own) => own.is_some(),
        (Some("DoesNotExist"), own) => own.is_none(),
        _ => false,
    }
}
