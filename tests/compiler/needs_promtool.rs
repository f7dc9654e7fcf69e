//! Alerts fire only when they must, according to Prometheus' evaluation of sample series.
//!
//! `promtool/*.yaml` contain the series and the expected alerts, in promtool's format. Annotations are omitted from
//! these rules; `promtool check rules` checks their templates.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use gpuc_schema::config::AlertName;
use serde_json::{Value, json};

use crate::corpus::cases;
use crate::support::{compile_text, files_below, repository};

const FOLDER: &str = "tests/compiler/promtool";

/// The groups of every rule of a plan.
fn groups(objects: &[gpuc_model::plan::Object]) -> Vec<Value> {
    let rules = objects
        .iter()
        .filter(|it| it.identity.kind == "PrometheusRule");
    let groups = rules.flat_map(|object| {
        let value = serde_json::to_value(&object.node).unwrap();
        value["spec"]["groups"].as_array().unwrap().clone()
    });
    groups.collect()
}

fn promtool(folder: &Path, arguments: &[&str]) -> Result<String, String> {
    let program = std::env::var_os("GPUC_PROMTOOL").unwrap_or_else(|| "promtool".into());
    let mut command = Command::new(&program);
    let output = command.args(arguments).current_dir(folder).output();
    let output = output.unwrap_or_else(|error| panic!("{}: {error}", program.display()));
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8(text).unwrap();
    if output.status.success() {
        Ok(text)
    } else {
        Err(text)
    }
}

fn write(folder: &Path, groups: &[Value]) {
    let text = serde_yaml::to_string(&json!({"groups": groups})).unwrap();
    fs::write(folder.join("rules.yaml"), text).unwrap();
}

#[test]
#[ignore = "needs promtool"]
fn alerts_fire_when_expected() {
    let files = files_below(&repository().join(FOLDER));
    let outcome = compile_text(&files["gpu-cluster.yaml"]);
    let plan = outcome.compilations[0].plan.as_ref();
    let plan = plan.unwrap_or_else(|| panic!("{}", outcome.text()));
    let mut groups = groups(&plan.objects);
    for rule in groups
        .iter_mut()
        .flat_map(|group| group["rules"].as_array_mut().unwrap())
    {
        rule.as_object_mut().unwrap().remove("annotations");
    }
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), &groups);
    // For each alert, the number of expectations that it fires and that it does not.
    let mut seen: BTreeMap<String, (u32, u32)> = BTreeMap::new();
    for (name, text) in files.iter().filter(|(name, _)| *name != "gpu-cluster.yaml") {
        fs::write(folder.path().join(name), text).unwrap();
        promtool(folder.path(), &["test", "rules", name])
            .unwrap_or_else(|error| panic!("{name}:\n{error}"));
        let file: Value = serde_yaml::from_str(text).unwrap();
        let tests = file["tests"].as_array().unwrap().iter();
        for test in tests.flat_map(|test| {
            test["alert_rule_test"]
                .as_array()
                .cloned()
                .unwrap_or_default()
        }) {
            let fires = test["exp_alerts"]
                .as_array()
                .is_some_and(|alerts| !alerts.is_empty());
            let counts = seen
                .entry(test["alertname"].as_str().unwrap().to_owned())
                .or_default();
            if fires {
                counts.0 += 1;
            } else {
                counts.1 += 1;
            }
        }
        // A test with a wrong expectation must fail.
        let wrong = text
            .replacen("eval_time: 20m", "eval_time: 1m", 1)
            .replacen("eval_time: 30m", "eval_time: 1m", 1);
        assert_ne!(wrong, *text);
        fs::write(folder.path().join(name), wrong).unwrap();
        assert!(
            promtool(folder.path(), &["test", "rules", name]).is_err(),
            "{name}"
        );
    }
    for name in AlertName::ALL {
        let counts = seen.get(&format!("{name:?}")).copied().unwrap_or_default();
        assert!(
            counts.0 > 0 && counts.1 > 0,
            "{name:?} must have samples that fire and samples that do not: {counts:?}"
        );
    }
    let known = AlertName::ALL.iter().map(|name| format!("{name:?}"));
    let known: Vec<_> = known.collect();
    assert!(seen.keys().all(|name| known.contains(name)));
}

#[test]
#[ignore = "needs promtool"]
fn rules_are_valid() {
    let folder = tempfile::tempdir().unwrap();
    let mut checked = 0;
    for case in cases() {
        let groups = groups(&case.plan().objects);
        if groups.is_empty() {
            continue;
        }
        checked += 1;
        write(folder.path(), &groups);
        let output = promtool(folder.path(), &["check", "rules", "rules.yaml"]);
        output.unwrap_or_else(|error| panic!("{}:\n{error}", case.name));
    }
    assert!(checked > 3, "only {checked} clusters have rules");
    let wrong = json!([{"name": "a", "rules": [{"alert": "A", "expr": "up", "annotations": {"b": "{{ $labels.c"}}]}]);
    write(folder.path(), wrong.as_array().unwrap());
    assert!(promtool(folder.path(), &["check", "rules", "rules.yaml"]).is_err());
}
