//! EKS: `aws_eks_cluster` and `aws_eks_node_group`.
//!
//! Source: the schema of `aws_eks_node_group` in hashicorp/terraform-provider-aws, 2026-11-29; the values of `amiType`
//! in the API of EKS, <https://docs.aws.amazon.com/eks/latest/APIReference/API_Nodegroup.html>, from memory.

use std::collections::{BTreeMap, BTreeSet};

use super::{Attributes, Declared, DeclaredCluster, DeclaredPool, Known, Place, Resource, Values};
use crate::contract::TaintContract;

const ATTRIBUTES: Attributes = Attributes {
    labels: "labels",
    taints: "taint",
    machine_types: "instance_types",
    min: "scaling_config.min_size",
    max: "scaling_config.max_size",
    capacity: "capacity_type",
    gpus_per_node: "instance_types",
};

/// Reads a resource of EKS. Returns whether it is one.
pub(super) fn read(resource: &Resource<'_>, declared: &mut Declared) -> bool {
    let values = resource.values;
    match resource.kind {
        "aws_eks_cluster" => declared.clusters.push(DeclaredCluster {
            address: resource.address.to_owned(),
            cloud: "aws",
            name: values.set_text("name").map(str::to_owned),
            place: place(values),
            zones: None,
            version: values.set_text("version").map(str::to_owned),
        }),
        "aws_eks_node_group" => declared.pools.push(DeclaredPool {
            unknown_labels: resource.unknown_keys("/labels"),
            ..node_group(resource.address, values)
        }),
        _ => return false,
    }
    true
}

/// The region: an attribute since release 6 of the provider, and a part of the ARN in a state.
fn place(values: Values<'_>) -> Place {
    let arn = values.set_text("arn").and_then(|arn| arn.split(':').nth(3));
    Place {
        location: values.set_text("region").or(arn).map(str::to_owned),
        scope: None,
    }
}

fn node_group(address: &str, values: Values<'_>) -> DeclaredPool {
    let name = values.set_text("node_group_name").map(str::to_owned);
    let prefix = values.set_text("node_group_name_prefix").map(str::to_owned);
    let machine_types = machine_types(values);
    let scaling = values.block("scaling_config").flatten();
    let size = |key: &str| scaling.and_then(|it| it.number(key));
    let mut cloud_labels = BTreeMap::new();
    let mut add = |key: &str, value: &str| cloud_labels.insert(key.to_owned(), value.to_owned());
    if let Some(name) = &name {
        add("eks.amazonaws.com/nodegroup", name);
    }
    if let Some(Some(capacity)) = values.text("capacity_type") {
        add("eks.amazonaws.com/capacityType", capacity);
    }
    if let Some([machine]) = machine_types.as_deref() {
        add("node.kubernetes.io/instance-type", machine);
    }
    DeclaredPool {
        address: address.to_owned(),
        cloud: "aws",
        place: place(values),
        is_ambiguous: false,
        name,
        name_prefix: prefix,
        cluster: values.set_text("cluster_name").map(str::to_owned),
        labels: values.map("labels"),
        unknown_labels: BTreeSet::new(),
        cloud_labels,
        taints: taints(values),
        machine_types,
        min: size("min_size"),
        max: size("max_size"),
        capacity: capacity(values),
        taints_spot: false,
        driver: driver(values),
        gpus_per_node: None,
        accelerator: None,
        per_zone: None,
        attributes: ATTRIBUTES,
    }
}

/// The machine types. If they are unset, a launch template has the machine type.
fn machine_types(values: Values<'_>) -> Known<Vec<String>> {
    values
        .texts("instance_types")
        .filter(|types| !types.is_empty())
}

/// The blocks `taint`, which have the same form on EKS and GKE.
pub(super) fn taints(values: Values<'_>) -> Known<Vec<TaintContract>> {
    let taints = values.blocks("taint")?.into_iter();
    taints
        .map(|taint| {
            Some(TaintContract {
                key: taint.set_text("key")?.to_owned(),
                value: taint.text("value")?.unwrap_or_default().to_owned(),
                effect: effect(taint.set_text("effect")?)?,
            })
        })
        .collect()
}

/// The effect of a taint, as the APIs of EKS and GKE spell it.
fn effect(text: &str) -> Option<&'static str> {
    match text {
        "NO_SCHEDULE" => Some("NoSchedule"),
        "PREFER_NO_SCHEDULE" => Some("PreferNoSchedule"),
        "NO_EXECUTE" => Some("NoExecute"),
        _ => None,
    }
}

fn capacity(values: Values<'_>) -> Known<&'static str> {
    match values.text("capacity_type")? {
        Some("SPOT") => Some("spot"),
        Some("CAPACITY_BLOCK") => Some("capacityBlock"),
        Some("ON_DEMAND") => Some("onDemand"),
        // Without a value, a launch template can have market options.
        Some(_) | None => None,
    }
}

/// Whether the image has a driver. A type that is unset follows from the machine type, or is in a launch template.
fn driver(values: Values<'_>) -> Known<(bool, &'static str)> {
    let image = values.set_text("ami_type")?;
    let has_driver = image.contains("NVIDIA") || image == "AL2_x86_64_GPU";
    let is_known = has_driver
        || image.ends_with("_STANDARD")
        || [
            "AL2_x86_64",
            "AL2_ARM_64",
            "BOTTLEROCKET_x86_64",
            "BOTTLEROCKET_ARM_64",
        ]
        .contains(&image);
    is_known.then_some((has_driver, "ami_type"))
}
