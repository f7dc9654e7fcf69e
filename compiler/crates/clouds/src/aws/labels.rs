//! The labels that EKS, eksctl and Karpenter set on nodes automatically.
//!
//! Source, read 2026-11-22: docs.aws.amazon.com/eks/latest/userguide/ml-workload-placement.md, which documents which
//! component sets which; aws/karpenter-provider-aws@027ed241 `pkg/providers/instancetype/types.go`
//! (`computeRequirements`); `alpha.eksctl.io/nodegroup-name`: eksctl-io/eksctl `pkg/apis/eksctl.io/v1alpha5/labels.go`
//! (from memory).

use gpuc_model::cloud::OwnLabel;
use gpuc_model::{Cluster, MachineType, Pool};

use super::node_group::NodeGroup;
use super::{ACCELERATOR_LABEL, karpenter};

/// The prefixes of labels that only nodes created by Karpenter have.
pub(super) const KARPENTER_PREFIXES: &[&str] = &["karpenter.sh/", "karpenter.k8s.aws/"];

const NODE_GROUP: &str = "eks.amazonaws.com/nodegroup";
const CAPACITY: &str = "eks.amazonaws.com/capacityType";

/// The automatic labels of a pool that gpuc creates.
pub(super) fn automatic_labels(cluster: &Cluster, pool: &Pool) -> Vec<OwnLabel> {
    let (Some(_), Some(machine)) = (pool.gpus.get(), pool.machine.get()) else {
        return Vec::new();
    };
    let name = &pool.name.value;
    if !karpenter::makes(cluster, pool) {
        return vec![
            OwnLabel::always(NODE_GROUP, name),
            OwnLabel::always(CAPACITY, NodeGroup::capacity_of(pool).word()),
            OwnLabel::perhaps("alpha.eksctl.io/nodegroup-name", name),
            // If a node has it, gpuc or the file set it.
            OwnLabel::never(ACCELERATOR_LABEL),
        ];
    }
    let mut labels = vec![
        OwnLabel::never(NODE_GROUP),
        OwnLabel::never(CAPACITY),
        OwnLabel::never("alpha.eksctl.io/nodegroup-name"),
        OwnLabel::never(ACCELERATOR_LABEL),
        OwnLabel::always("karpenter.sh/nodepool", name),
        OwnLabel::always("karpenter.sh/capacity-type", karpenter::capacity(pool)),
    ];
    let machine = match machine {
        MachineType::Catalog(machine) => Some(machine.name),
        _ => pool.machine_name.as_ref().map(|name| name.as_str()),
    };
    if let Some((family, size)) = machine.and_then(|machine| machine.split_once('.')) {
        labels.extend(machine_labels(family, size));
    }
    labels.extend(gpu_labels(pool));
    labels
}

fn machine_labels(family: &str, size: &str) -> Vec<OwnLabel> {
    let mut labels = vec![
        OwnLabel::always("karpenter.k8s.aws/instance-family", family),
        OwnLabel::always("karpenter.k8s.aws/instance-size", size),
    ];
    let letters = family.find(|c: char| c.is_ascii_digit());
    if let Some((category, rest)) = letters.map(|at| family.split_at(at)) {
        let digits = rest.find(|c: char| !c.is_ascii_digit());
        let generation = &rest[..digits.unwrap_or(rest.len())];
        labels.extend([
            OwnLabel::always("karpenter.k8s.aws/instance-category", category),
            OwnLabel::always("karpenter.k8s.aws/instance-generation", generation),
        ]);
    }
    labels
}

/// The labels for the GPUs that EC2 reports; Karpenter sets none for a machine type without reported GPUs.
fn gpu_labels(pool: &Pool) -> Vec<OwnLabel> {
    const NAME: &str = "karpenter.k8s.aws/instance-gpu-name";
    const MANUFACTURER: &str = "karpenter.k8s.aws/instance-gpu-manufacturer";
    const COUNT: &str = "karpenter.k8s.aws/instance-gpu-count";
    match pool.gpus.get() {
        Some(None) => [NAME, MANUFACTURER, COUNT].map(OwnLabel::never).into(),
        Some(Some(gpus)) if karpenter::uncounted(pool).is_none() => {
            let mut labels = vec![
                OwnLabel::always(MANUFACTURER, "nvidia"),
                OwnLabel::always(COUNT, gpus.reported.to_string()),
            ];
            // EC2 names GPU models by one word, `A10G`. There is no source for its names of models with several words.
            let (model, _) = gpus.model.key.split_once('-').unwrap_or_default();
            if !model.is_empty() && model != "rtx" {
                labels.push(OwnLabel::always(NAME, model));
            }
            labels
        }
        _ => Vec::new(),
    }
}
