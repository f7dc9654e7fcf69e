//! The states and failures of AKS.

use super::azure::RICH;
use super::environment::{Environment, RunOptions};
use super::lifecycle::Case;
use super::states::{self, Failure};

/// A cluster with two pools.
static SMALL: Case = Case {
    config: include_str!("azure-small.yaml"),
    ..RICH
};

/// The failures of AKS.
const FAILURES: &[Failure] = &[
    Failure::new("az", "aks create", "failed", "Failed"),
    Failure::new("az", "aks create", "canceled", "Canceled"),
    Failure::new("az", "aks create", "busy", ""),
    Failure::new("az", "aks create", "throttled", ""),
    Failure::new("az", "aks create", "expired", "az login"),
    Failure::new("az", "nodepool add", "failed", "Failed"),
    Failure::new("az", "nodepool add", "canceled", "Canceled"),
    Failure::new(
        "az",
        "nodepool add",
        "capacity",
        "quota of the subscription",
    ),
    Failure::new("az", "nodepool add", "busy", ""),
    Failure::new("az", "nodepool add", "throttled", ""),
    Failure::new("az", "nodepool show", "throttled", ""),
    Failure::new("az", "account show", "expired", "az login"),
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
    for path in ["aks.pools.train", "aks.clusters.small"] {
        for status in ["Creating", "Upgrading", "Deleting"] {
            states::assert_timeout_is_reported(&SMALL, path, "provisioningState", status);
        }
    }
}

#[test]
#[ignore = "needs bash, jq, python3 with PyYAML"]
fn wrong_output_stops_the_script() {
    states::assert_wrong_output_stops(&SMALL, "az", "nodepool show");
}

#[test]
#[ignore = "needs bash, jq, python3 with PyYAML"]
fn failed_pool_fails_the_run() {
    let environment = SMALL.environment_after_first_run();
    for status in ["Failed", "Canceled"] {
        let set = format!("standin-state set-string aks.pools.train.provisioningState {status}");
        environment
            .shell(&set, &[], &RunOptions::default())
            .expect_success();
        let run = environment.run("apply.sh", &[]);
        assert!(run.code != 0, "{}", run.stderr);
        assert!(
            run.stderr.contains("az resource update --ids"),
            "{}",
            run.stderr
        );
        run.expect_no_changes();
    }
}

#[test]
#[ignore = "needs bash, jq, python3 with PyYAML"]
fn pool_without_its_reservation_fails_the_run() {
    let environment = Environment::new(RICH.config, RICH.before);
    let rule = r#"[{"tool": "az", "match": "nodepool add", "how": "unreserved", "times": 9}]"#;
    let set = format!("standin-state set behavior.fail '{rule}'");
    environment
        .shell(&set, &[], &RunOptions::default())
        .expect_success();
    let run = environment.run("apply.sh", &[]);
    assert!(run.code != 0, "{}", run.stderr);
    assert!(
        run.stderr.contains("created, but not as requested")
            && run.stderr.contains("capacity reservation group: \"\" -> "),
        "{}",
        run.stderr
    );
    let run = environment.run("apply.sh", &[]);
    run.expect_refusal("capacity reservation group");
}

#[test]
#[ignore = "needs bash, jq, python3 with PyYAML"]
fn teardown_keeps_resources_of_others() {
    for (path, message) in [
        (
            r#"aks.pools.train.nodeLabels."gpuc.dev/pool""#,
            "AKS node pool train: no label gpuc.dev/pool",
        ),
        (
            "aks.clusters.small.tags.gpuc-cluster",
            "AKS cluster small: no tag gpuc-cluster",
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
        "az",
        &["2.73.9", "1.100.0"],
        &["2.74.0", "2.100.0", "10.0.0"],
    );
}

#[test]
#[ignore = "needs bash, jq, python3 with PyYAML"]
fn teardown_keeps_pools_of_others() {
    let message = "AKS cluster small: node pools";
    states::assert_other_pools_are_kept(&SMALL, "aks.pools.train", "name", message);
}

#[test]
#[ignore = "needs bash, jq, python3 with PyYAML"]
fn hangs_can_be_interrupted() {
    states::assert_hangs_can_be_interrupted(
        &SMALL,
        &[("az", "aks nodepool show"), ("az", "aks nodepool add")],
    );
}
