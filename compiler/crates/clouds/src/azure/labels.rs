//! Labels that AKS sets on nodes.
//!
//! Source, read 2026-11-22: MicrosoftDocs/azure-aks-docs@07fd2900 `articles/aks/use-labels.md`, the reserved labels and
//! the deprecated ones; kubernetes/autoscaler `cluster-autoscaler/cloudprovider/azure/azure_template.go`
//! (it recognizes a node with GPUs by `kubernetes.azure.com/accelerator`).

use gpuc_model::Pool;
use gpuc_model::cloud::OwnLabel;
use gpuc_schema::config::Capacity;

use super::SPOT;

/// Labels of a pool that gpuc creates.
pub(super) fn for_pool(pool: &Pool) -> Vec<OwnLabel> {
    const ACCELERATOR: &str = "kubernetes.azure.com/accelerator";
    // Labels without a domain are deprecated: AKS has announced their removal.
    const DEPRECATED_ACCELERATOR: &str = "accelerator";
    let name = &pool.name.value;
    let mut labels = vec![
        OwnLabel::always("kubernetes.azure.com/agentpool", name),
        OwnLabel::perhaps("agentpool", name),
    ];
    let priority = "kubernetes.azure.com/priority";
    match pool.settings.capacity.value {
        Capacity::Spot(_) => labels.extend([
            OwnLabel::always(SPOT, "spot"),
            OwnLabel::perhaps(priority, "spot"),
        ]),
        _ => labels.extend([SPOT, priority].map(|key| OwnLabel::perhaps(key, "regular"))),
    }
    match pool.gpus.get() {
        Some(Some(_)) => labels.extend([
            OwnLabel::always(ACCELERATOR, "nvidia"),
            OwnLabel::perhaps(DEPRECATED_ACCELERATOR, "nvidia"),
        ]),
        Some(None) => labels.extend([ACCELERATOR, DEPRECATED_ACCELERATOR].map(OwnLabel::never)),
        None => {}
    }
    labels
}
