//! Kueue settings that gpuc does not set have the chart's defaults, although the chart accepts only a complete
//! configuration.

use serde_json::{Value, json};

use super::assert_none;
use crate::corpus::cases;
use crate::external_data::{self, UPSTREAM};

/// The paths of the settings that gpuc sets.
const SET_BY_GPUC: &[&str] = &[
    "/fairSharing",
    "/integrations/frameworks",
    "/managedJobsNamespaceSelector",
    "/resources",
];

#[test]
#[ignore = "needs GPUC_UPSTREAM"]
fn unset_configuration_is_the_default() {
    let read = |text: &str| -> Value {
        let yaml: serde_yaml::Value = serde_yaml::from_str(text).unwrap();
        serde_json::to_value(yaml).unwrap()
    };
    let chart = read(&external_data::text(UPSTREAM, "charts/kueue/values.yaml"));
    let pointer = "/managerConfig/controllerManagerConfigYaml";
    let default = read(chart.pointer(pointer).and_then(Value::as_str).unwrap());
    let (mut wrong, mut seen) = (Vec::new(), 0);
    // Without gpuc's queues, a user may set the whole configuration.
    for case in cases().iter().filter(|case| case.cluster().has_queues()) {
        let releases = case.plan().releases.iter();
        for release in releases.filter(|it| it.chart.name == "kueue") {
            let values = serde_json::to_value(&release.values).unwrap();
            let Some(text) = values.pointer(pointer).and_then(Value::as_str) else {
                continue;
            };
            seen += 1;
            let own = read(text);
            wrong.extend(
                differences(&default, &own)
                    .iter()
                    .map(|line| format!("{}: {line}", case.name)),
            );
            let frameworks = |of: &Value| of["integrations"]["frameworks"].clone();
            let known = frameworks(&own);
            let known = known.as_array().unwrap();
            for framework in frameworks(&default).as_array().unwrap() {
                if !known.contains(framework) {
                    wrong.push(format!(
                        "{}: {framework} is not managed by Kueue",
                        case.name
                    ));
                }
            }
        }
    }
    assert!(seen > 3, "only {seen} configurations were checked");
    assert_none(&wrong);
    let mut changed = default.clone();
    changed["webhook"]["port"] = json!(9444);
    assert_eq!(
        differences(&default, &changed).len(),
        1,
        "a change is not reported"
    );
}

/// The settings that differ between two configurations, except those that gpuc sets.
fn differences(default: &Value, own: &Value) -> Vec<String> {
    let mut found = Vec::new();
    collect_differences(default, own, "", &mut found);
    found
}

fn collect_differences(default: &Value, own: &Value, path: &str, found: &mut Vec<String>) {
    if SET_BY_GPUC.contains(&path) {
        return;
    }
    match (default, own) {
        (Value::Object(a), Value::Object(b)) => {
            for key in a.keys().chain(b.keys().filter(|key| !a.contains_key(*key))) {
                let (a, b) = (&default[key], &own[key]);
                collect_differences(a, b, &format!("{path}/{key}"), found);
            }
        }
        (a, b) if a == b => {}
        (a, b) => found.push(format!("{path}: {a} became {b}")),
    }
}
