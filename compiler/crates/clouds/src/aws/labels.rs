//! The labels that EKS, eksctl and Karpenter set on nodes automatically.
//!
//! Source, read 2026-11-22: docs.aws.amazon.com/eks/latest/userguide/ml-workload-placement.md, which documents which
//! component sets which; aws/karpenter-provider-aws@027ed241 `pkg/providers/instancetype/types.go`
//! (`computeRequirements`); `alpha.eksctl.io/nodegroup-name`: eksctl-io/eksctl `pkg/apis/eksctl.io/v1alpha5/labels.go`
//! (from memory).

use gpuc_model::cloud::CloudLabel;
use gpuc_model::{Cluster, Pool};

use super::node_group::NodeGroup;
use super::{ACCELERATOR_LABEL, karpenter};

/// The prefixes of labels that only nodes created by Karpenter have.
pub(super) const KARPENTER_PREFIXES: &[&str] = &["karpenter.sh/", "karpenter.k8s.aws/"];

const NODE_GROUP_LABEL: &str = "eks.amazonaws.com/nodegroup";
const CAPACITY_TYPE_LABEL: &str = "eks.amazonaws.com/capacityType";

/// The automatic labels of a pool that gpuc creates.
pub(super) fn automatic_labels(cluster: &Cluster, pool: &Pool) -> Vec<CloudLabel> {
    let (Some(_), Some(_)) = (pool.gpus.get(), pool.machine.get()) else {
        return Vec::new();
    };
    let name = &pool.name.value;
    if !karpenter::provisions(cluster, pool) {
        return vec![
            CloudLabel::certain(NODE_GROUP_LABEL, name),
            CloudLabel::certain(
                CAPACITY_TYPE_LABEL,
                NodeGroup::capacity_type_of(pool).as_str(),
            ),
            CloudLabel::possible("alpha.eksctl.io/nodegroup-name", name),
            // If a node has it, gpuc or the file set it.
            CloudLabel::absent(ACCELERATOR_LABEL),
        ];
    }
    let mut labels = vec![
        CloudLabel::absent(NODE_GROUP_LABEL),
        CloudLabel::absent(CAPACITY_TYPE_LABEL),
        CloudLabel::absent("alpha.eksctl.io/nodegroup-name"),
        CloudLabel::absent(ACCELERATOR_LABEL),
        CloudLabel::certain("karpenter.sh/nodepool", name),
        CloudLabel::certain("karpenter.sh/capacity-type", karpenter::capacity_type(pool)),
    ];
    labels.extend(machine_labels(&pool.machine_types()));
    labels.extend(gpu_labels(pool));
    labels
}

/// The labels that follow from the names of the machine types. Each node has those of its own type.
fn machine_labels(machines: &[&str]) -> Vec<CloudLabel> {
    let mut labels: Vec<CloudLabel> = Vec::new();
    for label in machines
        .iter()
        .flat_map(|machine| labels_of_machine(machine))
    {
        match labels.iter_mut().find(|other| other.key == label.key) {
            Some(other) if other.values.contains(&label.values[0]) => {}
            Some(other) => other.values.extend(label.values),
            None => labels.push(label),
        }
    }
    labels
}

fn labels_of_machine(machine: &str) -> Vec<CloudLabel> {
    let Some((family, size)) = machine.split_once('.') else {
        return Vec::new();
    };
    let mut labels = vec![
        CloudLabel::certain("karpenter.k8s.aws/instance-family", family),
        CloudLabel::certain("karpenter.k8s.aws/instance-size", size),
    ];
    let letters = family.find(|c: char| c.is_ascii_digit());
    if let Some((category, rest)) = letters.map(|at| family.split_at(at)) {
        let digits = rest.find(|c: char| !c.is_ascii_digit());
        let generation = &rest[..digits.unwrap_or(rest.len())];
        labels.extend([
            CloudLabel::certain("karpenter.k8s.aws/instance-category", category),
            CloudLabel::certain("karpenter.k8s.aws/instance-generation", generation),
        ]);
    }
    labels
}

/// The labels for the GPUs that EC2 reports; Karpenter sets none for a machine type without reported GPUs.
fn gpu_labels(pool: &Pool) -> Vec<CloudLabel> {
    const NAME: &str = "karpenter.k8s.aws/instance-gpu-name";
    const MANUFACTURER: &str = "karpenter.k8s.aws/instance-gpu-manufacturer";
    const COUNT: &str = "karpenter.k8s.aws/instance-gpu-count";
    match pool.gpus.get() {
        Some(None) => [NAME, MANUFACTURER, COUNT].map(CloudLabel::absent).into(),
        Some(Some(gpus)) if karpenter::machine_without_reported_gpus(pool).is_none() => {
            let mut labels = vec![
                CloudLabel::certain(MANUFACTURER, "nvidia"),
                CloudLabel::certain(COUNT, gpus.reported.to_string()),
            ];
            // EC2 names GPU models by one word, `A10G`. There is no source for its names of models with several words.
            let (model, _) = gpus.model.key.split_once('-').unwrap_or_default();
            if !model.is_empty() && model != "rtx" {
                labels.push(CloudLabel::certain(NAME, model));
            }
            labels
        }
        _ => Vec::new(),
    }
}
