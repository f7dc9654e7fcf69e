//! Checks that a patch has the types of the patched object and removes no required field.

use std::collections::BTreeSet;

use gpuc_model::check::Checked;
use gpuc_model::plan::Object;
use gpuc_schema::Spanned;
use gpuc_schema::config::Workload;
use gpuc_syntax::diag::phrases::closest_match;
use gpuc_syntax::node::{Node, Scalar, Value};
use serde_json::json;

use super::{Problem, api_validation, invalid_counts, patch_span};
use crate::lower::workloads::{patched_objects, pod_specs, unpatched_objects};

/// The required keys of objects, pods and containers.
const REQUIRED_KEYS: &[&str] = &[
    "containers",
    "image",
    "jobTemplate",
    "leaderWorkerTemplate",
    "Master",
    "name",
    "pytorchReplicaSpecs",
    "replicatedJobs",
    "runtimeRef",
    "schedule",
    "selector",
    "spec",
    "template",
    "workerTemplate",
];

/// The problems in the patches of a workload that do not depend on the pools.
pub(super) fn check(cluster: &Checked<'_>, workload: &Spanned<Workload>) -> BTreeSet<Problem> {
    let (before, after) = (
        unpatched_objects(cluster, workload),
        patched_objects(cluster, workload),
    );
    let mut found = BTreeSet::new();
    let (pod_patch, patch) = (&workload.pod_patch, &workload.patch);
    for object in &before {
        if !pod_patch.value.is_empty() {
            let theirs = Node::from_fragment(pod_patch);
            for spec in pod_specs(&object.node) {
                check_types(spec, &theirs, "podPatch", &mut found);
            }
        }
    }
    for (before, after) in before.iter().zip(&after) {
        if !patch.value.is_empty() && is_patched(before, after) {
            check_types(
                &before.node,
                &Node::from_fragment(patch),
                "patch",
                &mut found,
            );
        }
    }
    check_duplicates(&Node::from_fragment(pod_patch), "podPatch", &mut found);
    check_duplicates(&Node::from_fragment(patch), "patch", &mut found);
    if !found.is_empty() {
        return found;
    }
    for (before, after) in before.iter().zip(&after) {
        let (own, now) = (pod_specs(&before.node), pod_specs(&after.node));
        if own.len() > now.len() {
            found.insert(Problem {
                span: patch_span(workload),
                message: format!("the patch removes a pod of the {}", before.identity.kind),
                help:
                    "write only the fields that change: mappings merge, and so do lists of named items"
                        .to_owned(),
            });
            continue;
        }
        for (own, now) in own.iter().zip(&now) {
            let kind = &before.identity.kind;
            check_containers(kind, own, now, patch_span(workload), &mut found);
        }
    }
    if found.is_empty() {
        for object in &after {
            found.extend(api_validation::check(object, patch_span(workload)));
            found.extend(invalid_counts::check(object, patch_span(workload)));
        }
    }
    found
}

/// Lists that merge by name: of two items with one name in a patch, the second overrides the first.
const MERGED_BY_NAME: &[&str] = &[
    "containers",
    "env",
    "initContainers",
    "replicatedJobs",
    "resourceClaims",
    "volumes",
];

fn check_duplicates(theirs: &Node, path: &str, found: &mut BTreeSet<Problem>) {
    let mut seen = BTreeSet::new();
    for item in theirs.items() {
        let name = item.get("name");
        let name = name.and_then(|it| Some((it, it.text()?)));
        if let Some((node, name)) = name
            && MERGED_BY_NAME.contains(&path.rsplit('.').next().unwrap_or_default())
            && !seen.insert(name)
        {
            found.insert(Problem {
                span: node.span(),
                message: format!("`{path}` has `{name}` twice"),
                help: "remove one of the two, or write another name".to_owned(),
            });
        }
        check_duplicates(item, path, found);
    }
    for entry in theirs.entries() {
        check_duplicates(&entry.value, &format!("{path}.{}", entry.key), found);
    }
}

fn is_patched(before: &Object, after: &Object) -> bool {
    json!(before.node) != json!(after.node)
}

fn check_types(ours: &Node, theirs: &Node, path: &str, found: &mut BTreeSet<Problem>) {
    let mut report = |message: String, help: &str| {
        found.insert(Problem {
            span: theirs.span(),
            message,
            help: help.to_owned(),
        });
    };
    match (&ours.value, &theirs.value) {
        (Value::Mapping(_), Value::Mapping(entries)) => {
            for entry in entries {
                let Some(own) = ours.get(&entry.key) else {
                    continue;
                };
                let path = format!("{path}.{}", entry.key);
                let is_null = matches!(entry.value.value, Value::Scalar(Scalar::Null));
                let is_head = entry.key == "metadata" && path == "patch.metadata";
                let is_needed = is_head || REQUIRED_KEYS.contains(&entry.key.as_str());
                if is_null && is_needed {
                    found.insert(Problem {
                        span: entry.value.span(),
                        message: format!("`{path}` removes a required field"),
                        help: "remove it, or write the fields that change below it".to_owned(),
                    });
                } else if !is_null {
                    check_types(own, &entry.value, &path, found);
                }
            }
        }
        (Value::Mapping(_), _) => report(
            format!("`{path}` is {}, but must be a mapping", type_name(theirs)),
            "write a mapping with keys and values",
        ),
        (Value::Sequence(own), Value::Sequence(items)) => {
            if items.is_empty() && path.ends_with(".containers") {
                report(
                    format!("`{path}` is empty, but a pod must have a container"),
                    "remove it, or write the container that changes, with its name",
                );
            }
            for item in items {
                let name = item.get("name").and_then(Node::text);
                let mut matching = own
                    .iter()
                    .filter(|own| name.is_some() && own.get("name").and_then(Node::text) == name);
                let kind = own.first().filter(|own| !is_scalar(own) && is_scalar(item));
                if let Some(own) = matching.next().or(kind) {
                    let path = match name {
                        Some(name) => format!("{path}.{name}"),
                        None => path.to_owned(),
                    };
                    check_types(own, item, &path, found);
                }
            }
        }
        (Value::Sequence(_), _) => report(
            format!("`{path}` is {}, but must be a list", type_name(theirs)),
            "write a list: one item per line, each with the prefix `- `",
        ),
        (Value::Scalar(_), Value::Mapping(_) | Value::Sequence(_)) => report(
            format!("`{path}` is {}, but must be a scalar", type_name(theirs)),
            "write a single value",
        ),
        (Value::Scalar(_), Value::Scalar(_)) => {}
    }
}

fn is_scalar(node: &Node) -> bool {
    matches!(node.value, Value::Scalar(_))
}

fn type_name(node: &Node) -> &'static str {
    match &node.value {
        Value::Mapping(_) => "a mapping",
        Value::Sequence(_) => "a list",
        Value::Scalar(Scalar::Null) => "nothing",
        Value::Scalar(Scalar::Text(_) | Scalar::Written { .. }) => "text",
        Value::Scalar(Scalar::Bool(_)) => "a boolean",
        Value::Scalar(Scalar::Integer(_) | Scalar::Float(_)) => "a number",
    }
}

/// Checks that every container has a name and an image, and that gpuc's container still exists.
fn check_containers(
    kind: &str,
    own: &Node,
    patched: &Node,
    patch: gpuc_schema::Span,
    found: &mut BTreeSet<Problem>,
) {
    let text = |node: &Node, key: &str| {
        let text = node.get(key).and_then(Node::text);
        text.filter(|text| !text.is_empty()).map(str::to_owned)
    };
    let list = |spec: &Node, key: &str| spec.get(key).map(Node::items).unwrap_or_default().to_vec();
    let first = list(own, "containers")
        .first()
        .and_then(|it| text(it, "name"));
    let main = first.unwrap_or_default();
    let wanted = format!("the container of a {kind} has the name `{main}`");
    let containers = list(patched, "containers");
    for container in containers.iter().chain(&list(patched, "initContainers")) {
        let span = Some(container.span()).filter(|span| span.is_written());
        let span = span.unwrap_or(patch);
        let mut report = |message: String, help: &str| {
            let help = help.to_owned();
            found.insert(Problem {
                span,
                message,
                help,
            });
        };
        match (text(container, "name"), text(container, "image")) {
            (None, _) => report(
                "a container has no name".to_owned(),
                &format!("write its `name`; {wanted}"),
            ),
            (Some(name), _) if name == "main" && main != "main" => report(
                format!("the {kind} has no container `main`"),
                &format!("write `name: {main}`; {wanted}"),
            ),
            (Some(name), None) if name == main => report(
                format!("the `image` of container `{name}` is empty"),
                "write an image, or omit `image`: gpuc sets it",
            ),
            // A typo in the name of gpuc's container.
            (Some(name), None) if closest_match(&name, [main.as_str()]).is_some() => report(
                format!("the {kind} has no container `{name}`"),
                &format!("did you mean `{main}`? {wanted}"),
            ),
            (Some(name), None) => report(
                format!("container `{name}` has no image"),
                &format!("write its `image`, or another name: {wanted}"),
            ),
            (Some(_), Some(_)) => {}
        }
    }
    let is_main = |it: &Node| text(it, "name").as_ref() == Some(&main);
    if found.is_empty() && !containers.iter().any(is_main) {
        found.insert(Problem {
            span: patch,
            message: format!("the patch removes container `{main}`"),
            help: format!("{wanted}: keep it"),
        });
    }
}
