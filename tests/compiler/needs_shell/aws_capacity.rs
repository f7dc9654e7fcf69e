//! Capacity blocks, releases of node images and zones without a control plane on EKS.

use serde_json::{Value, json};

use super::aws_states::SMALL;
use super::environment::{Environment, RunOptions, RunResult};

const START: &str = "2096-12-01T11:30:00Z";

/// A cluster with a capacity block of two machines between these times.
fn block(start: &str, end: &str) -> String {
    config(
        "us-east-1a, us-east-1b",
        &format!(
            "machine: p4d.24xlarge, zones: [us-east-1a], nodes: {{count: 2}}, \
             capacity: {{capacityBlock: {{id: cr-0123456789abcdef0, count: 2, start: '{start}', end: '{end}'}}}}"
        ),
    )
}

fn config(zones: &str, pool: &str) -> String {
    format!(
        r#"
apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {{name: small}}
allow: [capacity-block-ended]
kubernetes: {{version: "1.36"}}
cloud: {{aws: {{account: "123456789012", region: us-east-1, cluster: {{create: {{zones: [{zones}]}}}}}}}}
stack: {{runtimeImage: "registry.acme.dev/gpuc-runtime:1.0.0"}}
nodePools:
  - {{name: system, machine: m7i.large, nodes: {{count: 2}}}}
  - {{name: train, {pool}}}
"#
    )
}

/// The cluster after the first run, after which a second run changes nothing.
fn created(config: &str) -> Environment {
    let environment = Environment::new(config, SMALL.before);
    environment.run("apply.sh", &[]).expect_success();
    assert_complete(&environment);
    environment
}

fn assert_complete(environment: &Environment) {
    let run = environment.run("apply.sh", &[]).expect_success();
    run.expect_no_changes();
}

fn group(environment: &Environment) -> Value {
    environment.state()["eks"]["nodegroups"]["train"].clone()
}

fn sizes(environment: &Environment) -> Value {
    let scaling = &group(environment)["scalingConfig"];
    json!([
        scaling["minSize"],
        scaling["desiredSize"],
        scaling["maxSize"]
    ])
}

/// The scheduled action for the start of the block.
fn action(environment: &Environment) -> Value {
    let groups = &environment.state()["eks"]["autoScalingGroups"];
    groups["eks-train-5ec0ffee"]["actions"]["gpuc-capacity-block"].clone()
}

fn change_group(environment: &Environment, change: impl FnOnce(&mut Value)) {
    let mut state = environment.state();
    change(&mut state["eks"]["nodegroups"]["train"]);
    environment.set_state(&state);
}

/// Runs `apply.sh` in the tree of another file, on the same cloud.
fn with_file(environment: &Environment, config: &str) -> Environment {
    let next = Environment::new(config, "");
    next.set_state(&environment.state());
    next
}

fn changes(run: &RunResult) -> Vec<&str> {
    let calls = run.mutating_calls();
    calls.iter().map(|call| call.words[2].as_str()).collect()
}

#[test]
#[ignore = "needs bash, jq, python3 with PyYAML"]
fn nodes_are_added_when_the_block_starts() {
    let environment = created(&block(START, "2096-12-15T11:30:00Z"));
    assert_eq!(sizes(&environment), json!([0, 0, 2]));
    let expected = json!({"StartTime": START, "MinSize": 2, "DesiredCapacity": 2});
    assert_eq!(action(&environment), expected);

    // Another start replaces the action.
    let later = "2096-12-02T11:30:00Z";
    let next = with_file(&environment, &block(later, "2096-12-15T11:30:00Z"));
    let run = next.run("apply.sh", &[]).expect_success();
    assert_eq!(
        changes(&run),
        ["put-scheduled-update-group-action", "tag-resource"],
        "{}",
        run.stderr
    );
    assert_eq!(action(&next)["StartTime"], later);
    assert_complete(&next);
}

#[test]
#[ignore = "needs bash, jq, python3 with PyYAML"]
fn running_block_gets_its_nodes_at_once() {
    let environment = created(&block("2020-12-01T11:30:00Z", "2096-12-15T11:30:00Z"));
    assert_eq!(sizes(&environment), json!([2, 2, 2]));
    assert_eq!(action(&environment), Value::Null);
}

/// A later start may be a mistake, and the nodes run workloads.
#[test]
#[ignore = "needs bash, jq, python3 with PyYAML"]
fn running_nodes_are_kept_if_the_start_moves() {
    let environment = created(&block("2020-12-01T11:30:00Z", "2096-12-15T11:30:00Z"));
    let later = with_file(&environment, &block(START, "2096-12-15T11:30:00Z"));
    later.run("apply.sh", &[]).expect_success();
    assert_eq!(sizes(&later), json!([0, 2, 2]));
    assert_complete(&later);
}

#[test]
#[ignore = "needs bash, jq, python3 with PyYAML"]
fn ended_block_stays_empty() {
    let environment = created(&block("2020-12-01T11:30:00Z", "2096-12-15T11:30:00Z"));
    // EKS scales the group to 0 before the end.
    change_group(&environment, |group| {
        group["scalingConfig"] = json!({"minSize": 0, "maxSize": 2, "desiredSize": 0});
    });
    let ended = with_file(
        &environment,
        &block("2020-12-01T11:30:00Z", "2020-12-15T11:30:00Z"),
    );
    assert_complete(&ended);
    assert_eq!(sizes(&ended), json!([0, 0, 2]));
}

#[test]
#[ignore = "needs bash, jq, python3 with PyYAML"]
fn block_is_upgraded_without_nodes() {
    let environment = created(&block("2020-12-01T11:30:00Z", "2096-12-15T11:30:00Z"));
    change_group(&environment, |group| group["version"] = json!("1.35"));
    let refused = environment.run("apply.sh", &[]);
    let refused = refused.expect_refusal("drains nodes: to allow this, add --allow-disruption");
    assert!(
        refused.stderr.contains("only at size 0"),
        "{}",
        refused.stderr
    );
    let run = environment.run("apply.sh", &["--allow-disruption"]);
    let run = run.expect_success();
    assert_eq!(
        changes(&run),
        [
            "update-nodegroup-config",
            "update-nodegroup-version",
            "update-nodegroup-config"
        ],
        "{}",
        run.stderr
    );
    assert_eq!(group(&environment)["version"], "1.36");
    assert_eq!(sizes(&environment), json!([2, 2, 2]));
    assert_complete(&environment);
}

/// An upgrade that stops while the group has no nodes is completed by the next run.
#[test]
#[ignore = "needs bash, jq, python3 with PyYAML"]
fn interrupted_upgrade_of_a_block_is_completed() {
    for changes_before_exit in ["1", "2"] {
        let environment = created(&block("2020-12-01T11:30:00Z", "2096-12-15T11:30:00Z"));
        change_group(&environment, |group| group["version"] = json!("1.35"));
        let options = RunOptions {
            environment: &[("GPUC_STANDIN_DIE_AFTER", changes_before_exit)],
            ..RunOptions::default()
        };
        let run = environment.run_with("apply.sh", &["--allow-disruption"], &options);
        assert_ne!(run.code, 0, "{}", run.stderr);
        assert_eq!(sizes(&environment), json!([0, 0, 2]));
        let run = environment.run("apply.sh", &["--allow-disruption"]);
        run.expect_success();
        assert_eq!(group(&environment)["version"], "1.36");
        assert_eq!(sizes(&environment), json!([2, 2, 2]));
        assert_complete(&environment);
    }
}

#[test]
#[ignore = "needs bash, jq, python3 with PyYAML"]
fn newest_release_is_offered() {
    let pool = "machine: g6.xlarge, nodes: {count: 1}, nodeImage: {channel: latest}";
    let environment = created(&config("us-east-1a, us-east-1b", pool));
    let mut state = environment.state();
    state["eks"]["newestRelease"] = json!("1.36.1-20261115");
    environment.set_state(&state);
    let difference = "EKS node group train: node image release: \
                      {\"kubernetes\":\"1.36\",\"release\":\"1.36.1-20261101\"} -> \
                      {\"kubernetes\":\"1.36\",\"release\":\"1.36.1-20261115\"}: \
                      to apply this, run apply.sh --allow-disruption: EKS drains every node";

    // A newer release does not prevent other changes.
    for arguments in [vec![], vec!["--verify"], vec!["--dry-run"]] {
        let run = environment.run("apply.sh", &arguments).expect_success();
        let run = run.expect_no_changes();
        let count = run.stderr.matches(difference).count();
        assert_eq!(count, 1, "{arguments:?}\n{}", run.stderr);
    }
    let run = environment.run("apply.sh", &["--allow-disruption"]);
    let run = run.expect_success();
    assert_eq!(
        changes(&run),
        ["update-nodegroup-version"],
        "{}",
        run.stderr
    );
    let mut state = environment.state();
    // The fake has its own idea of the newest release.
    state["eks"]["nodegroups"]["train"]["releaseVersion"] = json!("1.36.1-20261115");
    environment.set_state(&state);
    assert_complete(&environment);
}

#[test]
#[ignore = "needs bash, jq, python3 with PyYAML"]
fn unreadable_newest_release_stops_the_script() {
    let pool = "machine: g6.xlarge, nodes: {count: 1}, nodeImage: {channel: latest}";
    let environment = created(&config("us-east-1a, us-east-1b", pool));
    let before = environment.state();
    for (how, message) in [
        (
            "garbled",
            "node image release: unexpected output of command: aws ssm",
        ),
        (
            "misshapen",
            "node image release: unexpected output of command: aws ssm",
        ),
        (
            "expired",
            "node image release: cannot read what the cloud recommends",
        ),
    ] {
        let mut state = before.clone();
        let rule = json!([{"tool": "aws", "match": "get-parameter", "how": how, "times": 9}]);
        state["behavior"] = json!({"fail": rule});
        environment.set_state(&state);
        environment.run("apply.sh", &[]).expect_refusal(message);
    }
}

#[test]
#[ignore = "needs bash, jq, python3 with PyYAML"]
fn pinned_release_is_installed_and_kept() {
    let pool = |release: &str| {
        config(
            "us-east-1a, us-east-1b",
            &format!("machine: g6.xlarge, nodes: {{count: 1}}, nodeImage: {{version: {release}}}"),
        )
    };
    let environment = created(&pool("1.36.0-20261001"));
    assert_eq!(group(&environment)["releaseVersion"], "1.36.0-20261001");
    let next = with_file(&environment, &pool("1.36.1-20261101"));
    let refused = next.run("apply.sh", &[]);
    refused.expect_refusal("drains nodes: to allow this, add --allow-disruption");
    let run = next.run("apply.sh", &["--allow-disruption"]);
    let run = run.expect_success();
    assert_eq!(
        changes(&run),
        ["update-nodegroup-version"],
        "{}",
        run.stderr
    );
    assert_eq!(group(&next)["releaseVersion"], "1.36.1-20261101");
    assert_complete(&next);
}

#[test]
#[ignore = "needs bash, jq, python3 with PyYAML"]
fn zone_without_control_plane_is_refused() {
    // In this account, us-east-1e is use1-az3.
    let pool = "machine: g6.xlarge, nodes: {count: 1}";
    let environment = Environment::new(&config("us-east-1a, us-east-1e", pool), SMALL.before);
    for script in ["apply.sh", "cluster.sh"] {
        let run = environment.run(script, &[]);
        let run = run.expect_refusal("where EKS has no control plane is us-east-1e");
        let help =
            "remove this zone from the zones of the cluster, or set nodesOnly for its subnets";
        assert!(run.stderr.contains(help), "{}", run.stderr);
    }
}
