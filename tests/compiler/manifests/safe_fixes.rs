//! `--fix` alone changes no meaning, and no fix corrects names that grant access or refer to other objects.

use std::collections::BTreeMap;

use gpuc_syntax::diag::Applicability;
use serde::Deserialize;
use serde_yaml::Value;

use super::{FOLDER, apply_fixes, apply_fixes_up_to, files, unified_diff};
use crate::support::expect_files;

/// The files in `fixed_safely/` are diffs against the files in `mistakes/`.
#[test]
fn safe_fixes_match_golden_diffs() {
    let mut diffs = BTreeMap::new();
    for (path, text) in files("mistakes") {
        let (after, count) = apply_fixes_up_to(Applicability::Safe, &path, &text);
        assert_eq!(count > 0, after != text, "{path}");
        let again = apply_fixes_up_to(Applicability::Safe, &path, &after);
        assert_eq!(again, (after.clone(), 0), "{path} again");
        if after != text {
            diffs.insert(path.replace(".yaml", ".diff"), unified_diff(&text, &after));
            let (before, after) = (documents(&text), documents(&after));
            assert_eq!(before.len(), after.len(), "{path}");
            for (before, after) in before.iter().zip(&after) {
                let changes = changed_meaning(before, after);
                assert!(changes.is_empty(), "{path}: {changes:?}");
            }
        }
    }
    assert!(diffs.len() > 5, "{diffs:?}");
    expect_files(&format!("{FOLDER}/fixed_safely"), &diffs);
}

/// The documents, as another YAML reader reads them.
fn documents(text: &str) -> Vec<Value> {
    let documents = serde_yaml::Deserializer::from_str(text);
    let documents = documents.filter_map(|document| Value::deserialize(document).ok());
    documents.collect()
}

/// The differences between two values, except case, plurals, and further tolerations.
fn changed_meaning(before: &Value, after: &Value) -> Vec<String> {
    match (before, after) {
        (Value::Mapping(before), Value::Mapping(after)) => {
            let mut changes = Vec::new();
            let mut rest: Vec<_> = after.iter().collect();
            for (key, value) in before {
                let same = |(other, _): &(&Value, &Value)| is_same_word(key, other);
                match rest.iter().position(same) {
                    Some(index) => changes.extend(changed_meaning(value, rest.remove(index).1)),
                    None => changes.push(format!("{key:?} is gone")),
                }
            }
            rest.retain(|(key, _)| key.as_str() != Some("tolerations"));
            changes.extend(rest.iter().map(|(key, _)| format!("{key:?} is new")));
            changes
        }
        (Value::Sequence(before), Value::Sequence(after)) => {
            let (same, more) = after.split_at(before.len().min(after.len()));
            let mut changes: Vec<_> = before
                .iter()
                .zip(same)
                .flat_map(|(before, after)| changed_meaning(before, after))
                .collect();
            if same.len() < before.len() || !more.iter().all(is_toleration) {
                changes.push(format!("{before:?} has other items"));
            }
            changes
        }
        (Value::Null, Value::Sequence(items)) if items.iter().all(is_toleration) => Vec::new(),
        _ if is_same_word(before, after) => Vec::new(),
        // Manifests in the data of a ConfigMap.
        (Value::String(before), Value::String(after)) if before.contains(": ") => {
            let (before, after) = (documents(before), documents(after));
            let pairs = before.iter().zip(&after);
            let mut changes: Vec<_> = pairs
                .flat_map(|(before, after)| changed_meaning(before, after))
                .collect();
            if before.is_empty() || before.len() != after.len() {
                changes.push("the number of documents changes".to_owned());
            }
            changes
        }
        _ => vec![format!("{before:?} -> {after:?}")],
    }
}

fn is_toleration(item: &Value) -> bool {
    item.get("operator").is_some() && item.get("values").is_none()
}

fn is_same_word(before: &Value, after: &Value) -> bool {
    let word = |value: &Value| {
        let lower = value.as_str()?.to_lowercase();
        Some(lower.trim_end_matches('s').to_owned())
    };
    before == after || word(before).is_some_and(|it| word(after) == Some(it))
}

/// Names that are close to a name that grants access, refers to another object, or is run.
const DECIDED_BY_THE_AUTHOR: &[&str] = &[
    "securityContext: {unprivileged: true}",
    "securityContext: {Privileged: true}",
    "securityContext: {denyPrivilegeEscalation: true}",
    "lifecycle: {preStart: {exec: {command: [echo]}}}",
    "ports: [{containerPort: 80, hostIPC: 10.0.0.1}]",
    "ports: [{containerPort: 80, HostPort: 80}]",
    "commands: [sh, -c, train]",
    "Args: [--epochs]",
    "volumeMounts: [{names: data, mountPath: /data}]",
];

#[test]
fn names_that_the_author_decides_are_kept() {
    for field in DECIDED_BY_THE_AUTHOR {
        let text = format!(
            "apiVersion: v1\nkind: Pod\nmetadata: {{name: a}}\nspec:\n  containers:\n  - name: a\n    image: a/a:1\n    \
             {field}\n"
        );
        let (after, count) = apply_fixes("a.yaml", &text);
        assert_eq!((after, count), (text, 0));
    }
    for field in ["hostIP: 10.0.0.1", "hostnetwork: true", "nodename: gpu-1"] {
        let text = format!(
            "apiVersion: v1\nkind: Pod\nmetadata: {{name: a}}\nspec:\n  {field}\n  containers:\n  - {{name: a, image: \
             \"a/a:1\"}}\n"
        );
        let (after, count) = apply_fixes("a.yaml", &text);
        assert_eq!((after, count), (text, 0));
    }
}

/// A name that is close to the name of another object, which may be in another repository.
#[test]
fn references_are_kept() {
    let queue = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a, namespace: research, labels: \
                 {kueue.x-k8s.io/queue-name: defualt}}\nspec: {template: {spec: {restartPolicy: Never, containers: \
                 [{name: a, image: \"a/a:1\"}]}}}\n";
    let scaler = "apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: a}\nspec: \
                  {maxReplicas: 2, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: serv}}\n---\n\
                  apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: serve}\nspec: {selector: {matchLabels: \
                  {app: a}}, template: {metadata: {labels: {app: a}}, spec: {containers: [{name: a, image: \"a/a:1\"}]}}}\n";
    let role =
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: role\nmetadata: {name: a}\nrules: []\n";
    for text in [queue, scaler, role] {
        assert_eq!(apply_fixes("a.yaml", text), (text.to_owned(), 0));
    }
}
