//! Drift that Karpenter detects without a change of gpuc's objects.

use gpuc_model::plan::{AutoUpgrade, NodeProvisioner};
use gpuc_model::{Cluster, Pool};

use super::provisions;

/// The provisioner of the nodes of pools without a fixed number of nodes.
pub(in super::super) static PROVISIONER: NodeProvisioner = NodeProvisioner {
    name: "Karpenter",
    release: "karpenter",
    kinds: &[
        ("NodePool", "nodepools.karpenter.sh"),
        ("EC2NodeClass", "ec2nodeclasses.karpenter.k8s.aws"),
    ],
    label: "karpenter.sh/nodepool",
    source: "karpenter.sh/docs/concepts/disruption (NodePool deletion cascades to its nodes, which are drained first; \
             from memory)",
};

/// The automatic upgrade of a pool's nodes: an alias selects their image by the version of the control plane.
pub(in super::super) fn auto_upgrade(cluster: &Cluster, pool: &Pool) -> Option<AutoUpgrade> {
    let version = cluster.kubernetes.get()?;
    provisions(cluster, pool).then(|| AutoUpgrade {
        name: "Kubernetes version",
        value: version.value.to_string(),
        rank: version.value.0,
        inputs: vec![version.span],
        upgrade_effect: "after the control plane is upgraded, Karpenter selects the new image, treats every node with the old image \
             as drifted, and replaces the nodes one by one automatically",
        downgrade_effect: "nodes keep the version of the control plane, which is not downgraded",
        source: "aws/karpenter-provider-aws website/content/en/preview/faq.md (\"How do I upgrade an EKS Cluster with \
                 Karpenter?\") @004a8b4a; https://karpenter.sh/docs/tasks/managing-amis/, read 2026-11-22",
    })
}
