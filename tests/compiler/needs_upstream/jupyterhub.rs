//! The values of the chart `jupyterhub` match the chart's own schema, which rejects unknown keys.

use serde_json::{Value, json};

use super::assert_none;
use crate::corpus::cases;
use crate::external_data::{self, UPSTREAM};

#[test]
#[ignore = "needs GPUC_UPSTREAM"]
fn values_match_the_schema_of_the_chart() {
    let read = |file: &str| -> Value {
        let text = external_data::text(UPSTREAM, &format!("charts/jupyterhub/{file}"));
        let yaml: serde_yaml::Value = serde_yaml::from_str(&text).unwrap();
        serde_json::to_value(yaml).unwrap()
    };
    let defaults = read("values.yaml");
    let validator = jsonschema::draft7::new(&read("values.schema.yaml")).unwrap();
    let errors = |values: &Value| -> Vec<String> {
        // Helm validates gpuc's values merged over the chart's defaults.
        let mut all = defaults.clone();
        merge_over(&mut all, values);
        let errors = validator.iter_errors(&all);
        errors
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect()
    };
    assert_none(&errors(&json!({})));
    let (mut wrong, mut seen) = (Vec::new(), 0);
    for case in cases() {
        let releases = case.plan().releases.iter();
        for release in releases.filter(|it| it.chart.name == "jupyterhub") {
            seen += 1;
            let mut values = serde_json::to_value(&release.values).unwrap();
            let found = errors(&values);
            wrong.extend(found.iter().map(|line| format!("{}: {line}", case.name)));
            values["singleuser"]["tolerations"] = json!([]);
            assert!(
                !errors(&values).is_empty(),
                "{}: a typo is accepted",
                case.name
            );
        }
    }
    assert!(seen > 3, "only {seen} releases were checked");
    assert_none(&wrong);
}

/// Merges mappings as Helm does: `null` removes a key, and any other value replaces the default.
fn merge_over(into: &mut Value, over: &Value) {
    let (Value::Object(into), Value::Object(over)) = (&mut *into, over) else {
        *into = over.clone();
        return;
    };
    for (key, value) in over {
        if value.is_null() {
            into.remove(key);
        } else {
            merge_over(into.entry(key).or_insert(Value::Null), value);
        }
    }
}
