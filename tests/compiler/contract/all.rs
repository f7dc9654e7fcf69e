//! The contracts of all clusters, and the node pools that meet them.

use gpuc_model::{Cluster, Pool};
use gpuc_schema::config::CloudSection;
use serde_json::{Map, Value, json};

use crate::support::examples::{compiled_examples, compiled_rich};

/// The contract matches its published schema.
#[test]
fn contracts_match_their_schema() {
    let schema: Value = serde_json::from_str(&gpuc_contract::contract::schema()).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let mut seen = 0;
    for (name, outcome) in compiled_examples().iter().chain(compiled_rich()) {
        for (path, text) in outcome.files() {
            if path.ends_with("/cloud/contract.json") {
                let errors: Vec<_> = validator
                    .iter_errors(&serde_json::from_str(&text).unwrap())
                    .map(|it| it.to_string())
                    .collect();
                assert_eq!(errors, [""; 0], "{name}");
                seen += 1;
            }
        }
    }
    assert!(seen > 40, "{seen} contracts");
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
                "name": name, "cluster": remote, "location": cluster.config.cloud.location().unwrap().value,
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
