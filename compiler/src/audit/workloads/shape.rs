//! Whether a patch has the shape of what it is laid over, and leaves of it what nothing can be without.

use std::collections::BTreeSet;

use gpuc_schema::Spanned;
use gpuc_schema::config::Workload;
use serde_json::json;

use super::{Wrong, numbers, patch_of, typed};
use crate::check::Checked;
use crate::diag::words::nearest;
use crate::lower::workloads::{made, patched, pod_specs};
use crate::node::{Node, Scalar, Value};
use crate::plan::Object;

/// The keys without which an object, a pod or a container is none.
const NEEDED: &[&str] = &[
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

/// What is wrong with the patches of a workload, whatever the pools are.
pub(super) fn look(cluster: &Checked<'_>, workload: &Spanned<Workload>) -> BTreeSet<Wrong> {
    let (before, after) = (made(cluster, workload), patched(cluster, workload));
    let mut found = BTreeSet::new();
    let (pod_patch, patch) = (&workload.pod_patch, &workload.patch);
    for object in &before {
        if !pod_patch.value.is_empty() {
            let theirs = Node::passed(pod_patch);
            for spec in pod_specs(&object.node) {
                walk(spec, &theirs, "podPatch", &mut found);
            }
        }
    }
    for (before, after) in before.iter().zip(&after) {
        if !patch.value.is_empty() && is_patched(before, after) {
            walk(&before.node, &Node::passed(patch), "patch", &mut found);
        }
    }
    twice(&Node::passed(pod_patch), "podPatch", &mut found);
    twice(&Node::passed(patch), "patch", &mut found);
    if !found.is_empty() {
        return found;
    }
    for (before, after) in before.iter().zip(&after) {
        let (own, now) = (pod_specs(&before.node), pod_specs(&after.node));
        if own.len() > now.len() {
            found.insert(Wrong {
                span: patch_of(workload),
                message: format!("nothing is left of a pod of the {}", before.identity.kind),
                help:
                    "write only the fields that change: mappings merge, and so do lists of things \
                       with a name"
                        .to_owned(),
            });
            continue;
        }
        for (own, now) in own.iter().zip(&now) {
            let kind = &before.identity.kind;
            containers(kind, own, now, patch_of(workload), &mut found);
        }
    }
    if found.is_empty() {
        for object in &after {
            found.extend(typed::look(object, patch_of(workload)));
            found.extend(numbers::look(object, patch_of(workload)));
        }
    }
    found
}

/// Lists in which what has one name is one thing: of two in a patch the second would be laid over the first.
const NAMED: &[&str] = &[
    "containers",
    "env",
    "initContainers",
    "replicatedJobs",
    "resourceClaims",
    "volumes",
];

fn twice(theirs: &Node, path: &str, found: &mut BTreeSet<Wrong>) {
    let mut seen = BTreeSet::new();
    for item in theirs.items() {
        let name = item.get("name");
        let name = name.and_then(|it| Some((it, it.text()?)));
        if let Some((node, name)) = name
            && NAMED.contains(&path.rsplit('.').next().unwrap_or_default())
            && !seen.insert(name)
        {
            found.insert(Wrong {
                span: node.span(),
                message: format!("`{path}` has `{name}` twice"),
                help: "remove one of the two, or write another name".to_owned(),
            });
        }
        twice(item, path, found);
    }
    for entry in theirs.entries() {
        twice(&entry.value, &format!("{path}.{}", entry.key), found);
    }
}

fn is_patched(before: &Object, after: &Object) -> bool {
    json!(before.node) != json!(after.node)
}

fn walk(ours: &Node, theirs: &Node, path: &str, found: &mut BTreeSet<Wrong>) {
    let mut say = |message: String, help: &str| {
        found.insert(Wrong {
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
                let is_needed = is_head || NEEDED.contains(&entry.key.as_str());
                if is_null && is_needed {
                    found.insert(Wrong {
                        span: entry.value.span(),
                        message: format!("`{path}` takes away what nothing can be without"),
                        help: "remove it, or write below it what changes".to_owned(),
                    });
                } else if !is_null {
                    walk(own, &entry.value, &path, found);
                }
            }
        }
        (Value::Mapping(_), _) => say(
            format!("`{path}` is {}, and must be a mapping", what(theirs)),
            "write keys and values, such as `key: value`",
        ),
        (Value::Sequence(own), Value::Sequence(items)) => {
            if items.is_empty() && path.ends_with(".containers") {
                say(
                    format!("`{path}` is empty, and a pod has a container"),
                    "remove it, or write the container that changes, by its name",
                );
            }
            for item in items {
                let name = item.get("name").and_then(Node::text);
                let mut same = own
                    .iter()
                    .filter(|own| name.is_some() && own.get("name").and_then(Node::text) == name);
                let kind = own.first().filter(|own| !is_scalar(own) && is_scalar(item));
                if let Some(own) = same.next().or(kind) {
                    let path = match name {
                        Some(name) => format!("{path}.{name}"),
                        None => path.to_owned(),
                    };
                    walk(own, item, &path, found);
                }
            }
        }
        (Value::Sequence(_), _) => say(
            format!("`{path}` is {}, and must be a list", what(theirs)),
            "write a list: one item a line, with `- ` before each",
        ),
        (Value::Scalar(_), Value::Mapping(_) | Value::Sequence(_)) => say(
            format!("`{path}` is {}, and must be one value", what(theirs)),
            "write one value",
        ),
        (Value::Scalar(_), Value::Scalar(_)) => {}
    }
}

fn is_scalar(node: &Node) -> bool {
    matches!(node.value, Value::Scalar(_))
}

fn what(node: &Node) -> &'static str {
    match &node.value {
        Value::Mapping(_) => "a mapping",
        Value::Sequence(_) => "a list",
        Value::Scalar(Scalar::Null) => "nothing",
        Value::Scalar(Scalar::Text(_) | Scalar::Written { .. }) => "text",
        Value::Scalar(Scalar::Bool(_)) => "a boolean",
        Value::Scalar(Scalar::Integer(_) | Scalar::Float(_)) => "a number",
    }
}

/// Every container has a name and an image, and the one that gpuc makes is still there.
fn containers(
    kind: &str,
    own: &Node,
    now: &Node,
    patch: gpuc_schema::Span,
    found: &mut BTreeSet<Wrong>,
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
    let wanted = format!("the container of a {kind} is called `{main}`");
    let containers = list(now, "containers");
    for container in containers.iter().chain(&list(now, "initContainers")) {
        let span = Some(container.span()).filter(|span| span.is_written());
        let span = span.unwrap_or(patch);
        let mut say = |message: String, help: &str| {
            let help = help.to_owned();
            found.insert(Wrong {
                span,
                message,
                help,
            });
        };
        match (text(container, "name"), text(container, "image")) {
            (None, _) => say(
                "a container has no name".to_owned(),
                &format!("write its `name`; {wanted}"),
            ),
            (Some(name), _) if name == "main" && main != "main" => say(
                format!("no container of the {kind} is called `main`"),
                &format!("write `name: {main}`; {wanted}"),
            ),
            (Some(name), None) if name == main => say(
                format!("the `image` of container `{name}` is empty"),
                "write an image, or leave `image` out: gpuc writes it",
            ),
            // A container that is the one that gpuc makes, but for a letter.
            (Some(name), None) if nearest(&name, [main.as_str()]).is_some() => say(
                format!("no container of the {kind} is called `{name}`"),
                &format!("did you mean `{main}`? {wanted}"),
            ),
            (Some(name), None) => say(
                format!("container `{name}` has no image"),
                &format!("write its `image`, or another name: {wanted}"),
            ),
            (Some(_), Some(_)) => {}
        }
    }
    let is_main = |it: &Node| text(it, "name").as_ref() == Some(&main);
    if found.is_empty() && !containers.iter().any(is_main) {
        found.insert(Wrong {
            span: patch,
            message: format!("container `{main}` is gone"),
            help: format!("{wanted}: keep it"),
        });
    }
}
