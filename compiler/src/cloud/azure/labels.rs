//! The labels that AKS puts on nodes by itself.
//!
//! Source, read 2026-11-22: MicrosoftDocs/azure-aks-docs@07fd2900 `articles/aks/use-labels.md`, the reserved labels and
//! those of old; kubernetes/autoscaler `cluster-autoscaler/cloudprovider/azure/azure_template.go`
//! (`kubernetes.azure.com/accelerator` is how it knows a node with GPUs).

use gpuc_schema::config::Capacity;

use super::SPOT;
use crate::cloud::OwnLabel;
use crate::model::Pool;

/// The labels of a pool that gpuc makes.
pub(super) fn of(pool: &Pool) -> Vec<OwnLabel> {
    const ACCELERATOR: &str = "kubernetes.azure.com/accelerator";
    // Those without a domain are of old, and AKS says that it will stop to write them.
    const OLD: &str = "accelerator";
    let name = &pool.name.value;
    let mut labels = vec![
        OwnLabel::always("kubernetes.azure.com/agentpool", name),
        OwnLabel::perhaps("agentpool", name),
    ];
    let priority = "kubernetes.azure.com/priority";
    match pool.written.capacity.value {
        Capacity::Spot(_) => labels.extend([
            OwnLabel::always(SPOT, "spot"),
            OwnLabel::perhaps(priority, "spot"),
        ]),
        _ => labels.extend([SPOT, priority].map(|key| OwnLabel::perhaps(key, "regular"))),
    }
    match pool.gpus.get() {
        Some(Some(_)) => labels.extend([
            OwnLabel::always(ACCELERATOR, "nvidia"),
            OwnLabel::perhaps(OLD, "nvidia"),
        ]),
        Some(None) => labels.extend([ACCELERATOR, OLD].map(OwnLabel::never)),
        None => {}
    }
    labels
}
