//! Karpenter on EKS: which pools are its own, what it is told of the cluster, and what it needs in AWS.
//!
//! A pool whose number of nodes is fixed stays a managed node group: Karpenter makes a node when a pod waits for one,
//! and keeps no number of them, and it must itself run on a node that it does not make.

mod drift;
mod node_class;
mod node_pool;
mod policy;
mod stack;

use std::fmt::Write as _;

use gpuc_schema::Span;
use gpuc_schema::config::{Autoscaler, AwsCluster};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::{cluster_name, section};
use crate::check::Checked;
use crate::model::{Cluster, MachineType, Pool};
use crate::plan::Object;

pub(super) use drift::{MAKER, followed};
pub(super) use node_class::image;
pub(super) use node_pool::capacity;
pub(super) use stack::{LEFT, STACK, file, resources};

/// The component of the objects that Karpenter reads.
const COMPONENT: &str = "karpenter-node-pools";

/// What begins the names of everything that Karpenter needs in AWS.
const PREFIX: &str = "karpenter-";

/// Where the file asks for Karpenter.
pub(super) fn installed(cluster: &Cluster) -> Option<Span> {
    let there = match &section(&cluster.written).cluster.value {
        AwsCluster::Existing(existing) => existing.has_autoscaler.value,
        AwsCluster::Create(_) => false,
    };
    let wanted = cluster.autoscaler.value == Autoscaler::Karpenter;
    (wanted && !there).then_some(cluster.autoscaler.span)
}

/// Whether Karpenter makes the nodes of a pool. A hole counts as no.
pub(super) fn makes(cluster: &Cluster, pool: &Pool) -> bool {
    let ranges = pool.nodes.get().is_some_and(|nodes| !nodes.is_fixed());
    cluster.autoscaler.value == Autoscaler::Karpenter && !pool.is_existing() && ranges
}

/// The pools whose nodes Karpenter makes.
pub(super) fn pools(cluster: &Cluster) -> impl Iterator<Item = &Pool> {
    cluster.pools.iter().filter(|pool| makes(cluster, pool))
}

/// A machine with a whole GPU of which EC2 told none either.
///
/// Source: aws/karpenter-provider-aws#8368, 2025-08-13, open on 2026-11-22: Karpenter's authors count g6f and
/// p5.4xlarge among the machines that it does not support, because `DescribeInstanceTypes` has no GPU of theirs.
const UNCOUNTED: &str = "p5.4xlarge";

/// The machine of a pool with GPUs, where Karpenter takes it for one without.
pub(super) fn uncounted(pool: &Pool) -> Option<&'static str> {
    let Some(MachineType::Catalog(machine)) = pool.machine.get() else {
        return None;
    };
    let unseen = machine.gpus.reported == Some(0) || machine.name == UNCOUNTED;
    unseen.then_some(machine.name)
}

/// What Karpenter is told of the cluster.
///
/// Source: aws/karpenter-provider-aws@v1.14.1 charts/karpenter/values.yaml (`settings`), 2026-08-20.
pub(super) fn values(checked: &Checked<'_>) -> Option<(Value, Vec<Span>)> {
    let wanted = installed(checked)?;
    let name = cluster_name(&checked.written);
    let settings = json!({
        "clusterName": name.value,
        "interruptionQueue": queue(name),
    });
    Some((settings, vec![wanted, name.span]))
}

/// What Karpenter reads: a `NodePool` and an `EC2NodeClass` for each of its pools.
pub(super) fn objects(checked: &Checked<'_>) -> Vec<Object> {
    let objects = pools(checked).flat_map(|pool| {
        [
            node_class::object(checked, pool),
            node_pool::object(checked, pool),
        ]
    });
    objects.collect()
}

/// The queue that tells Karpenter of machines that AWS takes back. SQS gives a name 80 characters.
fn queue(cluster: &str) -> String {
    fitted(&format!("{PREFIX}{cluster}"), 80)
}

/// The instance profile of the nodes. IAM gives a name 128 characters, and knows no regions.
fn instance_profile(cluster: &str, region: &str) -> String {
    fitted(&format!("{PREFIX}{cluster}-{region}"), 128)
}

/// A name, or its beginning and a digest of all of it where it is too long.
fn fitted(name: &str, max: usize) -> String {
    if name.len() <= max {
        return name.to_owned();
    }
    let digest = &digest(name)[..8];
    format!("{}-{digest}", &name[..max - digest.len() - 1])
}

/// The SHA-256 of a text, as 64 digits.
fn digest(text: &str) -> String {
    let mut digits = String::new();
    for byte in Sha256::digest(text.as_bytes()) {
        write!(digits, "{byte:02x}").expect("a String takes everything");
    }
    digits
}

#[cfg(test)]
mod tests {
    use super::super::testing::{HEAD, cluster};
    use super::*;

    #[test]
    fn pools_with_a_range_are_karpenters() {
        let (cluster, _) = cluster(&format!(
            "{HEAD}autoscaler: karpenter\nnodePools: [{{name: system, machine: m7i.large, nodes: {{count: 2}}}}, \
             {{name: gpu, machine: g6.xlarge, nodes: {{min: 0, max: 4}}}}, \
             {{name: one, machine: g6.xlarge, nodes: {{min: 1, max: 1}}}}, \
             {{name: old, machine: g6.xlarge, nodes: {{min: 0, max: 4}}, existing: {{selector: {{a: b}}}}}}]"
        ));
        let names: Vec<_> = pools(&cluster).map(|pool| pool.name.as_str()).collect();
        assert_eq!(names, ["gpu"]);
    }

    #[test]
    fn names_fit_and_stay_apart() {
        assert_eq!(queue("demo"), "karpenter-demo");
        let long = "a".repeat(100);
        let (one, other) = (queue(&long), queue(&format!("{long}b")));
        assert_eq!((one.len(), other.len()), (80, 80));
        assert_ne!(one, other);
        let longest = instance_profile(&long, "ap-southeast-2");
        assert!(longest.ends_with("-ap-southeast-2"));
    }
}
