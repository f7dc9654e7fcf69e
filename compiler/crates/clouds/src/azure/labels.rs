//! Labels that AKS sets on nodes.
//!
//! Source, read 2026-11-22: MicrosoftDocs/azure-aks-docs@07fd2900 `articles/aks/use-labels.md`, the reserved labels and
//! the deprecated ones; kubernetes/autoscaler `cluster-autoscaler/cloudprovider/azure/azure_template.go`
//! (it recognizes a node with GPUs by `kubernetes.azure.com/accelerator`).

use gpuc_model::Pool;
use gpuc_model::cloud::CloudLabel;
use gpuc_schema::config::Capacity;

use super::SPOT_KEY;

/// Labels of a pool that gpuc creates.
pub(super) fn automatic_labels(pool: &Pool) -> Vec<CloudLabel> {
    const ACCELERATOR: &str = "kubernetes.azure.com/accelerator";
    // Labels without a domain are deprecated: AKS has announced their removal.
    const DEPRECATED_ACCELERATOR: &str = "accelerator";
    let name = &pool.name.value;
    let mut labels = vec![
        CloudLabel::certain("kubernetes.azure.com/agentpool", name),
        CloudLabel::possible("agentpool", name),
    ];
    let priority = "kubernetes.azure.com/priority";
    match pool.settings.capacity.value {
        Capacity::Spot(_) => labels.extend([
            CloudLabel::certain(SPOT_KEY, "spot"),
            CloudLabel::possible(priority, "spot"),
        ]),
        _ => labels.extend([SPOT_KEY, priority].map(|key| CloudLabel::possible(key, "regular"))),
    }
    match pool.gpus.get() {
        Some(Some(_)) => labels.extend([
            CloudLabel::certain(ACCELERATOR, "nvidia"),
            CloudLabel::possible(DEPRECATED_ACCELERATOR, "nvidia"),
        ]),
        Some(None) => labels.extend([ACCELERATOR, DEPRECATED_ACCELERATOR].map(CloudLabel::absent)),
        None => {}
    }
    labels
}
