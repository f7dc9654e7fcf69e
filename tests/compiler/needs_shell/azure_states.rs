//! The states and failures of AKS.

use super::azure::RICH;
use super::environment::RunOptions;
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
