//! The versions of EKS add-ons.

use serde_json::{Value, json};

use super::aws_states::SMALL;
use super::environment::{Environment, RunOptions, RunResult};

/// The default version for Kubernetes 1.36 of every add-on except kube-proxy, and the versions before and after it.
const DEFAULT: &str = "v1.20.0-eksbuild.10";
const OLDER: &str = "v1.20.0-eksbuild.2";
const NEWER: &str = "v1.20.1-eksbuild.1";

/// Changes the add-ons of the cluster.
fn change(environment: &Environment, change: impl FnOnce(&mut Value)) {
    let mut state = environment.state();
    change(&mut state["eks"]["addons"]["small"]);
    environment.set_state(&state);
}

fn addons(environment: &Environment) -> Value {
    environment.state()["eks"]["addons"]["small"].clone()
}

/// Runs `apply.sh` without pauses, with these rules for failures and calls in progress.
fn apply(environment: &Environment, behavior: &Value, arguments: &[&str]) -> RunResult {
    let mut state = environment.state();
    state["behavior"] = behavior.clone();
    environment.set_state(&state);
    let options = RunOptions {
        environment: &[("GPUC_POLL_SECONDS", "0")],
        ..RunOptions::default()
    };
    environment.run_with("apply.sh", arguments, &options)
}

/// The subcommands of the changes of a run.
fn changes(run: &RunResult) -> Vec<&str> {
    let calls = run.mutating_calls();
    calls.iter().map(|call| call.words[2].as_str()).collect()
}

#[test]
#[ignore = "needs bash, jq, python3 with PyYAML"]
fn older_version_is_upgraded_and_newer_version_is_kept() {
    let environment = SMALL.environment_after_first_run();
    let settings = r#"{"replicaCount": 3, "note": "it's theirs"}"#;
    change(&environment, |addons| {
        addons["coredns"]["addonVersion"] = json!(OLDER);
        addons["coredns"]["configurationValues"] = json!(settings);
        addons["coredns"]["serviceAccountRoleArn"] = json!("arn:aws:iam::123456789012:role/dns");
        addons["vpc-cni"]["addonVersion"] = json!(NEWER);
    });
    let before = addons(&environment);
    let difference = format!("EKS add-on coredns: version: \"{OLDER}\" -> \"{DEFAULT}\"");

    let dry = environment.run("apply.sh", &["--dry-run"]);
    let dry = dry.expect_success().expect_no_changes();
    assert!(dry.stderr.contains(&difference), "{}", dry.stderr);
    assert!(!dry.stderr.contains("vpc-cni: version"), "{}", dry.stderr);
    let command =
        format!("--addon-name coredns --addon-version {DEFAULT} --resolve-conflicts PRESERVE");
    assert!(dry.out.contains(&command), "{}", dry.out);

    let verify = environment.run("apply.sh", &["--verify"]);
    let verify = verify.expect_success().expect_no_changes();
    let report = format!("{difference}: to apply this, run apply.sh\n");
    assert!(verify.stderr.contains(&report), "{}", verify.stderr);
    assert!(!verify.stderr.contains("vpc-cni"), "{}", verify.stderr);

    let run = apply(&environment, &json!({"delay": 2}), &[]).expect_success();
    assert_eq!(changes(&run), ["update-addon"], "{}", run.stderr);
    let mut expected = before;
    expected["coredns"]["addonVersion"] = json!(DEFAULT);
    assert_eq!(addons(&environment), expected);
    let run = environment.run("apply.sh", &[]).expect_success();
    let run = run.expect_no_changes();
    assert!(run.stderr.contains("nothing to do"), "{}", run.stderr);
}

#[test]
#[ignore = "needs bash, jq, python3 with PyYAML"]
fn control_plane_is_upgraded_before_addons_and_pools() {
    let environment = SMALL.environment_after_first_run();
    let upgraded = addons(&environment);
    let mut state = environment.state();
    let eks = &mut state["eks"];
    eks["clusters"]["small"]["version"] = json!("1.35");
    for pool in ["system", "train"] {
        eks["nodegroups"][pool]["version"] = json!("1.35");
    }
    let addons_of_cluster = eks["addons"]["small"].as_object_mut().unwrap();
    for (name, addon) in addons_of_cluster {
        // EKS refuses this version of kube-proxy for the other Kubernetes version.
        addon["addonVersion"] = match name.as_str() {
            "kube-proxy" => json!("v1.35.0-eksbuild.10"),
            _ => json!("v1.19.0-eksbuild.10"),
        };
    }
    environment.set_state(&state);
    let run = apply(&environment, &json!({"delay": 2}), &["--allow-disruption"]).expect_success();
    let expected = [
        "update-cluster-version",
        "update-addon",
        "update-addon",
        "update-addon",
        "update-addon",
        "update-nodegroup-version",
        "update-nodegroup-version",
        "update-addon",
    ];
    assert_eq!(changes(&run), expected, "{}", run.stderr);
    assert_eq!(addons(&environment), upgraded);
    environment
        .run("apply.sh", &[])
        .expect_success()
        .expect_no_changes();
}

#[test]
#[ignore = "needs bash, jq, python3 with PyYAML"]
fn failed_update_is_reported_and_repeated() {
    let environment = SMALL.environment_after_first_run();
    let upgraded = addons(&environment);
    change(&environment, |addons| {
        addons["coredns"]["addonVersion"] = json!(OLDER);
    });
    let rule = json!([{"tool": "aws", "match": "update-addon", "how": "update_failed"}]);
    let run = apply(&environment, &json!({"delay": 2, "fail": rule}), &[]);
    assert!(run.code != 0, "{}", run.stderr);
    for message in [
        "EKS add-on coredns: update ",
        ": Failed\n  ConfigurationConflict: Conflicts found when trying to apply.",
    ] {
        assert!(run.stderr.contains(message), "{message}\n{}", run.stderr);
    }
    let failed = addons(&environment);
    assert_eq!(failed["coredns"]["status"], "UPDATE_FAILED");
    assert_eq!(failed["coredns"]["addonVersion"], OLDER);
    let verify = environment.run("apply.sh", &["--verify"]);
    verify.expect_refusal("EKS add-on coredns: UPDATE_FAILED");
    let run = apply(&environment, &json!({}), &[]).expect_success();
    assert_eq!(changes(&run), ["update-addon"], "{}", run.stderr);
    assert_eq!(addons(&environment), upgraded);
}

#[test]
#[ignore = "needs bash, jq, python3 with PyYAML"]
fn degraded_addon_is_reported() {
    let environment = SMALL.environment_after_first_run();
    change(&environment, |addons| {
        addons["coredns"]["addonVersion"] = json!(OLDER);
    });
    let rule = json!([{"tool": "aws", "match": "update-addon", "how": "degraded"}]);
    let run = apply(&environment, &json!({"fail": rule}), &[]).expect_success();
    let warning = "EKS add-on coredns: warning: InsufficientNumberOfReplicas: ";
    assert!(run.stderr.contains(warning), "{}", run.stderr);
    assert_eq!(addons(&environment)["coredns"]["addonVersion"], DEFAULT);
    let run = apply(&environment, &json!({}), &[]).expect_success();
    let run = run.expect_no_changes();
    assert!(run.stderr.contains(warning), "{}", run.stderr);
}

#[test]
#[ignore = "needs bash, jq, python3 with PyYAML"]
fn unreadable_default_stops_the_script() {
    let environment = SMALL.environment_after_first_run();
    change(&environment, |addons| {
        addons["coredns"]["addonVersion"] = json!(OLDER);
    });
    for (how, message) in [
        (
            "garbled",
            "version: unexpected output of command: aws eks describe-addon-versions",
        ),
        (
            "silent",
            "version: unexpected output of command: aws eks describe-addon-versions",
        ),
        (
            "misshapen",
            "version: unexpected output of command: aws eks describe-addon-versions",
        ),
        (
            "expired",
            "version: cannot read what the cloud recommends: command failed: aws eks",
        ),
    ] {
        let rule =
            json!([{"tool": "aws", "match": "describe-addon-versions", "how": how, "times": 9}]);
        let run = apply(&environment, &json!({"fail": rule}), &[]);
        run.expect_refusal(message);
    }
}
