//! `cloud/contract.json`, and `gpuc check --against`: pools compared with the node pools of Terraform.
//!
//! The outputs of `terraform show -json` have the form that the providers write: attributes that are known only after
//! `terraform apply` are missing in a plan, and numbers of GKE are per zone.

use std::io::Write;
use std::process::Stdio;

use gpuc_model::{Cluster, Pool};
use gpuc_schema::config::CloudSection;
use serde_json::{Map, Value, json};

use crate::cli::Workspace;
use crate::support::examples::{compiled_examples, compiled_rich};
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
        (
            "instance_types",
            json!(["g5.xlarge", "g5.2xlarge"]),
            "GPUC5004",
        ),
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

/// GKE: numbers per zone, and the zones of a region that are not in the configuration.
#[test]
fn numbers_of_gke_are_multiplied_by_the_zones() {
    let pool = "{name: gpu, machine: g2-standard-8, nodes: {min: 2, max: 6}, existing: {selector: \
                {cloud.google.com/gke-nodepool: gpu}}}";
    let values = |zones: Value, scaling: Value| {
        json!({
            "name": "gpu", "cluster": "projects/p/locations/us-central1/clusters/batch", "location": "us-central1",
            "node_locations": zones, "autoscaling": [scaling], "node_count": null,
            "node_config": [{
                "machine_type": "g2-standard-8", "labels": null, "taint": [], "spot": false, "preemptible": false,
                "guest_accelerator": [{"type": "nvidia-l4", "count": 1, "gpu_driver_installation_config":
                    [{"gpu_driver_version": "INSTALLATION_DISABLED"}]}],
            }],
        })
    };
    let two = json!(["us-central1-a", "us-central1-b"]);
    let per_zone = |max: u64| json!({"min_node_count": 1, "max_node_count": max, "total_min_node_count": 0, "total_max_node_count": 0});
    let codes = |zones: &Value, scaling: Value| {
        let kind = "google_container_node_pool";
        let plan = plan(
            "google_container_node_pool.gpu",
            kind,
            &values(zones.clone(), scaling),
        );
        let (outcome, compared) = compare(&file("gke", pool), &plan);
        assert_eq!(compared.matched, 1);
        (outcome.codes(), compared.unknown.len())
    };
    assert_eq!(codes(&two, per_zone(3)), (vec![], 0));
    assert_eq!(codes(&two, per_zone(2)), (vec!["GPUC5005"], 0));
    assert_eq!(codes(&Value::Null, per_zone(3)), (vec![], 2));
    let total = json!({"min_node_count": null, "max_node_count": null, "total_min_node_count": 2, "total_max_node_count": 6});
    assert_eq!(codes(&Value::Null, total), (vec![], 0));
}

#[test]
fn default_node_pool_of_aks_is_a_pool() {
    let pool = "{name: system, machine: Standard_D4s_v5, nodes: {count: 3}, existing: {selector: \
                {kubernetes.azure.com/agentpool: system}}}";
    let cluster = |version: &str, count: u64| {
        let values = json!({
            "name": "batch", "kubernetes_version": version, "default_node_pool": [{
                "name": "system", "vm_size": "Standard_D4s_v5", "auto_scaling_enabled": false, "node_count": count,
                "min_count": null, "max_count": null, "node_labels": null, "zones": null,
            }],
        });
        let plan = plan(
            "azurerm_kubernetes_cluster.batch",
            "azurerm_kubernetes_cluster",
            &values,
        );
        compare(&file("aks", pool), &plan).0.codes()
    };
    assert_eq!(cluster("1.36.2", 3), [""; 0]);
    assert_eq!(cluster("1.36.2", 2), ["GPUC5005"]);
    assert_eq!(cluster("1.35.4", 3), ["GPUC5009"]);
}

/// The node pools of the existing pools of a cluster, as the providers of Terraform describe them.
fn declared(cluster: &Cluster) -> Vec<(String, &'static str, Value)> {
    let pools = cluster.pools.iter().filter(|pool| pool.is_existing());
    let pools = pools.map(|pool| {
        let name = pool_name(pool);
        let mut labels: Map<String, Value> = (pool.selector.iter())
            .map(|label| (label.key.clone(), json!(label.value)))
            .collect();
        // The cloud sets these.
        labels.retain(|key, _| !key.contains("nodegroup") && !key.contains("nodepool") && !key.contains("agentpool"));
        let nodes = pool.nodes.get().unwrap();
        let effect = |text: &str| match text {
            "NoSchedule" => "NO_SCHEDULE",
            "NoExecute" => "NO_EXECUTE",
            _ => "PREFER_NO_SCHEDULE",
        };
        let taints: Vec<Value> = (pool.taints.iter())
            .map(|it| json!({"key": it.key, "value": it.value, "effect": effect(it.effect.as_str())}))
            .collect();
        let machine = pool.machine_types().first().copied().unwrap_or_default();
        let remote = cluster.cloud.remote_name(cluster).unwrap_or_default();
        let (kind, values) = match &cluster.config.cloud.value {
            CloudSection::Aws(_) => ("aws_eks_node_group", json!({
                "node_group_name": name, "node_group_name_prefix": "", "cluster_name": remote, "labels": labels,
                "instance_types": [machine], "taint": taints,
                "scaling_config": [{"min_size": nodes.min, "max_size": nodes.max}],
            })),
            CloudSection::Gcp(_) => ("google_container_node_pool", json!({
                "name": name, "cluster": remote, "location": "us-central1-a",
                "autoscaling": [{"total_min_node_count": nodes.min, "total_max_node_count": nodes.max}],
                "node_config": [{"machine_type": machine, "labels": labels, "taint": taints, "spot": false}],
            })),
            CloudSection::Azure(_) => {
                let taints: Vec<String> = (pool.taints.iter())
                    .map(|it| format!("{}={}:{}", it.key, it.value, it.effect.as_str()))
                    .collect();
                ("azurerm_kubernetes_cluster_node_pool", json!({
                    "name": name, "vm_size": machine, "node_labels": labels, "node_taints": taints,
                    "auto_scaling_enabled": true, "min_count": nodes.min, "max_count": nodes.max,
                    "priority": if pool.settings.capacity.value.key() == "spot" { "Spot" } else { "Regular" },
                }))
            }
            CloudSection::OnPrem(_) | CloudSection::Existing(_) => return None,
        };
        Some((format!("{kind}.{}", pool.name), kind, values))
    });
    pools.flatten().collect()
}

/// The name of a node pool in the cloud: the value of its label in the selector, or the name of the pool.
fn pool_name(pool: &Pool) -> String {
    let mut labels = pool.selector.iter();
    let label = labels.find(|it| {
        ["nodegroup", "nodepool", "agentpool"]
            .iter()
            .any(|end| it.key.ends_with(end))
    });
    label.map_or_else(|| pool.name.value.clone(), |label| label.value.clone())
}

/// Node pools that Terraform would create for the existing pools of all clusters have no differences.
#[test]
fn matching_node_pools_have_no_findings() {
    let mut compared = 0;
    for outcome in compiled_examples().values().chain(compiled_rich().values()) {
        for compilation in &outcome.compilations {
            let cluster = compilation.cluster.as_ref().unwrap();
            let pools = declared(cluster);
            if pools.is_empty() {
                continue;
            }
            let resources: Vec<Value> = (pools.iter())
                .map(|(address, kind, values)| {
                    json!({"address": address, "mode": "managed", "type": kind, "values": values})
                })
                .collect();
            let plan = json!({"format_version": "1.2", "planned_values": {"root_module": {"resources": resources}}});
            let declared = gpuc_contract::terraform::read(&plan.to_string()).unwrap();
            let mut report = gpuc_syntax::diag::Report::default();
            let result = gpuc_contract::compare(cluster, &declared, &mut report);
            let found: Vec<_> = report
                .diagnostics()
                .iter()
                .map(|it| it.message.clone())
                .collect();
            assert_eq!(found, [""; 0], "{}", cluster.name);
            assert_eq!(result.matched, pools.len(), "{}", cluster.name);
            compared += pools.len();
        }
    }
    assert!(compared >= 4, "{compared} pools");
}

/// The contract is valid JSON with every pool, its labels and its taints.
#[test]
fn contracts_describe_all_pools() {
    for (name, outcome) in compiled_examples().iter().chain(compiled_rich()) {
        let files = outcome.files();
        let contracts = files
            .iter()
            .filter(|(path, _)| path.ends_with("/cloud/contract.json"));
        let contracts: Vec<Value> = contracts
            .map(|(_, text)| serde_json::from_str(text).unwrap())
            .collect();
        assert_eq!(contracts.len(), outcome.compilations.len(), "{name}");
        for contract in contracts {
            let mut compilations = outcome.compilations.iter();
            let cluster = compilations.find_map(|it| {
                let cluster = it.cluster.as_ref().unwrap();
                let remote = cluster
                    .cloud
                    .remote_name(cluster)
                    .unwrap_or(cluster.name.as_str());
                (contract["cluster"]["name"] == remote).then_some(cluster)
            });
            let cluster = cluster.unwrap_or_else(|| panic!("{name}: {}", contract["cluster"]));
            let pools = contract["pools"].as_array().unwrap();
            assert_eq!(pools.len(), cluster.pools.len(), "{name}");
            for (pool, described) in cluster.pools.iter().zip(pools) {
                assert_eq!(described["name"], pool.name.as_str());
                let labels = described["labels"].as_object().unwrap();
                assert!(
                    pool.selector.iter().all(|it| labels[&it.key] == it.value),
                    "{name}"
                );
                let by_gpuc = pool
                    .taints
                    .iter()
                    .filter(|it| it.set_by == gpuc_model::SetBy::Gpuc);
                assert_eq!(
                    described["taints"].as_array().unwrap().len(),
                    by_gpuc.count(),
                    "{name}"
                );
            }
        }
    }
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
