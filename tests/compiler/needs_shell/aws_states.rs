//! The states and failures of EKS.

use serde_json::json;

use super::aws::{EXISTING, KARPENTER};
use super::environment::RunOptions;
use super::lifecycle::Case;
use super::states::{self, Failure};

/// A cluster with a private endpoint and two pools. The scripts upgrade an add-on after its creation.
pub(super) static SMALL: Case = Case {
    config: include_str!("aws-small.yaml"),
    before: "standin-state set eks.addonVersions '{\"coredns\": \"v1.20.0-eksbuild.2\"}'",
    ..KARPENTER
};

/// The failures of EKS, eksctl and CloudFormation.
const FAILURES: &[Failure] = &[
    Failure::new("eksctl", "create cluster", "rollback", "ROLLBACK_COMPLETE"),
    Failure::new("eksctl", "create cluster", "timeout", "CREATING"),
    Failure::new(
        "eksctl",
        "create cluster",
        "no_addons",
        "eksctl create cluster",
    ),
    Failure::new("eksctl", "create cluster", "expired", "aws sso login"),
    Failure::new("eksctl", "create cluster", "throttled", ""),
    Failure::new(
        "eksctl",
        "--include=train",
        "rollback",
        "InsufficientInstanceCapacity",
    ),
    Failure::new(
        "eksctl",
        "--include=train",
        "create_failed",
        "NodeCreationFailure",
    ),
    Failure::new("eksctl", "--include=system", "timeout", "CREATING"),
    Failure::new("eksctl", "--include=system", "expired", "aws sso login"),
    Failure::new("eksctl", "--include=system", "throttled", ""),
    Failure::new("eksctl", "create addon", "throttled", ""),
    Failure::new(
        "aws",
        "update-addon",
        "update_failed",
        "ConfigurationConflict: Conflicts found",
    ),
    Failure::new("aws", "update-addon", "expired", "aws sso login"),
    Failure::new("aws", "update-addon", "throttled", ""),
    Failure::new("aws", "describe-addon-versions", "expired", "aws sso login"),
    Failure::new("aws", "describe-addon-versions", "throttled", ""),
    Failure::new("aws", "describe-nodegroup", "throttled", ""),
    Failure::new("aws", "sts get-caller-identity", "expired", "aws sso login"),
];

#[test]
#[ignore = "needs bash, jq, python3 with PyYAML"]
fn failures_are_recovered() {
    states::assert_failures_are_recovered(&SMALL, FAILURES);
    let stack = Failure::new(
        "aws",
        "cloudformation deploy",
        "rollback",
        "ROLLBACK_COMPLETE",
    );
    states::assert_failures_are_recovered(&KARPENTER, &[stack]);
}

#[test]
#[ignore = "needs bash, jq, python3 with PyYAML"]
fn killed_scripts_can_be_rerun() {
    states::assert_kills_are_survived(&SMALL);
    states::assert_kills_are_survived(&KARPENTER);
}

#[test]
#[ignore = "needs bash, jq, python3 with PyYAML"]
fn states_are_read() {
    for status in ["CREATE_FAILED", "DEGRADED", "DELETE_FAILED"] {
        states::assert_failed_state_stops(&SMALL, "eks.nodegroups.train", "status", status);
    }
    states::assert_failed_state_stops(&SMALL, "eks.clusters.small", "status", "FAILED");
    for status in ["CREATING", "UPDATING", "DELETING"] {
        states::assert_timeout_is_reported(&SMALL, "eks.nodegroups.train", "status", status);
        states::assert_timeout_is_reported(&SMALL, "eks.clusters.small", "status", status);
    }
}

#[test]
#[ignore = "needs bash, jq, python3 with PyYAML"]
fn wrong_output_stops_the_script() {
    states::assert_wrong_output_stops(&SMALL, "aws", "describe-nodegroup");
}

#[test]
#[ignore = "needs bash, jq, python3 with PyYAML"]
fn failed_update_is_reported() {
    let environment = SMALL.environment_after_first_run();
    let mut state = environment.state();
    let undisturbed = state.clone();
    state["eks"]["nodegroups"]["train"]["scalingConfig"]["maxSize"] = json!(9);
    state["behavior"] = json!({"delay": 2, "fail": [
        {"tool": "aws", "match": "update-nodegroup-config", "how": "update_failed"},
    ]});
    environment.set_state(&state);
    let options = RunOptions {
        environment: &[("GPUC_POLL_SECONDS", "0")],
        ..RunOptions::default()
    };
    let run = environment.run_with("apply.sh", &[], &options);
    assert!(run.code != 0, "{}", run.stderr);
    assert!(
        run.stderr.contains("Failed") && run.stderr.contains("PodEvictionFailure"),
        "{}",
        run.stderr
    );
    let run = environment.run_with("apply.sh", &[], &options);
    run.expect_success();
    let mut state = environment.state();
    state.as_object_mut().unwrap().remove("behavior");
    assert_eq!(state, undisturbed);
}

#[test]
#[ignore = "needs bash, jq, python3 with PyYAML"]
fn unreadable_field_stops_the_script() {
    let environment = SMALL.environment_after_first_run();
    let set = "standin-state set eks.nodegroups.train.scalingConfig '[[1]]'";
    environment
        .shell(set, &[], &RunOptions::default())
        .expect_success();
    let run = environment.run("apply.sh", &[]);
    run.expect_refusal("EKS node group train: number of nodes: cannot be read");
}

#[test]
#[ignore = "needs bash, jq, python3 with PyYAML"]
fn teardown_keeps_resources_of_others() {
    for (path, message) in [
        (
            r#"eks.nodegroups.train.labels."gpuc.dev/pool""#,
            "EKS node group train: no label gpuc.dev/pool",
        ),
        (
            r#"eks.clusters.small.tags."gpuc.dev/cluster""#,
            "EKS cluster small: no tag gpuc.dev/cluster",
        ),
    ] {
        states::assert_unmarked_is_kept(&SMALL, path, message);
    }
}

/// eksctl would delete the node groups before EKS refuses to delete the cluster.
#[test]
#[ignore = "needs bash, jq, python3 with PyYAML"]
fn teardown_keeps_protected_clusters() {
    let environment = SMALL.environment_after_first_run();
    let protection = |enabled: bool| {
        let set = format!("standin-state set eks.clusters.small.deletionProtection {enabled}");
        let set = environment.shell(&set, &[], &RunOptions::default());
        set.expect_success();
    };
    protection(true);
    for arguments in [vec!["--yes", "small"], vec!["--dry-run"]] {
        let run = environment.run("teardown.sh", &arguments);
        let run = run.expect_refusal("protected from deletion:");
        assert!(run.stderr.contains("EKS cluster small"), "{}", run.stderr);
        assert!(
            run.stderr.contains("deletionProtection: false"),
            "{}",
            run.stderr
        );
        run.expect_no_changes();
    }
    assert!(environment.state()["eks"]["nodegroups"]["train"].is_object());
    protection(false);
    environment
        .run("teardown.sh", &["--yes", "small"])
        .expect_success();
    assert!(environment.state()["eks"]["clusters"]["small"].is_null());
}

/// The rolled back stack of another cluster or node group can have the name of one that the scripts create.
#[test]
#[ignore = "needs bash, jq, python3 with PyYAML"]
fn stacks_of_others_are_kept() {
    let mark = r#"{"Key": "gpuc.dev/cluster", "Value": "small"}"#;
    let cluster = r#"{"Key": "alpha.eksctl.io/cluster-name", "Value": "small"}"#;
    let group = r#"{"Key": "alpha.eksctl.io/nodegroup-name", "Value": "train"}"#;
    for (stack, tags, missing) in [
        // Created with eksctl alone.
        (
            "eksctl-small-cluster",
            vec![cluster],
            "gpuc.dev/cluster=small",
        ),
        // The node group `cluster` of the cluster `eksctl-small`, say.
        (
            "eksctl-small-cluster",
            vec![mark],
            "alpha.eksctl.io/cluster-name=small",
        ),
        (
            "eksctl-small-cluster",
            vec![],
            "alpha.eksctl.io/cluster-name=small, gpuc.dev/cluster=small",
        ),
        (
            "eksctl-small-nodegroup-train",
            vec![cluster, mark],
            "alpha.eksctl.io/nodegroup-name=train",
        ),
        (
            "eksctl-small-nodegroup-train",
            vec![cluster, group],
            "gpuc.dev/cluster=small",
        ),
    ] {
        let environment = SMALL.environment_after_first_run();
        let is_group = stack.ends_with("train");
        let keys = if is_group {
            "eks.nodegroups.train"
        } else {
            "eks.clusters.small"
        };
        let prepare = format!(
            "standin-state del {keys}
            standin-state set-string eks.stacks.{stack}.StackStatus ROLLBACK_COMPLETE
            standin-state set eks.stacks.{stack}.Tags '[{}]'",
            tags.join(", ")
        );
        environment
            .shell(&prepare, &[], &RunOptions::default())
            .expect_success();
        let before = environment.state();
        for arguments in [vec![], vec!["--check"], vec!["--dry-run"]] {
            let run = environment.run("apply.sh", &arguments);
            let run = run.expect_refusal(&format!(
                "others created it: it does not have the tags {missing}"
            ));
            assert!(
                run.stderr.contains(&format!("{stack}: ROLLBACK_COMPLETE")),
                "{}",
                run.stderr
            );
            let delete = format!("delete-stack --region us-east-1 --stack-name {stack}\n");
            assert!(!run.stderr.contains(&delete), "{}", run.stderr);
        }
        assert_eq!(environment.state(), before);
        if is_group {
            let run = environment.run("teardown.sh", &["--yes", "small"]);
            let kept = format!("{stack}: kept: it does not have the tags {missing}");
            assert!(run.stderr.contains(&kept), "{}", run.stderr);
        }
    }
}

/// A stack in progress hides whether the cluster that it creates has the mark.
#[test]
#[ignore = "needs bash, jq, python3 with PyYAML"]
fn teardown_checks_the_mark_again_after_waiting() {
    let environment = SMALL.environment();
    // Someone else creates a cluster of this name; EKS does not know it yet.
    let create = r#"printf '%s\n' 'apiVersion: eksctl.io/v1alpha5' 'kind: ClusterConfig' \
        'metadata: {name: small, region: us-east-1, version: "1.36", tags: {owner: another}}' >file.yaml
        standin-state set behavior.delay 20
        GPUC_STANDIN_KILL=eksctl:create bash -c 'eksctl create cluster -f file.yaml --without-nodegroup' || true
        rm file.yaml
        appears='.pending[0].at as $at | .pending |= [{$at, do: [["set", ["eks", "clusters", "small"], $cluster]]}] + .'
        cluster=$(standin-state get eks.clusters.small)
        time=$(jq --argjson cluster "$cluster" "$appears" "$GPUC_STANDIN_STATE.time")
        printf '%s\n' "$time" >"$GPUC_STANDIN_STATE.time"
        standin-state del eks.clusters.small"#;
    environment
        .shell(create, &[], &RunOptions::default())
        .expect_success();
    let with = RunOptions {
        environment: &[("GPUC_POLL_SECONDS", "0")],
        ..RunOptions::default()
    };
    let run = environment.run_with("teardown.sh", &["--yes", "small"], &with);
    let run = run.expect_refusal("EKS cluster small: no tag gpuc.dev/cluster");
    assert!(run.stderr.contains("CREATE_IN_PROGRESS"), "{}", run.stderr);
}

#[test]
#[ignore = "needs bash, jq, python3 with PyYAML"]
fn old_versions_of_tools_are_refused() {
    states::assert_old_versions_are_refused(
        &SMALL,
        "aws",
        &["1.42.2", "2.28.2", "2.4.99", "2.28"],
        &["1.42.3", "1.45.11", "2.28.3", "2.100.1", "3.0.0"],
    );
    states::assert_old_versions_are_refused(
        &SMALL,
        "eksctl",
        &["0.201.0", "0.99.0"],
        &["0.202.0", "1.0.0"],
    );
}

#[test]
#[ignore = "needs bash, jq, python3 with PyYAML"]
fn teardown_keeps_pools_of_others() {
    let message = "EKS cluster small: node groups";
    states::assert_other_pools_are_kept(&SMALL, "eks.nodegroups.train", "nodegroupName", message);
}

#[test]
#[ignore = "needs bash, jq, python3 with PyYAML"]
fn hangs_can_be_interrupted() {
    states::assert_hangs_can_be_interrupted(
        &SMALL,
        &[("aws", "describe-nodegroup"), ("eksctl", "--include=train")],
    );
}

/// A node group that is ready first, and degraded after the script has ended.
#[test]
#[ignore = "needs bash, jq, python3 with PyYAML"]
fn node_group_that_degrades_is_reported() {
    let undisturbed = SMALL.environment_after_first_run().state();
    let environment = SMALL.environment();
    let mut state = environment.state();
    state["behavior"] = json!({"fail": [
        {"tool": "eksctl", "match": "--include=train", "how": "degraded"},
    ]});
    environment.set_state(&state);
    let options = RunOptions {
        environment: &[("GPUC_POLL_SECONDS", "0")],
        ..RunOptions::default()
    };
    environment.run_with("apply.sh", &[], &options);
    for script in ["apply.sh", "pool-train.sh"] {
        for arguments in [vec![], vec!["--check"], vec!["--dry-run"], vec!["--verify"]] {
            let run = environment.run_with(script, &arguments, &options);
            let run = run.expect_refusal("EKS node group train: DEGRADED");
            assert!(
                run.stderr.contains("AsgInstanceLaunchFailures"),
                "{}",
                run.stderr
            );
        }
    }
    // EKS clears the status when the cause is gone.
    let repaired = "standin-state set-string eks.nodegroups.train.status ACTIVE
        standin-state set eks.nodegroups.train.health '{\"issues\": []}'";
    environment.shell(repaired, &[], &options).expect_success();
    environment
        .run_with("apply.sh", &[], &options)
        .expect_success();
    let mut state = environment.state();
    state.as_object_mut().unwrap().remove("behavior");
    assert_eq!(state, undisturbed);
}

/// eksctl deletes self-managed node groups with the cluster as well.
#[test]
#[ignore = "needs bash, jq, python3 with PyYAML"]
fn teardown_keeps_self_managed_node_groups() {
    let environment = SMALL.environment_after_first_run();
    let create = r"printf '%s\n' 'apiVersion: eksctl.io/v1alpha5' 'kind: ClusterConfig' \
        'metadata: {name: small, region: us-east-1}' 'nodeGroups: [{name: theirs, desiredCapacity: 1}]' >file.yaml
        eksctl create nodegroup --config-file=file.yaml
        rm file.yaml";
    environment
        .shell(create, &[], &RunOptions::default())
        .expect_success();
    let run = environment.run("teardown.sh", &["--yes", "small"]);
    run.expect_refusal("EKS cluster small: node groups: \"theirs\"\n");
}

#[test]
#[ignore = "needs bash, jq, python3 with PyYAML"]
fn cluster_without_stack_requires_its_network() {
    let environment = EXISTING.environment();
    let mut state = environment.state();
    let stacks = state["eks"]["stacks"].as_object_mut().unwrap();
    stacks.remove("eksctl-Theirs-cluster").unwrap();
    environment.set_state(&state);
    environment
        .run("apply.sh", &[])
        .expect_refusal("add vpc to cloud.aws.cluster.existing")
        .expect_no_changes();
}
