//! Autoscalers that run in the cluster.

use gpuc_live::state::Kind;

use crate::configs::name_of;
use crate::context::Context;
use crate::json::source;
use crate::karpenter::provisioned;
use crate::pool::Pool;
use crate::report::Report;
use crate::tree::Item;

/// Whether an autoscaler changes the number of nodes.
pub(crate) fn runs(cx: &Context<'_>) -> bool {
    cluster_autoscaler(cx).is_some()
}

/// The evidence of a Cluster Autoscaler: its Deployment, or the status that it writes.
///
/// Source: kubernetes/autoscaler cluster-autoscaler/clusterstate/utils/status.go (`cluster-autoscaler-status`), and the
/// Deployment's names in its chart and its manifests (from memory).
fn cluster_autoscaler(cx: &Context<'_>) -> Option<String> {
    let deployments = cx.state.objects(Kind::Deployment).iter();
    let mut found = deployments.filter(|it| it.metadata.name.contains("cluster-autoscaler"));
    if let Some(deployment) = found.next() {
        return Some(name_of("Deployment", deployment));
    }
    let mut config_maps = cx.state.objects(Kind::ConfigMap).iter();
    let status = config_maps.find(|it| it.metadata.name == "cluster-autoscaler-status")?;
    Some(name_of("ConfigMap", status))
}

/// The key `hasAutoscaler` of an existing cluster of EKS, if node groups that the cloud describes have ranges.
pub(crate) fn of_described_pools(cx: &Context<'_>, pools: &[Pool<'_>]) -> Option<Item> {
    // With Karpenter, gpuc installs it, and the key has no meaning.
    if !provisioned(cx).is_empty() {
        return None;
    }
    if cx.cloud_key() != "aws" || !pools.iter().any(Pool::has_described_range) {
        return None;
    }
    if let Some(at) = cluster_autoscaler(cx) {
        return Some(Item::bool(true).sure(at));
    }
    let reason = "the Deployments are not known, and node groups have ranges";
    Some(Item::bool(true).guess("Deployments", reason))
}

/// Leaves out Karpenter's objects, which gpuc does not take over.
pub(crate) fn report_karpenter(cx: &Context<'_>, report: &mut Report) {
    let provisioned = provisioned(cx);
    for pool in cx.state.objects(Kind::NodePool) {
        if provisioned.iter().any(|it| it.name() == pool.metadata.name) {
            continue;
        }
        let limits = pool.get("/spec/limits");
        let at = source(name_of("NodePool", pool), "spec.limits", limits);
        let reason = "Karpenter manages this NodePool; the file has its nodes as an existing pool, without limits and requirements";
        report.leave_out(Some("autoscaler"), at, reason);
    }
}
