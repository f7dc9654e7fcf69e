//! Networks for GPUDirect, and racks, on GKE.

use gpuc_model::plan::{Field, Resource};
use serde_json::{Value, json};

use super::gcp::{RICH, drift};
use super::lifecycle::{self, Case};

pub(super) static RACK: Case = Case {
    config: include_str!("gcp-rack.yaml"),
    before: r#"standin-state set behavior.versions.gcloud '"563.0.0"'"#,
    other_account: RICH.other_account,
    settled: &[],
    drift,
};

pub(super) static NETWORKS: Case = Case {
    config: include_str!("gcp-networks.yaml"),
    before: "",
    other_account: RICH.other_account,
    settled: &[],
    drift,
};

/// The list of a resource's kind in the state of the stand-in.
pub(super) fn list(resource: &Resource) -> &'static str {
    match resource.kind.name {
        "VPC network" => "networks",
        "VPC subnetwork" => "subnetworks",
        _ => "firewalls",
    }
}

pub(super) fn drift_policy(policy: &mut Value, field: &Field) -> bool {
    match field.kind.name {
        "topology" => policy["workloadPolicy"]["acceleratorTopology"] = json!("1x64"),
        "description" => policy["description"] = json!("gpuc: another pool"),
        _ => return false,
    }
    true
}

pub(super) fn drift_network(network: &mut Value, field: &Field) -> bool {
    match field.kind.name {
        "subnetworks of its own" => network["autoCreateSubnetworks"] = json!(true),
        "MTU" => network["mtu"] = json!(1460),
        "network profile" if field.desired.is_null() => {
            network["networkProfile"] = json!("https://www.googleapis.com/x/us-east1-a-vpc-roce");
        }
        "network profile" => network["networkProfile"] = json!(null),
        "description" => network["description"] = json!("gpuc: cluster other in us-central1"),
        "network" | "network of the rule" => network["network"] = json!("https://x/other"),
        "range" => network["ipCidrRange"] = json!("10.1.0.0/20"),
        "allowed traffic" => network["allowed"] = json!([{"IPProtocol": "tcp", "ports": ["22"]}]),
        "sources" => network["sourceRanges"] = json!(["0.0.0.0/0"]),
        _ => return false,
    }
    true
}

#[test]
#[ignore = "needs bash, jq, python3 with PyYAML"]
fn racks_are_created_once_and_drift_is_reported() {
    let state = lifecycle::assert_created_once(&RACK);
    let policies = state["gce"]["resourcePolicies"].as_object().unwrap();
    let names: Vec<_> = policies.keys().collect();
    assert_eq!(names, ["rich-gb200", "rich-gb300"]);
    let pool = &state["gke"]["pools"]["gb300"];
    assert_eq!(pool["placementPolicy"]["policyName"], "rich-gb300");
    assert_eq!(
        pool["networkConfig"]["acceleratorNetworkProfile"],
        json!("auto")
    );
    let linux = &pool["config"]["linuxNodeConfig"];
    assert_eq!(linux["hugepages"]["hugepageSize2m"], json!(4096));
    assert_eq!(state["gke"]["clusters"]["rich"]["shieldedNodes"], json!({}));
    lifecycle::assert_drift_is_corrected(&RACK);
    lifecycle::assert_teardown(&RACK);
}

#[test]
#[ignore = "needs bash, jq, python3 with PyYAML"]
fn networks_are_created_once_and_drift_is_corrected() {
    let state = lifecycle::assert_created_once(&NETWORKS);
    let networks = state["gce"]["networks"].as_object().unwrap();
    let names: Vec<_> = networks.keys().map(String::as_str).collect();
    let expected = [
        "rich-b-rdma",
        "rich-gpu-0",
        "rich-gpu-1",
        "rich-gpu-2",
        "rich-gpu-3",
        "rich-gpu-host",
    ];
    assert_eq!(names, expected);
    let interfaces = |pool: &str| {
        state["gke"]["pools"][pool]["networkConfig"]["additionalNodeNetworkConfigs"].clone()
    };
    assert_eq!(interfaces("high").as_array().map(Vec::len), Some(4));
    let rdma = interfaces("rdma");
    assert_eq!(rdma.as_array().map(Vec::len), Some(9));
    assert_eq!(
        rdma[8],
        json!({"network": "rich-b-rdma", "subnetwork": "rich-b-rdma-7"})
    );
    lifecycle::assert_drift_is_corrected(&NETWORKS);
    lifecycle::assert_teardown(&NETWORKS);
}
