//! On-premises hosts.

use gpuc_model::plan::{Field, Resource};
use serde_json::{Value, json};

use super::environment::RunOptions;
use super::lifecycle::{self, Case};
use super::{hostile, verify};

static RICH: Case = Case {
    config: include_str!("on-prem.yaml"),
    before: r#"
        standin-state set contexts '{"admin@lab (dgx)": {}, "production": {}}'
        standin-state set-string currentContext production
        for name in head-1 dgx-1 dgx-2; do standin-state node "$name" site=a; done
        standin-state node old-1 rack=b
        standin-state set nodes.dgx-2.spec.taints '[{"key": "site", "effect": "NoSchedule"}]'"#,
    other_account: r#"standin-state set contexts '{"production": {}}'"#,
    settled: &["labels", "taints"],
    drift,
};

fn drift(state: &mut Value, resource: &Resource, field: &Field) -> bool {
    let node = &mut state["nodes"][resource.name.as_str()];
    match field.kind.name {
        "labels" => node["metadata"]["labels"]["gpuc.dev/pool"] = json!("another"),
        "taints" => {
            let mut taints = node["spec"]["taints"]
                .as_array()
                .cloned()
                .unwrap_or_default();
            taints.push(
                json!({"key": "gpuc.dev/dedicated-to", "value": "me", "effect": "NoSchedule"}),
            );
            taints.retain(|taint| taint["value"] != "research");
            node["spec"]["taints"] = json!(taints);
        }
        _ => return false,
    }
    resource.kind.name == "node"
}

#[test]
#[ignore = "needs bash, jq, python3 with PyYAML"]
fn nodes_are_labelled_once() {
    let state = lifecycle::assert_created_once(&RICH);
    let nodes = &state["nodes"];
    let labels = &nodes["dgx-2"]["metadata"]["labels"];
    for (key, value) in [
        ("acme.dev/tier", "gold"),
        ("gpuc.dev/dedicated-to", "research"),
        ("gpuc.dev/pool", "train"),
        ("rack", "007"),
        ("site", "a"),
    ] {
        assert_eq!(labels[key], value, "{key}");
    }
    assert_eq!(
        nodes["dgx-2"]["spec"]["taints"],
        json!([
            {"key": "site", "effect": "NoSchedule"},
            {"key": "batch", "value": "yes", "effect": "NoExecute"},
            {"key": "batch", "effect": "PreferNoSchedule"},
            {"key": "gpuc.dev/dedicated-to", "value": "research", "effect": "NoSchedule"},
        ])
    );
    assert_eq!(nodes["head-1"]["spec"], json!({}));
    assert_eq!(nodes["old-1"]["metadata"]["labels"]["rack"], "b");
    assert!(nodes["old-1"]["metadata"]["labels"]["gpuc.dev/pool"].is_null());
    assert_eq!(state["currentContext"], "production");
}

#[test]
#[ignore = "needs bash, jq, python3 with PyYAML"]
fn drift_is_corrected() {
    lifecycle::assert_all_fields_are_tested(&[&RICH]);
    lifecycle::assert_drift_is_corrected(&RICH);
}

#[test]
#[ignore = "needs bash, jq, python3 with PyYAML"]
fn wrong_cluster_is_unchanged() {
    lifecycle::assert_identity_is_checked(&RICH);
    lifecycle::assert_outage_is_not_absence(&RICH);
}

#[test]
#[ignore = "needs bash, jq, python3 with PyYAML"]
fn interrupted_scripts_can_be_rerun() {
    lifecycle::assert_resumable(&RICH);
}

#[test]
#[ignore = "needs bash, jq, python3 with PyYAML"]
fn teardown_removes_what_was_set() {
    lifecycle::assert_teardown(&RICH);
}

#[test]
#[ignore = "needs bash, jq, python3 with PyYAML"]
fn health_is_verified() {
    verify::assert_health_is_verified(&RICH);
}

#[test]
#[ignore = "needs bash, jq, python3 with PyYAML"]
fn absent_host_does_not_stop_the_others() {
    let environment = RICH.environment();
    environment
        .shell("standin-state del nodes.dgx-1", &[], &RunOptions::default())
        .expect_success();
    let run = environment
        .run("apply.sh", &["--check"])
        .expect_no_changes();
    assert!(
        run.stderr.contains("node dgx-1: not found"),
        "{}",
        run.stderr
    );
    let run = environment.run("apply.sh", &[]);
    assert_eq!(run.code, 3, "{}", run.stderr);
    let message = "error: not found, and no script creates them: node dgx-1";
    assert!(run.stderr.contains(message), "{}", run.stderr);
    let labels = &environment.state()["nodes"]["dgx-2"]["metadata"]["labels"];
    assert_eq!(labels["gpuc.dev/pool"], "train");
}

#[test]
#[ignore = "needs bash, jq, python3 with PyYAML"]
fn hostile_texts_are_rejected_or_passed_through() {
    hostile::assert_hostile_texts_are_safe(&RICH, None);
}
