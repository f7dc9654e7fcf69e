//! Every `ClusterConfig` is valid according to the JSON schema that eksctl prints.

use gpuc_model::plan::Contents;
use serde_json::{Value, json};

use super::assert_none;
use crate::corpus::cases;
use crate::external_data::{self, FACTS};

#[test]
#[ignore = "needs GPUC_FACTS"]
fn cluster_configs_match_the_schema_of_eksctl() {
    let mut schema = external_data::json(FACTS, "eksctl_schema.json");
    escape_definition_names(&mut schema);
    let validator = jsonschema::draft7::new(&schema).unwrap();
    let errors = |value: &Value| -> Vec<String> {
        let errors = validator.iter_errors(value);
        errors
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect()
    };
    let (mut wrong, mut seen) = (Vec::new(), 0);
    for case in cases() {
        for file in &case.plan().provisioning.files {
            let Contents::Yaml(node) = &file.contents else {
                continue;
            };
            let mut value = serde_json::to_value(node).unwrap();
            if value["kind"] != "ClusterConfig" {
                continue;
            }
            let found = errors(&value);
            wrong.extend(found.iter().map(|line| format!("{}: {line}", case.name)));
            if let Some(group) = value["managedNodeGroups"].get_mut(0) {
                seen += 1;
                group["instanceTipe"] = json!("p5.48xlarge");
                assert!(
                    !errors(&value).is_empty(),
                    "{}: a typo is accepted",
                    case.name
                );
            }
        }
    }
    assert!(seen > 10, "only {seen} files with node groups were checked");
    assert_none(&wrong);
}

/// eksctl names definitions after Go packages, with a `|` that is invalid in a reference. The names have no other
/// meaning.
fn escape_definition_names(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            let named = std::mem::take(fields).into_iter().map(|(key, mut value)| {
                match &mut value {
                    Value::String(text) if key == "$ref" => *text = text.replace('|', "."),
                    value => escape_definition_names(value),
                }
                (key.replace('|', "."), value)
            });
            *fields = named.collect();
        }
        Value::Array(items) => items.iter_mut().for_each(escape_definition_names),
        _ => {}
    }
}
