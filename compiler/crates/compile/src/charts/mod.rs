//! Helm charts: one file each.

mod cluster_autoscaler;
pub(crate) mod dcgm_exporter;
mod dra_driver_nvidia_gpu;
mod efa_device_plugin;
mod gpu_operator;
pub mod images;
mod jobset;
mod jupyterhub;
mod karpenter;
pub mod keys;
pub(crate) mod kube_prometheus_stack;
mod kubeflow_trainer;
mod kueue;
mod lws;
mod network_operator;
mod node_feature_discovery;
pub(crate) mod nvidia_device_plugin;
mod plugin_config;
pub mod read_once;
#[cfg(test)]
pub(crate) mod testing;

use gpuc_model::Pool;
use gpuc_model::check::Checked;
use gpuc_model::plan::{Chart, Release};
use gpuc_schema::config::{ChartSettings, Task};
use gpuc_syntax::node::{Node, Origin};
use gpuc_syntax::source::Span;

pub use cluster_autoscaler::CLUSTER_AUTOSCALER;
pub use dcgm_exporter::DCGM_EXPORTER;
pub use dra_driver_nvidia_gpu::DRA_DRIVER_NVIDIA_GPU;
pub use efa_device_plugin::EFA_DEVICE_PLUGIN;
pub use gpu_operator::GPU_OPERATOR;
pub use gpu_operator::default_driver_version as operator_driver_version;
pub(crate) use gpu_operator::{
    daemon_sets as operator_daemon_sets, driver_pools, objects as driver_objects,
};
pub use jobset::JOBSET;
pub use jupyterhub::JUPYTERHUB;
pub use karpenter::KARPENTER;
pub use kube_prometheus_stack::KUBE_PROMETHEUS_STACK;
pub use kubeflow_trainer::KUBEFLOW_TRAINER;
pub use kueue::KUEUE;
pub(crate) use kueue::queued_groups;
pub use lws::LWS;
pub use network_operator::NETWORK_OPERATOR;
pub use node_feature_discovery::NODE_FEATURE_DISCOVERY;
pub use nvidia_device_plugin::NVIDIA_DEVICE_PLUGIN;

/// Every chart, by name.
pub static CHARTS: &[&Chart] = &[
    &EFA_DEVICE_PLUGIN,
    &CLUSTER_AUTOSCALER,
    &DCGM_EXPORTER,
    &DRA_DRIVER_NVIDIA_GPU,
    &GPU_OPERATOR,
    &JOBSET,
    &JUPYTERHUB,
    &KARPENTER,
    &KUBE_PROMETHEUS_STACK,
    &KUBEFLOW_TRAINER,
    &KUEUE,
    &LWS,
    &NETWORK_OPERATOR,
    &NODE_FEATURE_DISCOVERY,
    &NVIDIA_DEVICE_PLUGIN,
];

/// The chart of this name.
pub fn chart_named(name: &str) -> Option<&'static Chart> {
    CHARTS.iter().find(|chart| chart.name == name).copied()
}

/// The single release of a chart for the whole cluster, named after the chart, if it is required.
fn single_release(
    chart: &'static Chart,
    wanted: Option<Span>,
    values: &serde_json::Value,
) -> Vec<Release> {
    let release = wanted.map(|span| Release {
        name: chart.name.to_owned(),
        chart,
        repository: chart.repository.to_owned(),
        namespace: chart.namespace.to_owned(),
        values: Node::from_serializable(
            values,
            Origin::rule([span], "the file enables this chart"),
        ),
        pools: Vec::new(),
        daemon_sets: Vec::new(),
    });
    release.into_iter().collect()
}

/// The span that requires a chart: below `charts`, or a workload of a kind that it defines.
fn required_by(
    cluster: &Checked<'_>,
    settings: Option<&gpuc_schema::Spanned<ChartSettings>>,
    is_needed: fn(Task<'_>) -> bool,
) -> Option<Span> {
    let workloads = cluster.config.workloads.iter();
    let mut requiring = workloads.filter(|workload| workload.task().is_some_and(is_needed));
    let workload = requiring.next().map(|workload| workload.span);
    settings.map(|it| it.span).or(workload)
}

/// The tolerations of a pod that runs on all of these pools, without duplicates.
pub(crate) fn union_of_tolerations<'p>(
    pools: impl IntoIterator<Item = &'p Pool>,
) -> Vec<k8s_openapi::api::core::v1::Toleration> {
    let mut all = Vec::new();
    for toleration in pools.into_iter().flat_map(gpuc_model::derive::tolerations) {
        if !all.contains(&toleration) {
            all.push(toleration);
        }
    }
    all
}

/// The node affinity for the nodes of these pools, by labels that their nodes have from the start.
pub(crate) fn node_affinity<'p>(pools: impl IntoIterator<Item = &'p Pool>) -> serde_json::Value {
    let terms = pools.into_iter().map(|pool| {
        let labels = pool.selector.iter();
        let expressions = labels.map(|label| {
            serde_json::json!({"key": label.key, "operator": "In", "values": [label.value]})
        });
        serde_json::json!({"matchExpressions": expressions.collect::<Vec<_>>()})
    });
    serde_json::json!({
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": terms.collect::<Vec<_>>(),
            }
        }
    })
}

/// Pools without GPUs that always have a node; those without taints if there are any. An autoscaler must not depend on
/// a node that it has to create.
pub(crate) fn system_pools<'c>(cluster: &'c Checked<'_>) -> Vec<&'c Pool> {
    let pools = cluster.pools.iter();
    let pools = pools.filter(|pool| !pool.has_gpus() && pool.nodes.expect_resolved().min > 0);
    let (open, closed): (Vec<_>, Vec<_>) = pools.partition(|pool| pool.tolerations.is_empty());
    if open.is_empty() { closed } else { open }
}
