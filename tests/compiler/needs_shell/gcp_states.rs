//! The states and failures of GKE.

use super::environment::RunOptions;
use serde_json::json;

use super::gcp::RICH;
use super::lifecycle::Case;
use super::states::{self, Failure};

/// A cluster with two pools.
static SMALL: Case = Case {
    config: include_str!("gcp-small.yaml"),
    ..RICH
};

/// The failures of GKE.
const FAILURES: &[Failure] = &[
    Failure::new("gcloud", "clusters create", "stockout", "GCE_STOCKOUT"),
    Failure::new("gcloud", "clusters create", "still_running", ""),
    Failure::new("gcloud", "clusters create", "busy", ""),
    Failure::new("gcloud", "clusters create", "throttled", ""),
    Failure::new("gcloud", "clusters create", "expired", "gcloud auth login"),
    Failure::new(
        "gcloud",
        "node-pools create train",
        "stockout",
        "GCE_STOCKOUT",
    ),
    Failure::new("gcloud", "node-pools create train", "still_running", ""),
    Failure::new("gcloud", "node-pools create system", "busy", ""),
    Failure::new("gcloud", "node-pools create system", "throttled", ""),
    Failure::new("gcloud", "node-pools create system", "quota", "quota"),
    Failure::new("gcloud", "node-pools delete default-pool", "busy", ""),
    Failure::new("gcloud", "node-pools describe train", "throttled", ""),
    Failure::new(
        "gcloud",
        "projects describe",
        "expired",
        "gcloud auth login",
    ),
];

#[test]
#[ignore = "needs bash, jq, python3 with PyYAML"]
fn failures_are_recovered() {
    states::assert_failures_are_recovered(&SMALL, FAILURES);
}

#[test]
#[ignore = "needs bash, jq, python3 with PyYAML"]
fn killed_scripts_can_be_rerun() {
    states::assert_kills_are_survived(&SMALL);
}

#[test]
#[ignore = "needs bash, jq, python3 with PyYAML"]
fn states_are_read() {
    states::assert_failed_state_stops(&SMALL, "gke.pools.train", "status", "ERROR");
    states::assert_failed_state_stops(&SMALL, "gke.clusters.small", "status", "ERROR");
    for path in ["gke.pools.train", "gke.clusters.small"] {
        for status in ["PROVISIONING", "RECONCILING", "STOPPING"] {
            states::assert_timeout_is_reported(&SMALL, path, "status", status);
        }
    }
}

#[test]
#[ignore = "needs bash, jq, python3 with PyYAML"]
fn wrong_output_stops_the_script() {
    states::assert_wrong_output_stops(&SMALL, "gcloud", "node-pools describe");
}

#[test]
#[ignore = "needs bash, jq, python3 with PyYAML"]
fn partly_usable_pool_fails_the_run() {
    let environment = SMALL.environment_after_first_run();
    let set = "standin-state set-string gke.pools.train.status RUNNING_WITH_ERROR
        standin-state set gke.pools.train.conditions \
        '[{\"code\": \"GCE_STOCKOUT\", \"message\": \"no machines\"}]'";
    environment
        .shell(set, &[], &RunOptions::default())
        .expect_success();
    let run = environment.run("apply.sh", &[]);
    assert!(
        run.code != 0 && run.stderr.contains("GCE_STOCKOUT: no machines"),
        "{}",
        run.stderr
    );
    run.expect_no_changes();
}

#[test]
#[ignore = "needs bash, jq, python3 with PyYAML"]
fn default_pool_of_others_is_kept() {
    let environment = SMALL.environment_after_first_run();
    let create = "gcloud container node-pools create default-pool --cluster=small --project=acme-ml-prod \
        --location=$(standin-state get gke.clusters.small.location | tr -d '\"') --num-nodes=20 --quiet";
    environment
        .shell(create, &[], &RunOptions::default())
        .expect_success();
    let before = environment.state();
    let run = environment
        .run("apply.sh", &[])
        .expect_success()
        .expect_no_changes();
    assert!(
        run.stderr
            .contains("not managed by gpuc, kept: default-pool"),
        "{}",
        run.stderr
    );
    assert_eq!(environment.state(), before);
}

#[test]
#[ignore = "needs bash, jq, python3 with PyYAML"]
fn maintenance_window_of_others_is_kept() {
    let set = |start: &str| {
        let window = json!({"window": {"recurringWindow": {
            "recurrence": "FREQ=WEEKLY;BYDAY=SA",
            "window": {"startTime": start, "endTime": "2026-11-07T08:00:00Z"},
        }}});
        let environment = SMALL.environment_after_first_run();
        let mut state = environment.state();
        state["gke"]["clusters"]["small"]["maintenancePolicy"] = window;
        environment.set_state(&state);
        (
            environment.run("cluster.sh", &[]).expect_success(),
            environment,
        )
    };
    let (run, _environment) = set("2026-11-07T02:00:00Z");
    let run = run.expect_no_changes();
    let kept = "maintenance window: not managed by gpuc, kept: FREQ=WEEKLY;BYDAY=SA from 2026-11-07T02:00:00Z";
    assert!(run.stderr.contains(kept), "{}", run.stderr);
    // A window that gpuc set is removed with its key.
    let (run, environment) = set("2025-01-11T02:00:00Z");
    assert_eq!(run.mutating_calls().len(), 1, "{}", run.stderr);
    assert!(environment.state()["gke"]["clusters"]["small"]["maintenancePolicy"].is_null());
}

#[test]
#[ignore = "needs bash, jq, python3 with PyYAML"]
fn teardown_keeps_resources_of_others() {
    for (path, message) in [
        (
            r#"gke.pools.train.config.labels."gpuc.dev/pool""#,
            "GKE node pool train: no label gpuc.dev/pool",
        ),
        (
            "gke.clusters.small.resourceLabels.gpuc-cluster",
            "GKE cluster small: no label gpuc-cluster",
        ),
    ] {
        states::assert_unmarked_is_kept(&SMALL, path, message);
    }
}

#[test]
#[ignore = "needs bash, jq, python3 with PyYAML"]
fn old_versions_of_tools_are_refused() {
    states::assert_old_versions_are_refused(
        &SMALL,
        "gcloud",
        &["527.0.0", "99.9.9"],
        &["528.0.0", "1000.0.0"],
    );
}

#[test]
#[ignore = "needs bash, jq, python3 with PyYAML"]
fn teardown_keeps_pools_of_others() {
    let message = "GKE cluster small: node pools";
    states::assert_other_pools_are_kept(&SMALL, "gke.pools.train", "name", message);
}

#[test]
#[ignore = "needs bash, jq, python3 with PyYAML"]
fn hangs_can_be_interrupted() {
    states::assert_hangs_can_be_interrupted(
        &SMALL,
        &[
            ("gcloud", "node-pools describe"),
            ("gcloud", "node-pools create"),
        ],
    );
}
