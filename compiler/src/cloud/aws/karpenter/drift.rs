//! What Karpenter takes for drift that no object of gpuc's shows.

use super::makes;
use crate::model::{Cluster, Pool};
use crate::plan::{Followed, Maker};

/// What makes the nodes of a pool without a fixed number of them.
pub(in super::super) static MAKER: Maker = Maker {
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

/// The image of a pool's nodes is named by an alias, which is another image for another version of the control plane.
pub(in super::super) fn followed(cluster: &Cluster, pool: &Pool) -> Option<Followed> {
    let version = cluster.kubernetes.get()?;
    makes(cluster, pool).then(|| Followed {
        name: "Kubernetes version",
        value: version.value.to_string(),
        rank: version.value.0,
        inputs: vec![version.span],
        up: "once the control plane is newer, Karpenter finds the image for it, takes every node of the old one for \
             drifted, and replaces them one by one without being asked",
        down: "nodes stay as new as the control plane, which does not go back",
        source: "aws/karpenter-provider-aws website/content/en/preview/faq.md (\"How do I upgrade an EKS Cluster with \
                 Karpenter?\") @004a8b4a; https://karpenter.sh/docs/tasks/managing-amis/, read 2026-11-22",
    })
}
