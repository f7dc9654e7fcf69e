//! The contract between a `gpu-cluster.yaml` and those who create its nodes.

use std::collections::BTreeMap;

use gpuc_model::{Cluster, Pool, SetBy};
use gpuc_schema::Span;
use gpuc_schema::config::{Capacity, DriverOwner};
use gpuc_syntax::node::{Entry, Node, Origin, Value};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Serialize;

/// What the nodes of a cluster must be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Contract {
    /// The version of this format.
    pub api_version: &'static str,
    /// `NodeContract`.
    pub kind: &'static str,
    /// The cluster.
    pub cluster: ClusterContract,
    /// The pools, in the order of the file.
    pub pools: Vec<PoolContract>,
}

/// The cluster of the nodes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterContract {
    /// The name in the cloud.
    pub name: String,
    /// The name of the cloud, the provider or the distribution.
    pub provider: String,
    /// The region, or the zone of a zonal cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub location: Option<String>,
    /// The minor version of Kubernetes, such as `1.36`.
    pub kubernetes_version: String,
    /// The creator of the cluster.
    pub created_by: Creator,
}

/// The creator of a cluster or of nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Creator {
    /// The scripts or objects of gpuc: the values are for information.
    Gpuc,
    /// Another tool, which must meet the contract.
    Owner,
}

/// What the nodes of a pool must be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PoolContract {
    /// The name of the pool.
    pub name: String,
    /// The creator of the nodes.
    pub created_by: Creator,
    /// The number of nodes, over all zones.
    pub nodes: NodeCount,
    /// The machine types, if the file determines them. Each node has one of them.
    pub machine_types: Vec<String>,
    /// The GPUs of a node, if it has any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gpus: Option<Gpus>,
    /// The purchase option, if the file determines it: `onDemand`, `spot`, `reservation`, `capacityBlock` or
    /// `flexStart`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capacity: Option<&'static str>,
    /// The zones, if the file determines them.
    pub zones: Vec<String>,
    /// The labels of every node. Those of the cloud follow from the name or the machine type of a group of nodes.
    pub labels: BTreeMap<String, String>,
    /// The taints of every node, without those that the cloud sets by itself. With other taints, the pods of gpuc do
    /// not run there.
    pub taints: Vec<TaintContract>,
    /// Where the driver of the GPUs comes from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub driver: Option<DriverContract>,
    /// The size of the boot disk in GiB, if the file determines it.
    #[serde(rename = "diskGiB", skip_serializing_if = "Option::is_none")]
    pub disk_gib: Option<u32>,
    /// The maximum number of pods on a node, if the file determines it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_pods: Option<u32>,
    /// The tags of the group of nodes.
    pub tags: BTreeMap<String, String>,
    /// The tags of the Auto Scaling group that tell the Cluster Autoscaler the labels, taints and resources of nodes
    /// while the group is empty.
    pub autoscaler_tags: BTreeMap<String, String>,
}

/// A number of nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeCount {
    /// The minimum.
    pub min: u32,
    /// The maximum.
    pub max: u32,
}

/// The GPUs of a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Gpus {
    /// The model, as in `gpuc catalog gpus`.
    pub model: &'static str,
    /// The number on each node.
    pub per_node: u32,
}

/// A taint.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TaintContract {
    /// The key.
    pub key: String,
    /// The value, which may be empty.
    pub value: String,
    /// `NoSchedule`, `PreferNoSchedule` or `NoExecute`.
    pub effect: &'static str,
}

/// Where the driver of a pool comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum DriverContract {
    /// The image or the owner of the nodes: a node has the driver when it joins the cluster.
    Node,
    /// Pods in the cluster: the image must have no driver, and the cloud must not install one.
    Cluster,
}

/// The contract of a cluster without unresolved values.
pub fn contract(cluster: &Cluster) -> Contract {
    let cloud = &cluster.config.cloud;
    let name = cluster.cloud.remote_name(cluster);
    let creator = if cloud.creates_cluster() {
        Creator::Gpuc
    } else {
        Creator::Owner
    };
    Contract {
        api_version: "gpuc.dev/v1alpha1",
        kind: "NodeContract",
        cluster: ClusterContract {
            name: name.unwrap_or(cluster.name.as_str()).to_owned(),
            provider: cluster.cloud.facts().name.to_owned(),
            location: cloud.location().map(|it| it.value.clone()),
            kubernetes_version: cluster.kubernetes.expect_resolved().value.to_string(),
            created_by: creator,
        },
        pools: (cluster.pools.iter())
            .map(|pool| pool_contract(cluster, pool))
            .collect(),
    }
}

fn pool_contract(cluster: &Cluster, pool: &Pool) -> PoolContract {
    let settings = &pool.settings;
    let nodes = pool.nodes.expect_resolved();
    let is_existing = pool.is_existing();
    let creates_machines = cluster.cloud.facts().creates_machines;
    // Most keys about machines have no effect in existing pools, so that the file does not determine them.
    let capacity = &settings.capacity.value;
    let has_capacity =
        creates_machines && (!is_existing || !matches!(capacity, Capacity::OnDemand));
    let gpus = pool.gpus.expect_resolved();
    let tags = settings.tags.iter();
    PoolContract {
        name: pool.name.value.clone(),
        created_by: if is_existing {
            Creator::Owner
        } else {
            Creator::Gpuc
        },
        nodes: NodeCount {
            min: nodes.min,
            max: nodes.max,
        },
        machine_types: pool
            .machine_types()
            .into_iter()
            .map(str::to_owned)
            .collect(),
        gpus: gpus.as_ref().map(|gpus| Gpus {
            model: gpus.model.key,
            per_node: gpus.per_node,
        }),
        capacity: has_capacity.then(|| capacity.key()),
        zones: settings
            .zones
            .iter()
            .map(|zone| zone.value.clone())
            .collect(),
        labels: labels(pool),
        taints: taints(pool),
        driver: driver(pool),
        disk_gib: (creates_machines && !is_existing).then_some(settings.disk_gib.value),
        max_pods: settings.max_pods.as_ref().map(|it| it.value),
        tags: tags
            .map(|(key, value)| (key.value.clone(), value.value.clone()))
            .collect(),
        autoscaler_tags: cluster.cloud.autoscaler_tags(cluster, pool),
    }
}

/// The labels of every node of a pool.
pub(crate) fn labels(pool: &Pool) -> BTreeMap<String, String> {
    let labels = pool.labels.iter().chain(&pool.selector);
    labels
        .map(|label| (label.key.clone(), label.value.clone()))
        .collect()
}

/// The taints of every node of a pool that the cloud does not set by itself.
pub(crate) fn taints(pool: &Pool) -> Vec<TaintContract> {
    let taints = pool.taints.iter();
    let taints = taints.filter(|taint| taint.set_by == SetBy::Gpuc);
    taints
        .map(|taint| TaintContract {
            key: taint.key.clone(),
            value: taint.value.clone(),
            effect: taint.effect.as_str(),
        })
        .collect()
}

fn driver(pool: &Pool) -> Option<DriverContract> {
    pool.has_gpus().then(|| match pool.driver.value {
        DriverOwner::Preinstalled | DriverOwner::Host => DriverContract::Node,
        DriverOwner::Operator | DriverOwner::DaemonSet => DriverContract::Cluster,
    })
}

/// The JSON Schema of a contract, committed as `schema/contract.schema.json`.
pub fn schema() -> String {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let schema = settings.into_generator().into_root_schema_for::<Contract>();
    let schema = schema.to_value();
    let text = serde_json::to_string_pretty(&schema).expect("a schema is JSON");
    text + "\n"
}

/// The contract as a tree, in which every value has its origin.
pub fn tree(cluster: &Cluster) -> Node {
    let contract = contract(cluster);
    let pools = cluster.pools.iter().zip(&contract.pools);
    let pools = pools.map(|(pool, contract)| {
        let inputs = pool_spans(pool);
        let origin = Origin::rule(inputs, "the nodes of a pool must match it");
        Node::from_serializable(contract, origin)
    });
    let location = cluster.config.cloud.location().map(|it| it.span);
    let inputs = [cluster.name.span, cluster.config.kubernetes.version.span];
    let origin = Origin::rule(
        inputs.into_iter().chain(location),
        "the nodes join this cluster",
    );
    let entries = [
        (
            "apiVersion",
            Node::from_serializable(&contract.api_version, Origin::default()),
        ),
        (
            "kind",
            Node::from_serializable(&contract.kind, Origin::default()),
        ),
        (
            "cluster",
            Node::from_serializable(&contract.cluster, origin.clone()),
        ),
        (
            "pools",
            Node {
                value: Value::Sequence(pools.collect()),
                origin: origin.clone(),
            },
        ),
    ];
    let entries = entries.map(|(key, value)| Entry {
        key: key.to_owned(),
        key_span: Span::NONE,
        value,
    });
    Node {
        value: Value::Mapping(entries.into()),
        origin,
    }
}

fn pool_spans(pool: &Pool) -> Vec<Span> {
    let nodes = pool.nodes.expect_resolved();
    let mut spans = vec![pool.name.span, nodes.min_span, nodes.max_span];
    spans.extend(pool.machine_name.iter().map(|it| it.span));
    spans.extend(pool.taints.iter().map(|taint| taint.span));
    spans.extend(pool.settings.existing.iter().map(|it| it.span));
    spans.push(pool.driver.span);
    spans.dedup();
    spans
}
