//! YAML 1.1 parsers, as in kubectl and Helm, read the expected values from every file.

use std::collections::BTreeMap;
use std::path::Path;

use gpuc_model::plan::Contents;
use gpuc_syntax::node::Node;
use serde_json::{Value, json};

use super::assert_none;
use crate::corpus::{Case, cases};
use crate::external_data::{self, PYTHON};

#[test]
#[ignore = "needs GPUC_PYTHON with PyYAML"]
fn pyyaml_reads_the_same_values() {
    // Each distinct text with the expected value and its origin for messages.
    let mut meant = BTreeMap::new();
    for case in cases() {
        for node in nodes(case) {
            let value = serde_json::to_value(node).unwrap();
            meant.insert(gpuc_syntax::yaml::to_yaml(node), (case.name.clone(), value));
        }
        let files = case.tree().files();
        let is_yaml = |path: &str| Path::new(path).extension().is_some_and(|it| it == "yaml");
        for (path, file) in files.filter(|(path, _)| is_yaml(path)) {
            // A YAML 1.2 parser reads the expected value.
            let value: Value = serde_yaml::from_str(&file.contents).unwrap();
            let name = format!("{}: {path}", case.name);
            meant.insert(file.contents.clone(), (name, value));
        }
    }
    let control = "on: no\n".to_owned();
    meant.insert(control.clone(), ("control".into(), json!({"on": "no"})));
    let texts: Vec<_> = meant.keys().collect();
    let python = external_data::path(PYTHON);
    let python = python.to_str().unwrap();
    let read = external_data::python(python, "yaml_1_1.py", &json!(texts));
    let pairs = meant.iter().zip(read.as_array().unwrap());
    let (control, wrong): (Vec<_>, Vec<_>) = pairs
        .filter(|((_, (_, meant)), read)| meant != *read)
        .map(|((text, (name, meant)), read)| (text, format!("{name}: {meant} is read as {read}")))
        .partition(|(text, _)| **text == control);
    assert_eq!(control.len(), 1, "PyYAML reads `no` as text");
    let wrong: Vec<_> = wrong.into_iter().map(|(_, line)| line).collect();
    assert_none(&wrong);
}

/// Every part of a case that becomes a YAML file.
fn nodes(case: &Case) -> impl Iterator<Item = &Node> {
    let plan = case.plan();
    let objects = plan.objects.iter().map(|object| &object.node);
    let values = plan.releases.iter().map(|release| &release.values);
    let files = plan.provisioning.files.iter();
    let files = files.filter_map(|file| match &file.contents {
        Contents::Yaml(node) => Some(node),
        _ => None,
    });
    objects.chain(values).chain(files)
}
