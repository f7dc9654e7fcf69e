//! Karpenter on EKS: the pools that it provisions, the values of its chart, and its resources in AWS.
//!
//! A pool with a fixed number of nodes is a managed node group: Karpenter creates a node for pending pods and does not
//! maintain a number of nodes. Karpenter itself must run on nodes that it does not create.

mod drift;
mod node_class;
mod node_pool;
mod policy;
mod stack;

use std::fmt::Write as _;

use gpuc_model::check::Checked;
use gpuc_model::plan::Object;
use gpuc_model::{Cluster, MachineType, Pool};
use gpuc_schema::Span;
use gpuc_schema::config::{Autoscaler, AwsCluster};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::{cluster_name, section};

pub(super) use drift::{PROVISIONER, auto_upgrade};
pub(super) use node_class::ami_family;
pub(super) use node_pool::capacity_type;
pub(super) use stack::{KARPENTER_NODES, STACK, resources, template_file};

/// The component of the objects that Karpenter reads.
const COMPONENT: &str = "karpenter-node-pools";

/// The name prefix of Karpenter's resources in AWS.
const RESOURCE_PREFIX: &str = "karpenter-";

/// The span that selects Karpenter, if gpuc installs it.
pub(super) fn install_span(cluster: &Cluster) -> Option<Span> {
    let is_installed = match &section(&cluster.config).cluster.value {
        AwsCluster::Existing(existing) => existing.has_autoscaler.value,
        AwsCluster::Create(_) => false,
    };
    let is_selected = cluster.autoscaler.value == Autoscaler::Karpenter;
    (is_selected && !is_installed).then_some(cluster.autoscaler.span)
}

/// Whether Karpenter provisions a pool. False if the number of nodes is unresolved.
pub(super) fn provisions(cluster: &Cluster, pool: &Pool) -> bool {
    let has_range = pool.nodes.get().is_some_and(|nodes| !nodes.is_fixed());
    cluster.autoscaler.value == Autoscaler::Karpenter && !pool.is_existing() && has_range
}

/// The pools that Karpenter provisions.
pub(super) fn provisioned_pools(cluster: &Cluster) -> impl Iterator<Item = &Pool> {
    cluster
        .pools
        .iter()
        .filter(|pool| provisions(cluster, pool))
}

/// A machine type with a full GPU that EC2 does not report.
///
/// Source: aws/karpenter-provider-aws#8368, 2025-08-13, open on 2026-11-22: according to Karpenter's authors, it does
/// not support g6f and p5.4xlarge, because `DescribeInstanceTypes` reports no GPU for them.
const UNREPORTED_MACHINE: &str = "p5.4xlarge";

/// The machine type of a pool with GPUs, if EC2 reports no GPU for it.
pub(super) fn machine_without_reported_gpus(pool: &Pool) -> Option<&'static str> {
    let Some(MachineType::Catalog(machine)) = pool.machine.get() else {
        return None;
    };
    let is_unreported = machine.gpus.reported == Some(0) || machine.name == UNREPORTED_MACHINE;
    is_unreported.then_some(machine.name)
}

/// The values of Karpenter's chart.
///
/// Source: aws/karpenter-provider-aws@v1.14.1 charts/karpenter/values.yaml (`settings`), 2026-08-20.
pub(super) fn chart_values(checked: &Checked<'_>) -> Option<(Value, Vec<Span>)> {
    let span = install_span(checked)?;
    let name = cluster_name(&checked.config);
    let settings = json!({
        "clusterName": name.value,
        "interruptionQueue": queue_name(name),
    });
    Some((settings, vec![span, name.span]))
}

/// Karpenter's objects: a `NodePool` and an `EC2NodeClass` for each of its pools.
pub(super) fn objects(checked: &Checked<'_>) -> Vec<Object> {
    let objects = provisioned_pools(checked).flat_map(|pool| {
        [
            node_class::object(checked, pool),
            node_pool::object(checked, pool),
        ]
    });
    objects.collect()
}

/// The queue of interruption events. SQS limits a name to 80 characters.
fn queue_name(cluster: &str) -> String {
    truncate_name(&format!("{RESOURCE_PREFIX}{cluster}"), 80)
}

/// The instance profile of the nodes. IAM limits a name to 128 characters, and is not regional.
fn instance_profile_name(cluster: &str, region: &str) -> String {
    truncate_name(&format!("{RESOURCE_PREFIX}{cluster}-{region}"), 128)
}

/// A name, or its beginning and a digest of the whole name if it is too long.
fn truncate_name(name: &str, max: usize) -> String {
    if name.len() <= max {
        return name.to_owned();
    }
    let digest = &sha256_hex(name)[..8];
    format!("{}-{digest}", &name[..max - digest.len() - 1])
}

/// The SHA-256 digest of a text, as 64 hexadecimal digits.
fn sha256_hex(text: &str) -> String {
    let mut digits = String::new();
    for byte in Sha256::digest(text.as_bytes()) {
        write!(digits, "{byte:02x}").expect("writing to a String cannot fail");
    }
    digits
}

#[cfg(test)]
mod tests {
    use super::super::testing::{HEAD, cluster};
    use super::*;

    #[test]
    fn karpenter_provisions_pools_with_a_range() {
        let (cluster, _) = cluster(&format!(
            "{HEAD}autoscaler: karpenter\nnodePools: [{{name: system, machine: m7i.large, nodes: {{count: 2}}}}, \
             {{name: gpu, machine: g6.xlarge, nodes: {{min: 0, max: 4}}}}, \
             {{name: one, machine: g6.xlarge, nodes: {{min: 1, max: 1}}}}, \
             {{name: old, machine: g6.xlarge, nodes: {{min: 0, max: 4}}, existing: {{selector: {{a: b}}}}}}]"
        ));
        let names: Vec<_> = provisioned_pools(&cluster)
            .map(|pool| pool.name.as_str())
            .collect();
        assert_eq!(names, ["gpu"]);
    }

    #[test]
    fn truncated_names_stay_different() {
        assert_eq!(queue_name("demo"), "karpenter-demo");
        let long = "a".repeat(100);
        let (one, other) = (queue_name(&long), queue_name(&format!("{long}b")));
        assert_eq!((one.len(), other.len()), (80, 80));
        assert_ne!(one, other);
        let longest = instance_profile_name(&long, "ap-southeast-2");
        assert!(longest.ends_with("-ap-southeast-2"));
    }
}
