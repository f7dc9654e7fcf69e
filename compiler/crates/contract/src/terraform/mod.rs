//! Node pools in the output of `terraform show -json`, of a plan or of a state. OpenTofu prints the same format.
//!
//! A value that is known only after `terraform apply` is missing in `planned_values`; an unset value is null.
//!
//! Source: <https://developer.hashicorp.com/terraform/internals/json-format>, read 2026-11-29.

mod aws;
mod azure;
mod gcp;
mod values;

use std::collections::{BTreeMap, BTreeSet};

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
    /// The key of the cloud in the file.
    pub cloud: &'static str,
    /// The name.
    pub name: Known<String>,
    /// Where the cluster is.
    pub place: Place,
    /// The number of zones in which nodes run, unless their pool names others.
    pub zones: Known<u64>,
    /// The version of Kubernetes, which can have a patch version.
    pub version: Known<String>,
}

/// Where a cluster is, as far as a resource shows it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The region or zone.
    pub location: Known<String>,
    /// The project of Google Cloud, or the subscription and the resource group of Azure, in small letters.
    pub scope: Known<String>,
}

/// A node pool.
#[derive(Clone, Debug)]
pub struct DeclaredPool {
    /// The address in the configuration.
    pub address: String,
    /// The key of the cloud in the file.
    pub cloud: &'static str,
    /// Where its cluster is.
    pub place: Place,
    /// Whether several clusters can be its own.
    pub is_ambiguous: bool,
    /// The name.
    pub name: Known<String>,
    /// The prefix of a name to which the provider adds a random suffix.
    pub name_prefix: Option<String>,
    /// The name of the cluster.
    pub cluster: Known<String>,
    /// The labels of the configuration.
    pub labels: Known<BTreeMap<String, String>>,
    /// The keys of labels whose values are known only after `terraform apply`.
    pub unknown_labels: BTreeSet<String>,
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
    /// The type of the attached GPUs; `None` inside if the configuration attaches none.
    pub accelerator: Known<Option<String>>,
    /// The number of nodes in a zone, minimum and maximum, if the number of zones is that of the cluster.
    pub per_zone: Option<(u64, u64)>,
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
    /// What is known only after `terraform apply`, in the form of the values, with `true` at each such value.
    unknown: Option<&'v Value>,
}

impl Resource<'_> {
    /// The keys of a map with values that are not known.
    fn unknown_keys(&self, pointer: &str) -> BTreeSet<String> {
        let map = self.unknown.and_then(|it| it.pointer(pointer));
        let entries = map.and_then(Value::as_object).into_iter().flatten();
        entries
            .filter(|(_, is_unknown)| **is_unknown == Value::Bool(true))
            .map(|(key, _)| key.clone())
            .collect()
    }
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
    let changes = root.get("resource_changes").and_then(Value::as_array);
    let changes = changes.into_iter().flatten().filter_map(|change| {
        let unknown = change.pointer("/change/after_unknown")?;
        Some((change.get("address")?.as_str()?, unknown))
    });
    let unknown: BTreeMap<&str, &Value> = changes.collect();
    let mut resources = Vec::new();
    if let Some(module) = module {
        collect(module, &unknown, &mut resources);
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
fn collect<'v>(
    module: &'v Value,
    unknown: &BTreeMap<&str, &'v Value>,
    resources: &mut Vec<Resource<'v>>,
) {
    let list = |key: &str| module.get(key).and_then(Value::as_array);
    for resource in list("resources").into_iter().flatten() {
        let text = |key: &str| resource.get(key).and_then(Value::as_str);
        let (Some(address), Some(kind), Some(values)) =
            (text("address"), text("type"), resource.get("values"))
        else {
            continue;
        };
        // A deposed object is the old one of a replacement.
        if text("mode") == Some("managed") && text("deposed_key").is_none() {
            resources.push(Resource {
                address,
                kind,
                values: Values(values),
                unknown: unknown.get(address).copied(),
            });
        }
    }
    for child in list("child_modules").into_iter().flatten() {
        collect(child, unknown, resources);
    }
}

impl Declared {
    /// Adds what another file has. A resource that both have, such as a plan and a state, counts once.
    pub fn merge(&mut self, other: Self) {
        let is_new = |addresses: &BTreeSet<String>, address: &str| !addresses.contains(address);
        let addresses: BTreeSet<_> = self.clusters.iter().map(|it| it.address.clone()).collect();
        let clusters = other.clusters.into_iter();
        self.clusters
            .extend(clusters.filter(|it| is_new(&addresses, &it.address)));
        let addresses: BTreeSet<_> = self.pools.iter().map(|it| it.address.clone()).collect();
        let pools = other.pools.into_iter();
        self.pools
            .extend(pools.filter(|it| is_new(&addresses, &it.address)));
        self.unread.extend(other.unread);
    }

    /// The same, with node pools that are completed from their clusters: a name that is known only after `terraform
    /// apply`, and the number of zones. The cluster of a pool is in the same module, or in one that contains it.
    pub(crate) fn related(&self) -> Self {
        let mut related = self.clone();
        let clusters = &self.clusters;
        for pool in &mut related.pools {
            let candidates = clusters.iter().filter(|it| it.cloud == pool.cloud);
            let candidates: Vec<_> = match &pool.cluster {
                Some(name) => candidates
                    .filter(|it| it.name.as_ref() == Some(name))
                    .collect(),
                None => candidates.collect(),
            };
            let depth = |cluster: &DeclaredCluster| {
                let module = module_of(&cluster.address);
                pool.address.starts_with(module).then_some(module.len())
            };
            let deepest = candidates.iter().filter_map(|it| depth(it)).max();
            let mut nearest = candidates.iter().filter(|it| depth(it) == deepest);
            let (first, second) = (nearest.next(), nearest.next());
            match (first, second) {
                (Some(cluster), None) => {
                    if pool.cluster.is_none() {
                        pool.cluster.clone_from(&cluster.name);
                    }
                    let place = &cluster.place;
                    pool.place.location = pool
                        .place
                        .location
                        .take()
                        .or_else(|| place.location.clone());
                    pool.place.scope = pool.place.scope.take().or_else(|| place.scope.clone());
                    if let (Some((min, max)), Some(zones)) = (pool.per_zone, cluster.zones) {
                        pool.min = pool.min.or(Some(min * zones));
                        pool.max = pool.max.or(Some(max * zones));
                    }
                }
                (Some(_), Some(_)) => pool.is_ambiguous = pool.cluster.is_none(),
                (None, _) => {}
            }
        }
        related
    }
}

/// The part of an address before the type of the resource: `module.eks.`, or nothing for the root module.
fn module_of(address: &str) -> &str {
    let types = ["aws_", "google_", "azurerm_"];
    let at = types.iter().filter_map(|it| address.find(it)).min();
    at.map_or("", |at| &address[..at])
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
