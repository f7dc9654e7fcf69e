//! Who can reach the API server of an EKS cluster, and who can log in.

use gpuc_model::plan::Field;
use gpuc_schema::config::AwsPolicyName;
use serde_json::{Value, json};

use super::aws::{EXISTING_NETWORK, RICH};
use super::environment::Environment;

/// The access entry of a principal, in the only cluster that has one.
pub(super) fn find_entry<'s>(state: &'s mut Value, principal: &str) -> &'s mut Value {
    let clusters = state["eks"]["accessEntries"].as_object_mut().unwrap();
    let mut clusters = clusters.values_mut();
    clusters.find_map(|it| it.get_mut(principal)).unwrap()
}

/// A policy for the whole cluster, as EKS lists it.
fn associated_policy(name: &str) -> Value {
    json!({
        "policyArn": format!("arn:aws:eks::aws:cluster-access-policy/{name}"),
        "accessScope": {"type": "cluster", "namespaces": []},
    })
}

/// Causes drift in a field of an access entry.
pub(super) fn drift_entry(entry: &mut Value, field: &Field) -> bool {
    match field.kind.name {
        "Kubernetes groups" => entry["kubernetesGroups"] = json!(["other"]),
        "Kubernetes user" => entry["username"] = json!("other"),
        "tags" => {
            entry["tags"]["extra"] = json!("tag");
            entry["tags"]["gpuc.dev/tags"] = json!("extra");
        }
        _ => return false,
    }
    true
}

/// Causes drift in the authentication mode of a cluster.
pub(super) fn drift_mode(cluster: &mut Value, field: &Field) {
    let other = match field.desired.as_str() {
        Some("API") => "API_AND_CONFIG_MAP",
        _ => "API",
    };
    cluster["accessConfig"]["authenticationMode"] = json!(other);
}

/// Replaces the policies of an entry by every policy for people that the file does not have, so that each is removed.
pub(super) fn drift_policies(entry: &mut Value, field: &Field) -> bool {
    let is_missing = |name: &&str| {
        let mut desired = field.desired.as_array().unwrap().iter();
        !desired.any(|policy| policy["policy"] == **name)
    };
    let policies = AwsPolicyName::ALL.map(AwsPolicyName::as_str).into_iter();
    let policies: Vec<_> = policies.filter(is_missing).map(associated_policy).collect();
    entry["_policies"] = json!(policies);
    field.kind.name == "access policies"
}

const RANGES: &str = "publicAccessCidrs: [203.0.113.0/24, 198.51.100.7/32]";

#[test]
#[ignore = "needs bash, jq, python3 with PyYAML"]
fn ranges_and_endpoints_are_updated_together() {
    let environment = EXISTING_NETWORK.environment_after_first_run();
    let mut state = environment.state();
    let network = &mut state["eks"]["clusters"]["housed"]["resourcesVpcConfig"];
    assert_eq!(
        network["publicAccessCidrs"],
        json!(["198.51.100.7/32", "203.0.113.0/24"])
    );
    network["publicAccessCidrs"] = json!(["0.0.0.0/0"]);
    network["endpointPrivateAccess"] = json!(false);
    environment.set_state(&state);
    let verify = environment.run("apply.sh", &["--verify"]).expect_success();
    assert!(
        verify.stderr.contains("API server endpoint: "),
        "{}",
        verify.stderr
    );
    let run = environment.run("apply.sh", &[]).expect_success();
    assert_eq!(run.mutating_calls().len(), 1, "{}", run.stderr);
    let network = &environment.state()["eks"]["clusters"]["housed"]["resourcesVpcConfig"];
    assert_eq!(
        network["publicAccessCidrs"],
        json!(["198.51.100.7/32", "203.0.113.0/24"])
    );
    assert_eq!(network["endpointPrivateAccess"], json!(true));
}

/// Without the key, the scripts do not open a cluster to the internet that someone closed.
#[test]
#[ignore = "needs bash, jq, python3 with PyYAML"]
fn ranges_are_kept_without_the_key() {
    let config = EXISTING_NETWORK.config;
    assert!(config.contains(RANGES));
    let environment = Environment::new(&config.replace(RANGES, "endpoint: public"), "");
    environment.run("apply.sh", &[]).expect_success();
    let mut state = environment.state();
    let network = &mut state["eks"]["clusters"]["housed"]["resourcesVpcConfig"];
    assert_eq!(network["publicAccessCidrs"], json!(["0.0.0.0/0"]));
    network["publicAccessCidrs"] = json!(["203.0.113.0/24"]);
    environment.set_state(&state);
    let run = environment.run("apply.sh", &[]).expect_success();
    run.expect_no_changes();
}

#[test]
#[ignore = "needs bash, jq, python3 with PyYAML"]
fn entries_have_groups_users_and_policies() {
    let environment = RICH.environment_after_first_run();
    let mut state = environment.state();
    let ada = find_entry(&mut state, "arn:aws:iam::123456789012:user/ada");
    assert_eq!(ada["kubernetesGroups"], json!(["all people", "quiet"]));
    assert_eq!(ada["username"], "ada@acme.dev");
    assert_eq!(ada["tags"]["gpuc.dev/cluster"], "rich");
    let scope = json!({"type": "namespace", "namespaces": ["default", "quiet"]});
    assert_eq!(ada["_policies"][1]["accessScope"], scope);
    // A policy that gpuc does not know is not removed.
    let theirs = associated_policy("AmazonEKSSecretReaderPolicy");
    ada["_policies"].as_array_mut().unwrap().push(theirs);
    environment.set_state(&state);
    let run = environment
        .run("access.sh", &[])
        .expect_success()
        .expect_no_changes();
    let kept = "access policies: not managed by gpuc, kept: AmazonEKSSecretReaderPolicy";
    assert!(run.stderr.contains(kept), "{}", run.stderr);
}

/// The creator of a cluster has an entry that the scripts did not create.
#[test]
#[ignore = "needs bash, jq, python3 with PyYAML"]
fn entry_of_the_creator_is_adopted_on_request() {
    let config = EXISTING_NETWORK
        .config
        .replace("role/people", "user/stand-in");
    let environment = Environment::new(&config, "");
    let first = environment.run("apply.sh", &[]);
    let reason = "created by others: to manage it with these scripts from now on, add --adopt";
    assert!(
        first.code != 0 && first.stderr.contains(reason),
        "{}",
        first.stderr
    );
    let before = environment.state();
    environment
        .run("access.sh", &[])
        .expect_refusal(
            "EKS access entry arn:aws:iam::123456789012:user/stand-in: no tag gpuc.dev/cluster",
        )
        .expect_no_changes();
    assert_eq!(environment.state(), before);
    environment.run("apply.sh", &["--adopt"]).expect_success();
    let mut state = environment.state();
    let entry = find_entry(&mut state, "arn:aws:iam::123456789012:user/stand-in");
    assert_eq!(entry["kubernetesGroups"], json!(["people"]));
    assert_eq!(entry["tags"]["gpuc.dev/cluster"], "housed");
    assert_eq!(entry["_policies"], json!([]), "the file gives no policies");
    environment
        .run("apply.sh", &[])
        .expect_success()
        .expect_no_changes();
}
