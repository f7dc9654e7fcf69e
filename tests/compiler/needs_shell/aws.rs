//! EKS.

use gpuc_model::plan::{Field, Resource};
use serde_json::{Value, json};

use super::aws_access::{self, find_entry};
use super::external_settings::{self, ExternalSettings, without_keys};
use super::lifecycle::{self, Case};
use super::{control_planes, hostile, verify};

pub(super) static RICH: Case = Case {
    config: include_str!("aws.yaml"),
    before: "",
    other_account: "standin-state set-string eks.account 999999999999",
    settled: &[
        "access policies",
        "network policies",
        "number of nodes during the capacity block",
        "start of the capacity block",
    ],
    drift,
};

pub(super) static EXISTING: Case = Case {
    config: include_str!("aws-existing.yaml"),
    before: "
        place='metadata: {name: Theirs, region: us-east-1, version: \"1.36\"}'
        head='apiVersion: eksctl.io/v1alpha5, kind: ClusterConfig'
        groups='managedNodeGroups: [{name: gpu-a, instanceType: g5.2xlarge}]'
        eksctl create cluster --config-file=<(echo \"{$head, $place, $groups}\") >/dev/null",
    other_account: RICH.other_account,
    settled: &["access policies"],
    drift,
};

/// A new cluster in an existing VPC.
pub(super) static EXISTING_NETWORK: Case = Case {
    config: include_str!("aws-network.yaml"),
    before: "",
    other_account: RICH.other_account,
    settled: &[],
    drift,
};

/// Pools whose nodes Karpenter creates.
pub(super) static KARPENTER: Case = Case {
    config: include_str!("aws-karpenter.yaml"),
    before: "",
    other_account: RICH.other_account,
    settled: &[],
    drift,
};

fn drift(state: &mut Value, resource: &Resource, field: &Field) -> bool {
    let name = resource.name.as_str();
    match resource.kind.name {
        "EKS cluster" => drift_cluster(&mut state["eks"]["clusters"][name], field),
        "EKS access entry" => aws_access::drift_entry(find_entry(state, name), field),
        "EKS access policies" => aws_access::drift_policies(find_entry(state, name), field),
        "EKS node group" => drift_group(&mut state["eks"]["nodegroups"][name], field),
        "EKS add-on" => {
            let clusters = state["eks"]["addons"].as_object_mut().unwrap();
            for addons in clusters.values_mut() {
                // Older as numbers, but not as text.
                addons[name]["addonVersion"] = json!("v1.9.0-eksbuild.1");
            }
            field.kind.name == "version"
        }
        "EKS network plugin" => {
            let clusters = state["eks"]["addons"].as_object_mut().unwrap();
            for addons in clusters.values_mut() {
                addons[name]["configurationValues"] =
                    json!(r#"{"enableNetworkPolicy": "false", "env": {"A": "b"}}"#);
            }
            field.kind.name == "network policies"
        }
        "CloudFormation stack" => {
            let tags = &mut state["eks"]["stacks"][name]["Tags"];
            let mut tags = tags.as_array_mut().unwrap().iter_mut();
            let tag = tags.find(|tag| tag["Key"] == "gpuc.dev/template");
            tag.unwrap()["Value"] = json!("sha256:0");
            field.kind.name == "template"
        }
        _ => false,
    }
}

fn drift_cluster(cluster: &mut Value, field: &Field) -> bool {
    let network = &mut cluster["resourcesVpcConfig"];
    match field.kind.name {
        "VPC" => network["vpcId"] = json!("vpc-0ffffffffffffffff"),
        "subnets" => network["subnetIds"] = json!(["subnet-0ffffffffffffffff"]),
        "security groups" => network["securityGroupIds"] = json!(["sg-0ffffffffffffffff"]),
        "API server endpoint" => {
            let now = field.desired["endpointPublicAccess"].as_bool().unwrap();
            network["endpointPublicAccess"] = json!(!now);
        }
        "authentication mode" => aws_access::drift_mode(cluster, field),
        "VPC range" => cluster["tags"]["gpuc.dev/vpc-cidr"] = json!("10.99.0.0/16"),
        "zones" => cluster["tags"]["gpuc.dev/cluster-zones"] = json!("us-east-1f"),
        "tags" => {
            cluster["tags"]["extra"] = json!("tag");
            cluster["tags"]["gpuc.dev/tags"] = json!("extra");
        }
        "Kubernetes version" => cluster["version"] = json!("1.35"),
        _ => return control_planes::drift_eks(cluster, field),
    }
    true
}

fn drift_group(group: &mut Value, field: &Field) -> bool {
    match field.kind.name {
        "IAM role of nodes" => group["nodeRole"] = json!("arn:aws:iam::123456789012:role/other"),
        "machine type" => group["instanceTypes"] = json!(["m5.large"]),
        "alternative machine types" => group["instanceTypes"] = json!(["m5.large", "m6i.large"]),
        "node image" => {
            group["amiType"] = json!("WINDOWS_CORE_2022_x86_64");
        }
        "zones or subnets" => group["tags"]["gpuc.dev/place"] = json!("us-east-1f"),
        "capacity" => {
            let other = if field.desired == "SPOT" {
                "ON_DEMAND"
            } else {
                "SPOT"
            };
            group["capacityType"] = json!(other);
        }
        "capacity reservation" => group["tags"]["gpuc.dev/reservation"] = json!("cr-0fffffff"),
        "disk size in GiB" => group["tags"]["gpuc.dev/disk-gib"] = json!("77"),
        "EFA" => {
            let other = if field.desired == "yes" { "no" } else { "yes" };
            group["tags"]["gpuc.dev/efa"] = json!(other);
        }
        "placement group" => group["tags"]["gpuc.dev/placement-group"] = json!("other"),
        "max pods per node" => group["tags"]["gpuc.dev/max-pods"] = json!("9"),
        "Kubernetes version of the image" => group["tags"]["gpuc.dev/kubernetes"] = json!("1.35"),
        "labels" => group["labels"]["gpuc.dev/other"] = json!("x"),
        "taints" => {
            let other = json!({"key": "gpuc.dev/other", "value": "x", "effect": "NO_EXECUTE"});
            group["taints"] = json!([other]);
        }
        "tags" => {
            group["tags"]["extra"] = json!("tag");
            group["tags"]["gpuc.dev/tags"] = json!("extra");
        }
        "Cluster Autoscaler node template" => {
            let other = "k8s.io/cluster-autoscaler/node-template/label/gpuc.dev/other";
            group["tags"][other] = json!("label");
        }
        "local disks" => {
            let now = field.desired == "scratch";
            group["tags"]["gpuc.dev/local-disks"] = json!(if now { "none" } else { "scratch" });
        }
        "upgrade settings" => {
            group["updateConfig"] = json!({"maxUnavailablePercentage": 33});
        }
        "node repair" => {
            let now = field.desired.as_bool().unwrap();
            group["nodeRepairConfig"] = json!({"enabled": !now});
        }
        "number of nodes" => {
            group["scalingConfig"] = json!({"minSize": 9, "maxSize": 99, "desiredSize": 9});
        }
        "initial number of nodes" => group["scalingConfig"]["desiredSize"] = json!(9),
        "number of nodes during the capacity block" => {
            group["scalingConfig"] = json!({"minSize": 1, "maxSize": 9, "desiredSize": 3});
        }
        "start of the capacity block" => {
            group["tags"]["gpuc.dev/capacity-block"] = json!("2096-11-30T11:30:00Z 1");
        }
        "node image release" => group["releaseVersion"] = json!("1.36.0-20250101"),
        "Kubernetes version" => group["version"] = json!("1.35"),
        _ => return false,
    }
    true
}

#[test]
#[ignore = "needs bash, jq, python3 with PyYAML"]
fn cluster_is_created_once() {
    let state = lifecycle::assert_created_once(&RICH);
    let eks = &state["eks"];
    let cluster = &eks["clusters"]["rich"];
    assert_eq!(cluster["version"], "1.36");
    assert_eq!(cluster["tags"]["cost center"], "ml: a/b");
    let access = &cluster["resourcesVpcConfig"];
    assert_eq!(access["endpointPublicAccess"], json!(false));
    assert_eq!(access["endpointPrivateAccess"], json!(true));
    let groups: Vec<_> = eks["nodegroups"].as_object().unwrap().keys().collect();
    assert_eq!(groups, ["infer", "slices", "system", "train", "ubuntu"]);
    let infer = &eks["nodegroups"]["infer"];
    assert_eq!(
        infer["instanceTypes"],
        json!(["g5.xlarge", "g5.2xlarge", "g5.4xlarge"])
    );
    assert_eq!(infer["capacityType"], "SPOT");
    assert_eq!(infer["amiType"], "AL2023_x86_64_NVIDIA");
    assert_eq!(infer["labels"]["rack"], "007");
    assert_eq!(
        infer["scalingConfig"],
        json!({"minSize": 0, "maxSize": 20, "desiredSize": 3})
    );
    assert_eq!(
        infer["taints"],
        json!([
            {"effect": "PREFER_NO_SCHEDULE", "key": "batch"},
            {"effect": "NO_SCHEDULE", "key": "nvidia.com/gpu", "value": "present"},
        ])
    );
    let picture = "k8s.io/cluster-autoscaler/node-template/resources/nvidia.com/gpu";
    assert_eq!(infer["tags"][picture], "4");
    let train = &eks["nodegroups"]["train"]["_config"];
    assert_eq!(train["efaEnabled"], json!(true));
    assert_eq!(train["volumeSize"], json!(500));
    assert_eq!(train["maxPodsPerNode"], json!(60));
    let reservation = &train["capacityReservation"]["capacityReservationTarget"];
    assert_eq!(reservation["capacityReservationID"], "cr-0123456789abcdef0");
    assert_eq!(eks["nodegroups"]["train"]["capacityType"], "CAPACITY_BLOCK");
    // eksctl's own device plugin would conflict with gpuc's.
    assert_eq!(state["objects"], json!({}));
    assert_eq!(
        state["contexts"],
        json!({}),
        "the script changed the user's kubeconfig"
    );
}

#[test]
#[ignore = "needs bash, jq, python3 with PyYAML"]
fn existing_cluster_gets_its_pool() {
    let state = lifecycle::assert_created_once(&EXISTING);
    let groups: Vec<_> = state["eks"]["nodegroups"]
        .as_object()
        .unwrap()
        .keys()
        .collect();
    assert_eq!(groups, ["gpu-a", "infer"]);
    lifecycle::assert_created_once(&EXISTING_NETWORK);
}

const NODE_TEMPLATE_LABEL: &str = "k8s.io/cluster-autoscaler/node-template/label";

static SHARED: ExternalSettings = ExternalSettings {
    case: &RICH,
    removals: &[
        (
            r#"cost center: "ml: a/b", owner: platform"#,
            "owner: platform",
        ),
        (r#"acme.dev/tier: gold, rack: "007""#, "acme.dev/tier: gold"),
        ("- {key: batch, effect: PreferNoSchedule}", ""),
    ],
    add_external: |state| {
        let eks = &mut state["eks"];
        eks["clusters"]["rich"]["tags"]["bill to"] = json!("x");
        let group = &mut eks["nodegroups"]["infer"];
        group["tags"]["bill to"] = json!("x");
        group["tags"][format!("{NODE_TEMPLATE_LABEL}/theirs")] = json!("left");
        group["labels"]["theirs.dev/zone"] = json!("left");
        let taint = json!({"key": "theirs", "value": "x", "effect": "NO_EXECUTE"});
        let taints = group["taints"].as_array().unwrap().iter();
        let taints = taints.filter(|it| **it != taint).cloned();
        group["taints"] = taints.chain([taint.clone()]).collect();
    },
    change_own: |state| {
        let eks = &mut state["eks"];
        eks["clusters"]["rich"]["tags"]["owner"] = json!("nobody");
        let group = &mut eks["nodegroups"]["infer"];
        group["tags"]["gpuc.dev/labels"] = json!("nothing");
        group["tags"][format!("{NODE_TEMPLATE_LABEL}/rack")] = json!("1");
        group["labels"]["rack"] = json!("1");
        group["taints"][0]["value"] = json!("no");
    },
    observed_sets: |state| {
        let eks = &state["eks"];
        let group = &eks["nodegroups"]["infer"];
        let mut taints = group["taints"].as_array().unwrap().clone();
        taints.sort_by_key(|taint| taint["key"].to_string());
        // A missing value is equal to an empty value.
        for taint in &mut taints {
            taint["value"] = json!(taint["value"].as_str().unwrap_or_default());
        }
        let theirs = [
            "alpha.eksctl.io/",
            "eksctl.cluster.k8s.io/",
            "gpuc.dev/machine",
            "gpuc.dev/disk",
            "gpuc.dev/place",
        ];
        let tags = without_keys(&group["tags"], &theirs);
        let of_cluster = [
            "Name",
            "alpha.eksctl.io/",
            "eksctl.cluster.k8s.io/",
            "gpuc.dev/vpc",
            "gpuc.dev/cluster-zones",
        ];
        json!({
            "cluster": without_keys(&eks["clusters"]["rich"]["tags"], &of_cluster),
            "tags": without_keys(&tags, &["k8s.io/"]),
            "picture": without_keys(&tags, &["gpuc", "bill", "owner", "cost"]),
            "labels": without_keys(&group["labels"], &["alpha.eksctl.io/"]),
            "taints": taints,
        })
    },
    retention_messages: &[
        "EKS cluster rich: tags: not managed by gpuc, kept: bill to\n",
        "EKS node group infer: tags: not managed by gpuc, kept: bill to\n",
        "EKS node group infer: labels: not managed by gpuc, kept: theirs.dev/zone\n",
        "EKS node group infer: taints: not managed by gpuc, kept: theirs:NO_EXECUTE\n",
        "not managed by gpuc, kept: k8s.io/cluster-autoscaler/node-template/label/theirs\n",
    ],
};

#[test]
#[ignore = "needs bash, jq, python3 with PyYAML"]
fn external_settings_are_unchanged() {
    let theirs = json!({"key": "theirs", "value": "x", "effect": "NO_EXECUTE"});
    let gpu = json!({"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"});
    let template = "k8s.io/cluster-autoscaler/node-template";
    let picture = |more: &[(&str, &str)]| {
        let always = [
            ("label/acme.dev/tier", "gold"),
            ("label/gpuc.dev/pool", "infer"),
            ("label/k8s.amazonaws.com/accelerator", "a10g-24gb"),
            ("label/theirs", "left"),
            ("resources/nvidia.com/gpu", "4"),
            ("taint/nvidia.com/gpu", "present:NoSchedule"),
        ];
        let all = always.iter().chain(more);
        let all = all.map(|(key, value)| (format!("{template}/{key}"), json!(value)));
        Value::Object(all.collect())
    };
    let planted = json!({
        "cluster": {
            "gpuc.dev/cluster": "rich",
            "cost center": "ml: a/b", "owner": "platform", "gpuc.dev/tags": "cost=_center owner", "bill to": "x",
        },
        "tags": {
            "cost center": "ml: a/b", "owner": "platform", "gpuc.dev/tags": "cost=_center owner", "bill to": "x",
            "gpuc.dev/labels": "acme.dev/tier k8s.amazonaws.com/accelerator rack",
            "gpuc.dev/taints": "batch:PREFER_NO_SCHEDULE nvidia.com/gpu:NO_SCHEDULE",
            "gpuc.dev/template": "label/acme.dev/tier label/k8s.amazonaws.com/accelerator label/rack \
                                  resources/nvidia.com/gpu taint/batch taint/nvidia.com/gpu",
        },
        "picture": picture(&[("label/rack", "007"), ("taint/batch", ":PreferNoSchedule")]),
        "labels": {
            "acme.dev/tier": "gold", "gpuc.dev/pool": "infer", "k8s.amazonaws.com/accelerator": "a10g-24gb",
            "rack": "007", "theirs.dev/zone": "left",
        },
        "taints": [{"key": "batch", "value": "", "effect": "PREFER_NO_SCHEDULE"}, gpu, theirs],
    });
    let left = json!({
        "cluster": {"gpuc.dev/cluster": "rich", "owner": "platform", "gpuc.dev/tags": "owner", "bill to": "x"},
        "tags": {
            "owner": "platform", "gpuc.dev/tags": "owner", "bill to": "x",
            "gpuc.dev/labels": "acme.dev/tier k8s.amazonaws.com/accelerator",
            "gpuc.dev/taints": "nvidia.com/gpu:NO_SCHEDULE",
            "gpuc.dev/template": "label/acme.dev/tier label/k8s.amazonaws.com/accelerator \
                                  resources/nvidia.com/gpu taint/nvidia.com/gpu",
        },
        "picture": picture(&[]),
        "labels": {
            "acme.dev/tier": "gold", "gpuc.dev/pool": "infer", "k8s.amazonaws.com/accelerator": "a10g-24gb",
            "theirs.dev/zone": "left",
        },
        "taints": [gpu, theirs],
    });
    external_settings::assert_external_settings_are_kept(&SHARED, &planted, &left);
}

#[test]
#[ignore = "needs bash, jq, python3 with PyYAML"]
fn drift_is_corrected() {
    lifecycle::assert_all_fields_are_tested(&[&RICH, &EXISTING, &EXISTING_NETWORK, &KARPENTER]);
    lifecycle::assert_drift_is_corrected(&RICH);
}

#[test]
#[ignore = "needs bash, jq, python3 with PyYAML"]
fn drift_in_an_existing_cluster_is_corrected() {
    lifecycle::assert_drift_is_corrected(&EXISTING);
    lifecycle::assert_drift_is_corrected(&EXISTING_NETWORK);
}

#[test]
#[ignore = "needs bash, jq, python3 with PyYAML"]
fn wrong_account_is_unchanged() {
    lifecycle::assert_identity_is_checked(&RICH);
    lifecycle::assert_outage_is_not_absence(&RICH);
}

#[test]
#[ignore = "needs bash, jq, python3 with PyYAML"]
fn everything_is_read_before_changes() {
    lifecycle::assert_reads_before_changes(&RICH);
}

#[test]
#[ignore = "needs bash, jq, python3 with PyYAML"]
fn interrupted_scripts_can_be_rerun() {
    lifecycle::assert_resumable(&RICH);
}

#[test]
#[ignore = "needs bash, jq, python3 with PyYAML"]
fn teardown_deletes_what_was_created() {
    lifecycle::assert_teardown(&RICH);
    lifecycle::assert_teardown(&EXISTING);
}

/// Karpenter's machines are in no node group. Teardown terminates them after the deletion of Karpenter's stack and
/// before the cluster.
#[test]
#[ignore = "needs bash, jq, python3 with PyYAML"]
fn teardown_deletes_karpenter_nodes() {
    let environment = KARPENTER.environment_after_first_run();
    let mut state = environment.state();
    let machine = |cluster: &str, pool: &str| {
        let owner = format!("kubernetes.io/cluster/{cluster}");
        json!({"state": "running", "tags": {
            owner: "owned", "karpenter.sh/nodepool": pool, "gpuc.dev/cluster": cluster,
        }})
    };
    let mut other_installation = machine("karp", "infer");
    let tags = other_installation["tags"].as_object_mut().unwrap();
    tags.remove("gpuc.dev/cluster");
    state["eks"]["instances"] = json!({
        "i-1": machine("karp", "infer"), "i-2": machine("karp", "infer"),
        "i-3": machine("karp", "other"), "i-4": machine("another", "infer"),
        "i-5": other_installation,
    });
    environment.set_state(&state);
    let run = environment
        .run("teardown.sh", &["--yes", "karp"])
        .expect_success();
    let changes: Vec<_> = run.mutating_calls().into_iter().collect();
    let steps: Vec<_> = changes
        .iter()
        .map(|call| call.words[..3].join(" "))
        .collect();
    let expected = [
        "aws cloudformation delete-stack",
        "aws ec2 terminate-instances",
        "eksctl delete nodegroup",
        "eksctl delete cluster",
    ];
    assert_eq!(steps, expected, "{}", run.stderr);
    let left = &environment.state()["eks"]["instances"];
    for (name, state) in [
        ("i-1", "terminated"),
        ("i-2", "terminated"),
        ("i-3", "running"),
        ("i-4", "running"),
        ("i-5", "running"),
    ] {
        assert_eq!(left[name]["state"], state, "{name}");
    }
    let again = environment.run("teardown.sh", &["--yes", "karp"]);
    again.expect_success().expect_no_changes();
}

#[test]
#[ignore = "needs bash, jq, python3 with PyYAML"]
fn karpenter_stack_is_created_once_and_drift_is_corrected() {
    let state = lifecycle::assert_created_once(&KARPENTER);
    let groups = state["eks"]["nodegroups"].as_object().unwrap();
    assert_eq!(groups.keys().collect::<Vec<_>>(), ["system"]);
    let template = &state["eks"]["stacks"]["karpenter-karp"]["_template"];
    assert_eq!(
        template["Resources"]["Queue"]["Properties"]["QueueName"],
        "karpenter-karp"
    );
    lifecycle::assert_drift_is_corrected(&KARPENTER);
    lifecycle::assert_outage_is_not_absence(&KARPENTER);
    hostile::assert_hostile_texts_are_safe(&KARPENTER, None);
}

#[test]
#[ignore = "needs bash, jq, python3 with PyYAML"]
fn health_is_verified() {
    verify::assert_health_is_verified(&RICH);
    verify::assert_health_is_verified(&EXISTING);
}

#[test]
#[ignore = "needs bash, jq, python3 with PyYAML"]
fn hostile_texts_are_rejected_or_passed_through() {
    hostile::assert_hostile_texts_are_safe(&RICH, None);
    hostile::assert_hostile_texts_are_safe(&EXISTING, Some("cloud"));
    hostile::assert_hostile_texts_are_safe(&EXISTING_NETWORK, Some("cloud"));
}
