//! Node pools in the output of `terraform show -json`, of a plan or of a state. OpenTofu prints the same format.
//!
//! A value that is known only after `terraform apply` is missing in `planned_values`; an unset value is null.
//!
//! Source: <https://developer.hashicorp.com/terraform/internals/json-format>, read 2026-11-29.

mod aws;
mod azure;
mod gcp;
mod values;

use std::collections::BTreeMap;

use serde_json::Value;

use crate::contract::TaintContract;
use values::Values;

/// A value; `None` if it is known only after `terraform apply`, or if another resource sets it.
pub type Known<T> = Option<T>;

/// The clusters and node pools of a configuration.
#[derive(Clone, Debug, Default)]
pub struct Declared {
    /// The clusters.
    pub clusters: Vec<DeclaredCluster>,
    /// The node pools.
    pub pools: Vec<DeclaredPool>,
    /// Addresses of resources that can create nodes, and that are not read.
    pub unread: Vec<String>,
}

/// A cluster.
#[derive(Clone, Debug)]
pub struct DeclaredCluster {
    /// The address in the configuration, such as `module.eks.aws_eks_cluster.this[0]`.
    pub address: String,
    /// The name.
    pub name: Known<String>,
    /// The version of Kubernetes, which can have a patch version.
    pub version: Known<String>,
}

/// A node pool.
#[derive(Clone, Debug)]
pub struct DeclaredPool {
    /// The address in the configuration.
    pub address: String,
    /// The type of the resource, such as `aws_eks_node_group`.
    pub resource_type: &'static str,
    /// The name.
    pub name: Known<String>,
    /// The prefix of a name to which the provider adds a random suffix.
    pub name_prefix: Option<String>,
    /// The name of the cluster.
    pub cluster: Known<String>,
    /// The labels of the configuration.
    pub labels: Known<BTreeMap<String, String>>,
    /// Labels that the cloud sets by itself.
    pub cloud_labels: BTreeMap<String, String>,
    /// The taints.
    pub taints: Known<Vec<TaintContract>>,
    /// The machine types.
    pub machine_types: Known<Vec<String>>,
    /// The minimum number of nodes, over all zones.
    pub min: Known<u64>,
    /// The maximum number of nodes, over all zones.
    pub max: Known<u64>,
    /// The purchase option: `onDemand`, `spot` or `capacityBlock`.
    pub capacity: Known<&'static str>,
    /// Whether the cloud taints Spot machines.
    pub taints_spot: bool,
    /// Whether the nodes have a driver, with the attribute that determines it.
    pub driver: Known<(bool, &'static str)>,
    /// The number of attached GPUs of a node, where it does not follow from the machine type.
    pub gpus_per_node: Known<u64>,
    /// The names of the attributes, for messages.
    pub attributes: Attributes,
}

/// The attributes of a resource that a user would edit.
#[derive(Clone, Copy, Debug)]
pub struct Attributes {
    /// The labels.
    pub labels: &'static str,
    /// The taints.
    pub taints: &'static str,
    /// The machine types.
    pub machine_types: &'static str,
    /// The minimum.
    pub min: &'static str,
    /// The maximum.
    pub max: &'static str,
    /// The purchase option.
    pub capacity: &'static str,
    /// The number of GPUs.
    pub gpus_per_node: &'static str,
}

/// A resource of the configuration.
struct Resource<'v> {
    address: &'v str,
    kind: &'v str,
    values: Values<'v>,
}

/// Reads the output of `terraform show -json`.
///
/// # Errors
///
/// Returns the reason if the text is not such an output.
pub fn read(text: &str) -> Result<Declared, String> {
    let root: Value =
        serde_json::from_str(text).map_err(|error| format!("invalid JSON: {error}"))?;
    if root.get("format_version").and_then(Value::as_str).is_none() {
        return Err(describe_other(&root).to_owned());
    }
    // A plan has the planned values; a state has the values.
    let module = (root.pointer("/planned_values/root_module"))
        .or_else(|| root.pointer("/values/root_module"));
    let mut resources = Vec::new();
    if let Some(module) = module {
        collect(module, &mut resources);
    }
    let mut declared = Declared::default();
    for resource in &resources {
        let is_read = aws::read(resource, &mut declared)
            || gcp::read(resource, &mut declared)
            || azure::read(resource, &mut declared);
        if !is_read && CREATE_NODES.contains(&resource.kind) {
            declared.unread.push(resource.address.to_owned());
        }
    }
    Ok(declared)
}

/// Resources that can create nodes, and whose labels and taints are in scripts or in other formats.
const CREATE_NODES: &[&str] = &[
    "aws_autoscaling_group",
    "aws_eks_fargate_profile",
    "azapi_resource",
    "azurerm_linux_virtual_machine_scale_set",
    "azurerm_orchestrated_virtual_machine_scale_set",
    "google_compute_instance_group_manager",
    "kubectl_manifest",
    "kubernetes_manifest",
];

/// What a JSON file is, if it is not the output of `terraform show -json`.
fn describe_other(root: &Value) -> &'static str {
    if root.get("lineage").is_some() && root.get("resources").is_some() {
        "it is a state file; run `terraform show -json` in its folder"
    } else if root.get("@level").is_some() || root.get("@message").is_some() {
        "it is the log of `terraform plan -json`; run `terraform plan -out=plan.bin` and `terraform show -json plan.bin`"
    } else {
        "it has no `format_version`"
    }
}

/// The managed resources of a module and of the modules in it.
fn collect<'v>(module: &'v Value, resources: &mut Vec<Resource<'v>>) {
    let list = |key: &str| module.get(key).and_then(Value::as_array);
    for resource in list("resources").into_iter().flatten() {
        let text = |key: &str| resource.get(key).and_then(Value::as_str);
        let (Some(address), Some(kind), Some(values)) =
            (text("address"), text("type"), resource.get("values"))
        else {
            continue;
        };
        if text("mode") == Some("managed") {
            resources.push(Resource {
                address,
                kind,
                values: Values(values),
            });
        }
    }
    for child in list("child_modules").into_iter().flatten() {
        collect(child, resources);
    }
}

/// The name at the end of an ID, such as `projects/p/locations/l/clusters/NAME`.
fn last_part(id: &str) -> String {
    id.rsplit('/').next().unwrap_or(id).to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn other_files_are_refused_with_what_they_are() {
        let reason = |value: &Value| read(&value.to_string()).unwrap_err();
        let state = json!({"version": 4, "lineage": "a", "resources": []});
        assert!(reason(&state).starts_with("it is a state file"));
        let log = json!({"@level": "info", "@message": "Plan: 1 to add"});
        assert!(reason(&log).contains("terraform plan -json"));
        assert_eq!(reason(&json!({"a": 1})), "it has no `format_version`");
        assert!(read("{").unwrap_err().starts_with("invalid JSON"));
    }

    #[test]
    fn modules_are_read_at_every_depth_and_data_sources_are_not() {
        let group = |mode: &str, address: &str| {
            json!({"address": address, "mode": mode, "type": "aws_eks_node_group",
                "values": {"node_group_name": "gpu", "cluster_name": "c"}})
        };
        let inner =
            json!({"resources": [group("managed", "module.a.module.b.aws_eks_node_group.this")]});
        let outer = json!({"child_modules": [inner], "resources": [group("data", "data.aws_eks_node_group.other")]});
        let plan = json!({"format_version": "1.2", "planned_values": {"root_module": {"child_modules": [outer]}}});
        let declared = read(&plan.to_string()).unwrap();
        let addresses: Vec<_> = declared
            .pools
            .iter()
            .map(|it| it.address.as_str())
            .collect();
        assert_eq!(addresses, ["module.a.module.b.aws_eks_node_group.this"]);
    }

    #[test]
    fn an_empty_state_has_no_pools() {
        let declared = read(r#"{"format_version": "1.0"}"#).unwrap();
        assert!(declared.pools.is_empty() && declared.clusters.is_empty());
    }
}
