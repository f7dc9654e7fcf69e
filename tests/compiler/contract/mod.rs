//! `cloud/contract.json`, and `gpuc check --against`: pools compared with the node pools of Terraform.
//!
//! The outputs of `terraform show -json` have the form that the providers write: attributes that are known only after
//! `terraform apply` are missing in a plan, and numbers of GKE are per zone.

mod all;
mod clouds;

use std::io::Write;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::cli::Workspace;
use crate::support::{Outcome, compile_text};

/// A file with an existing cluster and this pool.
fn file(cloud: &str, pool: &str) -> String {
    let cloud = match cloud {
        "eks" => {
            r#"aws: {account: "123456789012", region: us-east-1, cluster: {existing: {name: batch}}}"#
        }
        "gke" => {
            "gcp: {project: acme-ml-prod, location: us-central1, cluster: {existing: {name: batch}}}"
        }
        "aks" => {
            "azure: {subscription: 00000000-1111-2222-3333-444444444444, resourceGroup: ml, location: eastus, cluster: \
             {existing: {name: batch}}}"
        }
        other => panic!("unknown cloud {other}"),
    };
    format!(
        "apiVersion: gpuc.dev/v1alpha1\nkind: GpuCluster\nmetadata: {{name: demo}}\nkubernetes: {{version: \"1.36\"}}\n\
         cloud: {{{cloud}}}\nstack: {{runtimeImage: \"registry.example.com/gpuc-runtime:0.1.0\"}}\nnodePools:\n  - {pool}\n"
    )
}

/// The output for a plan with one resource in a module.
fn plan(address: &str, kind: &str, values: &Value) -> String {
    let resource = json!({
        "address": address, "mode": "managed", "type": kind, "name": "this", "index": 0,
        "provider_name": "registry.terraform.io/hashicorp/aws", "schema_version": 0, "values": values,
        "sensitive_values": {},
    });
    let module = json!({"address": "module.a", "resources": [resource]});
    json!({
        "format_version": "1.2", "terraform_version": "1.9.8",
        "planned_values": {"root_module": {"child_modules": [module]}},
        "resource_changes": [], "configuration": {},
    })
    .to_string()
}

fn compare(file: &str, terraform: &str) -> (Outcome, gpuc_contract::Compared) {
    let mut outcome = compile_text(file);
    assert_eq!(outcome.codes(), [""; 0], "{}", outcome.text());
    let compared = outcome.add_terraform(terraform);
    (outcome, compared)
}

/// A node group as terraform-aws-modules/eks plans it: with a launch template, and a prefix instead of a name.
fn eks_group() -> Value {
    json!({
        "cluster_name": "batch", "node_group_name_prefix": "gpu-", "ami_type": "AL2023_x86_64_NVIDIA",
        "instance_types": ["g5.xlarge"], "labels": {"team": "vision"}, "launch_template": [{"version": "1"}],
        "scaling_config": [{"desired_size": 1, "max_size": 4, "min_size": 1}], "subnet_ids": ["subnet-1", "subnet-2"],
        "taint": [{"effect": "NO_SCHEDULE", "key": "nvidia.com/gpu", "value": "true"}], "remote_access": [],
        "timeouts": null, "update_config": [{"max_unavailable": null, "max_unavailable_percentage": 33}],
    })
}

const EKS_POOL: &str = "{name: gpu, machine: g5.xlarge, nodes: {min: 1, max: 4}, existing: {selector: {team: vision}}, \
                        taints: [{key: nvidia.com/gpu, value: \"true\", effect: NoSchedule}]}";

fn eks_plan(values: &Value) -> String {
    plan(
        "module.eks.module.eks_managed_node_group[\"gpu\"].aws_eks_node_group.this[0]",
        "aws_eks_node_group",
        values,
    )
}

#[test]
fn node_group_of_a_module_matches() {
    let (outcome, compared) = compare(&file("eks", EKS_POOL), &eks_plan(&eks_group()));
    assert_eq!(outcome.codes(), [""; 0], "{}", outcome.text());
    assert_eq!((compared.matched, compared.unknown.len()), (1, 0));
}

#[test]
fn every_difference_of_a_node_group_is_found() {
    let cases: &[(&str, Value, &str)] = &[
        ("labels", json!({"team": "speech"}), "GPUC5001"),
        ("labels", Value::Null, "GPUC5001"),
        ("taint", json!([]), "GPUC5003"),
        (
            "taint",
            json!([
                {"effect": "NO_SCHEDULE", "key": "nvidia.com/gpu", "value": "true"},
                {"effect": "NO_EXECUTE", "key": "team", "value": "vision"},
            ]),
            "GPUC5003",
        ),
        ("instance_types", json!(["g5.2xlarge"]), "GPUC5004"),
        (
            "scaling_config",
            json!([{"desired_size": 1, "max_size": 3, "min_size": 1}]),
            "GPUC5005",
        ),
        (
            "scaling_config",
            json!([{"desired_size": 1, "max_size": 4, "min_size": 0}]),
            "GPUC5005",
        ),
        ("ami_type", json!("AL2023_x86_64_STANDARD"), "GPUC5007"),
        ("ami_type", json!("BOTTLEROCKET_x86_64"), "GPUC5007"),
        // The cluster of another configuration.
        ("cluster_name", json!("other"), "GPUC5001"),
    ];
    for (key, value, code) in cases {
        let mut values = eks_group();
        values[*key] = value.clone();
        let (outcome, _) = compare(&file("eks", EKS_POOL), &eks_plan(&values));
        assert_eq!(
            outcome.codes().first(),
            Some(code),
            "{key}: {value}\n{}",
            outcome.text()
        );
    }
}

#[test]
fn taints_that_only_prefer_are_allowed() {
    let mut values = eks_group();
    let soft = json!({"effect": "PREFER_NO_SCHEDULE", "key": "old", "value": null});
    values["taint"].as_array_mut().unwrap().push(soft);
    let (outcome, _) = compare(&file("eks", EKS_POOL), &eks_plan(&values));
    assert_eq!(outcome.codes(), [""; 0], "{}", outcome.text());
}

#[test]
fn values_that_are_not_known_are_named_and_not_compared() {
    let mut values = eks_group();
    for key in ["taint", "instance_types", "scaling_config"] {
        values.as_object_mut().unwrap().remove(key);
    }
    let (outcome, compared) = compare(&file("eks", EKS_POOL), &eks_plan(&values));
    assert_eq!(outcome.codes(), [""; 0], "{}", outcome.text());
    let names: Vec<_> = compared
        .unknown
        .iter()
        .map(|it| it.rsplit(": ").next().unwrap())
        .collect();
    let expected = [
        "instance_types",
        "scaling_config.max_size",
        "scaling_config.min_size",
        "taint",
    ];
    assert_eq!(names, expected);
}

#[test]
fn unknown_labels_are_no_missing_labels() {
    let mut values = eks_group();
    values.as_object_mut().unwrap().remove("labels");
    let (outcome, compared) = compare(&file("eks", EKS_POOL), &eks_plan(&values));
    assert_eq!(outcome.codes(), [""; 0], "{}", outcome.text());
    assert_eq!((compared.matched, compared.unknown.len()), (0, 1));
}

/// In a state, the name is complete, and it still has a random suffix.
#[test]
fn random_names_are_found_in_states() {
    let pool = "{name: gpu, machine: g5.xlarge, nodes: {min: 1, max: 4}, existing: {selector: \
                {eks.amazonaws.com/nodegroup: gpu}}}";
    let mut values = eks_group();
    values["node_group_name"] = "gpu-20261129071500000000000001".into();
    values["taint"] = json!([]);
    let state = eks_plan(&values).replace("planned_values", "values");
    let (outcome, _) = compare(&file("eks", pool), &state);
    assert_eq!(outcome.codes(), ["GPUC5008"], "{}", outcome.text());
}

/// The output for a plan with these resources: address, type, values.
fn plan_of(resources: &[(&str, &str, Value)]) -> String {
    let resources: Vec<Value> = (resources.iter())
        .map(|(address, kind, values)| {
            json!({"address": address, "mode": "managed", "type": kind, "values": values})
        })
        .collect();
    json!({"format_version": "1.2", "planned_values": {"root_module": {"resources": resources}}})
        .to_string()
}

fn codes_of(file: &str, terraform: &str) -> (Vec<&'static str>, gpuc_contract::Compared) {
    let (outcome, compared) = compare(file, terraform);
    (outcome.codes(), compared)
}

/// The node pools of another cluster are not compared, even if it has the same name.
#[test]
fn node_pools_of_other_clusters_are_ignored() {
    let file = file("eks", EKS_POOL);
    let mut here = eks_group();
    here["region"] = "us-east-1".into();
    let mut other = eks_group();
    other["region"] = "eu-west-1".into();
    other["scaling_config"] = json!([{"max_size": 9, "min_size": 0}]);
    let gke =
        json!({"name": "gpu", "cluster": "batch", "node_config": [{"labels": {"team": "vision"}}]});
    let kind = "aws_eks_node_group";
    let plan = plan_of(&[
        ("aws_eks_node_group.here", kind, here),
        ("aws_eks_node_group.other", kind, other),
        (
            "google_container_node_pool.gpu",
            "google_container_node_pool",
            gke,
        ),
    ]);
    let (codes, compared) = codes_of(&file, &plan);
    assert_eq!((codes, compared.matched), (vec![], 1));
}

/// In the first plan of two clusters, the names of their clusters are unknown: the modules show which is which.
#[test]
fn clusters_are_found_by_their_modules() {
    let group = |max: u64| {
        let mut group = eks_group();
        group.as_object_mut().unwrap().remove("cluster_name");
        group["scaling_config"] = json!([{"max_size": max, "min_size": 1}]);
        group
    };
    let (cluster, kind) = ("aws_eks_cluster", "aws_eks_node_group");
    let plan = plan_of(&[
        (
            "module.prod.aws_eks_cluster.this[0]",
            cluster,
            json!({"name": "batch", "version": "1.36"}),
        ),
        (
            "module.prod.module.group[\"gpu\"].aws_eks_node_group.this[0]",
            kind,
            group(4),
        ),
        (
            "module.staging.aws_eks_cluster.this[0]",
            cluster,
            json!({"name": "other", "version": "1.33"}),
        ),
        (
            "module.staging.module.group[\"gpu\"].aws_eks_node_group.this[0]",
            kind,
            group(1),
        ),
    ]);
    let (codes, compared) = codes_of(&file("eks", EKS_POOL), &plan);
    assert_eq!((codes, compared.matched), (vec![], 1));

    // Side by side in one module, nothing shows which is which.
    let plan = plan_of(&[
        ("aws_eks_cluster.a", cluster, json!({"name": "batch"})),
        ("aws_eks_cluster.b", cluster, json!({"name": "other"})),
        ("aws_eks_node_group.a", kind, group(4)),
        ("aws_eks_node_group.b", kind, group(1)),
    ]);
    let (_, compared) = codes_of(&file("eks", EKS_POOL), &plan);
    assert_eq!(
        compared.unknown,
        [
            "aws_eks_node_group.a: cluster",
            "aws_eks_node_group.b: cluster"
        ]
    );
}

/// A label of a map whose value is known only after the apply is missing in the planned values.
#[test]
fn labels_with_unknown_values_are_not_missing() {
    let mut values = eks_group();
    values["labels"] = json!({"other": "x"});
    let mut plan: Value = serde_json::from_str(&eks_plan(&values)).unwrap();
    let address = plan
        .pointer("/planned_values/root_module/child_modules/0/resources/0/address")
        .unwrap()
        .clone();
    plan["resource_changes"] =
        json!([{"address": address, "change": {"after_unknown": {"labels": {"team": true}}}}]);
    let (codes, compared) = codes_of(&file("eks", EKS_POOL), &plan.to_string());
    assert_eq!(codes, [""; 0]);
    assert!(
        compared.unknown[0].ends_with(": labels"),
        "{:?}",
        compared.unknown
    );
}

#[test]
fn labels_of_the_cloud_are_not_missing() {
    let pool = EKS_POOL.replace(
        "{team: vision}",
        "{team: vision, kubernetes.io/arch: amd64, nvidia.com/gpu.present: \"true\"}",
    );
    let (codes, compared) = codes_of(&file("eks", &pool), &eks_plan(&eks_group()));
    assert_eq!((codes, compared.matched), (vec![], 1));
}

#[test]
fn startup_taints_and_alike_machines_are_allowed() {
    let mut values = eks_group();
    let taints = values["taint"].as_array_mut().unwrap();
    taints.push(
        json!({"effect": "NO_EXECUTE", "key": "node.cilium.io/agent-not-ready", "value": "true"}),
    );
    // g5.xlarge and g5.2xlarge have one A10G.
    values["instance_types"] = json!(["g5.2xlarge", "g5.xlarge"]);
    let (codes, _) = codes_of(&file("eks", EKS_POOL), &eks_plan(&values));
    assert_eq!(codes, [""; 0]);
    values["instance_types"] = json!(["g5.12xlarge", "g5.xlarge"]);
    let (codes, _) = codes_of(&file("eks", EKS_POOL), &eks_plan(&values));
    assert_eq!(codes, ["GPUC5004"]);
}

/// A taint with another value is one difference.
#[test]
fn a_changed_taint_is_one_finding() {
    let mut values = eks_group();
    values["taint"] = json!([{"effect": "NO_SCHEDULE", "key": "nvidia.com/gpu", "value": null}]);
    let (codes, _) = codes_of(&file("eks", EKS_POOL), &eks_plan(&values));
    assert_eq!(codes, ["GPUC5003"]);
}

#[test]
fn a_plan_and_a_state_of_one_resource_count_once() {
    let mut declared = gpuc_contract::terraform::read(&eks_plan(&eks_group())).unwrap();
    let state = eks_plan(&eks_group()).replace("planned_values", "values");
    declared.merge(gpuc_contract::terraform::read(&state).unwrap());
    assert_eq!(declared.pools.len(), 1);
    let deposed = eks_plan(&eks_group()).replace(
        "\"mode\":\"managed\"",
        "\"mode\":\"managed\",\"deposed_key\":\"0a\"",
    );
    assert_eq!(
        gpuc_contract::terraform::read(&deposed)
            .unwrap()
            .pools
            .len(),
        0
    );
}

#[test]
fn the_command_line_reads_files_and_standard_input() {
    let place = Workspace::with(&file("eks", EKS_POOL));
    place.write("plan.json", &eks_plan(&eks_group()));
    let run = |args: &[&str]| place.run(args);
    let good = run(&["check", "--against", "plan.json"]);
    assert_eq!(good.code, 0, "{}", good.stderr);
    let said = format!("{}{}", good.stdout, good.stderr);
    assert!(
        said.contains("1 cluster and 1 node pool checked: no problems found"),
        "{said}"
    );

    let input = eks_plan(&eks_group()).replace("g5.xlarge", "g5.2xlarge");
    let mut command = place.command(&["check", "--against", "-"]);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(input.as_bytes())
        .unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let said = [output.stdout, output.stderr].concat();
    assert!(String::from_utf8(said).unwrap().contains("GPUC5004"));

    place.write("empty.json", "");
    place.write("binary.bin", "\u{0}PK");
    place.write(
        "state.json",
        r#"{"version": 4, "lineage": "a", "resources": []}"#,
    );
    for (name, reason) in [
        ("empty.json", "it is empty"),
        ("binary.bin", "invalid JSON"),
        ("state.json", "it is a state file"),
    ] {
        let refused = run(&["check", "--against", name]);
        assert_eq!(refused.code, 2, "{name}");
        assert!(
            refused.stderr.contains(reason),
            "{name}: {}",
            refused.stderr
        );
    }
    let missing = run(&["check", "--against", "nothing.json"]);
    assert_ne!(missing.code, 0);
    assert!(
        missing.stderr.contains("cannot read nothing.json"),
        "{}",
        missing.stderr
    );
    let alone = run(&["check", "--cluster", "demo"]);
    assert_eq!(alone.code, 2);
    assert!(alone.stderr.contains("--against"), "{}", alone.stderr);
}

#[test]
fn a_cluster_that_both_create_is_reported() {
    let created = file(
        "eks",
        "{name: system, machine: m7i.xlarge, nodes: {count: 2}}",
    )
    .replace("{existing: {name: batch}}", "{create: {}}");
    let cluster = |name: &str| {
        let values = json!({"name": name, "version": "1.36", "region": "us-east-1"});
        plan_of(&[("aws_eks_cluster.this", "aws_eks_cluster", values)])
    };
    assert_eq!(codes_of(&created, &cluster("demo")).0, ["GPUC5010"]);
    assert_eq!(codes_of(&created, &cluster("other")).0, [""; 0]);
}

#[test]
fn hosts_are_not_compared_with_terraform() {
    let place = Workspace::with(crate::cli::GOOD);
    place.write("plan.json", &plan_of(&[]));
    let refused = place.run(&["check", "--against", "plan.json"]);
    assert_eq!(refused.code, 2);
    assert!(
        refused.stderr.contains("contract.json"),
        "{}",
        refused.stderr
    );
}
