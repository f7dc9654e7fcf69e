//! Two faults in one cluster: both are found, whichever they are.

use std::collections::BTreeSet;

use gpuc_syntax::diag::{split_files, split_objects};
use serde_json::Value;

use super::testing::REGISTRY;
use super::{CHECKS, Check, diagnose};
use crate::read::read_files;

/// Checks whose examples are no faults any more next to objects of others: a pod that waits for a GPU fits on the nodes
/// of the other example, and a DaemonSet that is not in a complete list was deleted.
const DEPENDENT: &[&str] = &[
    "GPUC7204", "GPUC7501", "GPUC7502", "GPUC7503", "GPUC7504", "GPUC7505", "GPUC7506", "GPUC7507",
    "GPUC7508", "GPUC7616", "GPUC7701", "GPUC7702",
];

/// The files of an example: paths and texts.
type Files = Vec<(String, String)>;

/// The files of the example of a check, if it needs no gpu-cluster.yaml.
fn files(check: &Check) -> Option<Files> {
    let (configuration, objects) = split_objects(check.code.bad)?;
    let files = split_files(objects).into_iter();
    let files = files.map(|(path, text)| (path.to_owned(), text.to_owned()));
    configuration.is_empty().then(|| files.collect())
}

/// The names of the objects and namespaces in a list, except those that every cluster has.
fn names(list: &Value) -> BTreeSet<String> {
    let items = list["items"].as_array().into_iter().flatten();
    items
        .flat_map(|item| [&item["metadata"]["name"], &item["metadata"]["namespace"]])
        .filter_map(Value::as_str)
        .filter(|name| !["kube-system", "default", "nvidia"].contains(name))
        .map(str::to_owned)
        .collect()
}

/// Renames the objects of an example, so that they differ from those of another one.
fn rename(files: &Files) -> Files {
    let list: Value = serde_saphyr::from_str(&files[0].1).unwrap();
    let mut names: Vec<String> = names(&list).into_iter().collect();
    // Names that contain others come first.
    names.sort_by_key(|name| std::cmp::Reverse(name.len()));
    let expression: Vec<String> = names.iter().map(|name| regex::escape(name)).collect();
    if expression.is_empty() {
        return files.clone();
    }
    let expression = format!(r"(^|[^\w.-])({})($|[^\w-])", expression.join("|"));
    let expression = regex::Regex::new(&expression).unwrap();
    let rename_text = |text: &str| {
        // Neighbors share the character between them.
        let once = expression.replace_all(text, "${1}${2}-z${3}");
        expression.replace_all(&once, "${1}${2}-z${3}").into_owned()
    };
    let mut list = list;
    rename_value(&mut list, &rename_text);
    let mut renamed = vec![("objects-2.json".to_owned(), list.to_string())];
    for (path, text) in &files[1..] {
        let parts: Vec<String> = path
            .split('/')
            .map(|part| match part.strip_suffix(".log") {
                Some(name) => format!("{name}.log"),
                None => rename_text(part),
            })
            .collect();
        renamed.push((parts.join("/"), rename_text(text)));
    }
    renamed
}

fn rename_value(value: &mut Value, rename_text: &dyn Fn(&str) -> String) {
    match value {
        Value::String(text) => *text = rename_text(text),
        Value::Array(items) => items
            .iter_mut()
            .for_each(|it| rename_value(it, rename_text)),
        Value::Object(entries) => {
            for (key, value) in entries.iter_mut() {
                let is_constant =
                    ["kind", "apiVersion", "image", "reason", "type"].contains(&key.as_str());
                if !is_constant {
                    rename_value(value, rename_text);
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The codes of all findings: causes, and what they explain.
fn codes(files: &Files) -> BTreeSet<&'static str> {
    let paths: Vec<String> = files.iter().map(|(path, _)| path.clone()).collect();
    let load = |path: &str| {
        let found = files.iter().find(|(name, _)| name == path);
        found
            .map(|(_, text)| text.clone().into_bytes())
            .ok_or_else(String::new)
    };
    let (state, problems) = read_files(&paths, &load);
    assert_eq!(problems, []);
    let diagnosis = diagnose(&state, None, &REGISTRY);
    let causes = diagnosis.causes.iter();
    causes
        .flat_map(|cause| std::iter::once(&cause.finding).chain(&cause.consequences))
        .map(|finding| finding.code.id)
        .collect()
}

#[test]
fn two_faults_are_both_found() {
    let examples: Vec<_> = (CHECKS.iter())
        .filter(|check| !DEPENDENT.contains(&check.code.id))
        .filter_map(|check| Some((check.code.id, files(check)?)))
        .collect();
    let renamed: Vec<_> = examples
        .iter()
        .map(|(id, files)| (*id, rename(files)))
        .collect();
    for (id, files) in &renamed {
        assert!(
            codes(files).contains(id),
            "{id} is not found after its objects are renamed"
        );
    }
    let mut missing = Vec::new();
    for (first, files) in &examples {
        for (second, others) in &renamed {
            let both: Files = files.iter().chain(others).cloned().collect();
            let found = codes(&both);
            for id in [first, second] {
                if !found.contains(id) {
                    missing.push(format!("{id} is not found in {first} with {second}"));
                }
            }
        }
    }
    assert!(
        missing.is_empty(),
        "{} pairs:\n{}",
        missing.len(),
        missing.join("\n")
    );
}
