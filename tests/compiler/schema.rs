//! The JSON Schema and the decoder agree.

use crate::support::compile_text;
use crate::support::examples::compiled_examples;

fn validator() -> jsonschema::Validator {
    jsonschema::validator_for(&gpuc_syntax::schema::schema_value()).unwrap()
}

fn json(text: &str) -> Option<serde_json::Value> {
    serde_yaml::from_str(text).ok()
}

#[test]
fn examples_are_valid() {
    let validator = validator();
    for (name, outcome) in compiled_examples() {
        for compilation in &outcome.compilations {
            let value = serde_json::to_value(&compilation.loaded.root).unwrap();
            let errors: Vec<_> = validator
                .iter_errors(&value)
                .map(|e| e.to_string())
                .collect();
            assert!(errors.is_empty(), "{name}: {errors:?}");
        }
    }
}

/// The schema and the decoder reject each of these. Constraints that a JSON Schema cannot express are not in this
/// table.
#[test]
fn schema_rejects_what_the_decoder_rejects() {
    let good = gpuc_compile::fleet::CLUSTER_NAME_TAKEN.good();
    let good = good.split("---").next().unwrap();
    let validator = validator();
    assert!(validator.is_valid(&json(good).unwrap()));
    for (from, to) in [
        ("nodes: {count: 1}", "nodes: {count: one}"),
        ("nodes: {count: 1}", "nodes: {count: -1}"),
        ("nodes: {count: 1}", "nodes: {cuont: 1}"),
        ("nodes: {count: 1}", "nodes: 1"),
        ("name: cpu, ", ""),
        ("name: cpu", "name: 5"),
        ("kind: GpuCluster", "kind: Cluster"),
        ("gpuc.dev/v1alpha1", "gpuc.dev/v1"),
        ("onPrem: {context: a}", "onPremises: {context: a}"),
        ("onPrem: {context: a}", "onPrem: {}"),
        ("name: cpu, ", "name: cpu, capacity: onDemnd, "),
        ("name: cpu, ", "name: cpu, taints: {key: a}, "),
        (
            "name: cpu, ",
            "name: cpu, sharing: {timeSlicing: {replicas: many}}, ",
        ),
        ("name: cpu, ", "name: cpu, sharing: {mig: {}}, "),
    ] {
        assert!(good.contains(from), "{from} is not in the text");
        let bad = good.replacen(from, to, 1);
        let rejected = compile_text(&bad);
        assert!(!rejected.findings.is_empty(), "the decoder accepts {to:?}");
        assert!(
            !validator.is_valid(&json(&bad).unwrap()),
            "the schema accepts {to:?}"
        );
    }
}

/// Editors show the documentation of every key.
#[test]
fn keys_are_documented() {
    fn walk(value: &serde_json::Value, path: &str, undocumented: &mut Vec<String>) {
        if let Some(properties) = value.get("properties").and_then(|found| found.as_object()) {
            for (key, property) in properties {
                let documented = property.get("description").is_some()
                    || property.get("$ref").is_some()
                    || property.get("anyOf").is_some();
                if !documented {
                    undocumented.push(format!("{path}.{key}"));
                }
            }
        }
        if let Some(fields) = value.as_object() {
            for (key, value) in fields {
                walk(value, &format!("{path}/{key}"), undocumented);
            }
        }
        for item in value.as_array().into_iter().flatten() {
            walk(item, path, undocumented);
        }
    }
    let mut undocumented = Vec::new();
    walk(&gpuc_syntax::schema::schema_value(), "", &mut undocumented);
    // The choice itself documents its single key.
    undocumented.retain(|path| !path.contains("oneOf") && !path.contains("/properties/properties"));
    assert!(undocumented.is_empty(), "{undocumented:?}");
}
