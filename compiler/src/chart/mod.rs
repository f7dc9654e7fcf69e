//! Helm charts: one file each, and what every one of them says of itself.

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
#[cfg(test)]
pub(crate) mod testing;

use gpuc_schema::config::{ChartSettings, Task};

use crate::check::Checked;
use crate::lower;
use crate::model::Pool;
use crate::node::{Node, Origin};
use crate::plan::Release;
use crate::source::Span;

pub use cluster_autoscaler::CLUSTER_AUTOSCALER;
pub use dcgm_exporter::DCGM_EXPORTER;
pub use dra_driver_nvidia_gpu::DRA_DRIVER_NVIDIA_GPU;
pub use efa_device_plugin::EFA_DEVICE_PLUGIN;
pub use gpu_operator::GPU_OPERATOR;
pub(crate) use gpu_operator::{
    daemon_sets as operator_daemon_sets, default_driver_version as operator_driver_version,
    objects as driver_objects,
};
pub use jobset::JOBSET;
pub use jupyterhub::JUPYTERHUB;
pub use karpenter::KARPENTER;
pub use kube_prometheus_stack::KUBE_PROMETHEUS_STACK;
pub use kubeflow_trainer::KUBEFLOW_TRAINER;
pub use kueue::KUEUE;
pub use lws::LWS;
pub use network_operator::NETWORK_OPERATOR;
pub use node_feature_discovery::NODE_FEATURE_DISCOVERY;
pub use nvidia_device_plugin::NVIDIA_DEVICE_PLUGIN;

/// A Helm chart at the version gpuc writes values for.
#[derive(Debug)]
pub struct Chart {
    /// The chart's name.
    pub name: &'static str,
    /// The repository's URL; for `oci://` the folder that holds the chart.
    pub repository: &'static str,
    /// The pinned version, as the repository spells it.
    pub version: &'static str,
    /// The namespace it is installed in.
    pub namespace: &'static str,
    /// What the pods of that namespace may do, by Kubernetes' Pod Security Standards.
    pub pod_security: PodSecurity,
    /// How its kinds come into the cluster.
    pub crds: Crds,
    /// The API groups whose kinds it brings: objects of these come after it.
    pub groups: &'static [&'static str],
    /// Charts that are there before it, where they are installed too, each with the reason.
    pub after: &'static [(&'static str, &'static str)],
    /// The releases of it that a cluster needs, with their values.
    pub releases: fn(&Checked<'_>) -> Vec<Release>,
    /// Where this stands.
    pub source: &'static str,
}

/// What the pods of a namespace may do: <https://kubernetes.io/docs/concepts/security/pod-security-standards/>, read
/// 2026-11-21.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PodSecurity {
    /// Nothing that is known to lead out of a container.
    Restricted,
    /// What most programs ask for.
    Baseline,
    /// Anything: what drivers and device plugins need.
    Privileged,
}

impl PodSecurity {
    /// The word in the namespace's labels.
    pub fn word(self) -> &'static str {
        match self {
            Self::Restricted => "restricted",
            Self::Baseline => "baseline",
            Self::Privileged => "privileged",
        }
    }
}

/// How a chart's kinds come into the cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Crds {
    /// It has none.
    None,
    /// In its folder `crds`: Helm makes them once and never changes them again.
    Folder,
    /// As templates: Helm changes them as it does any object.
    Templates,
}

/// The namespace of Kubernetes' own, which nobody makes.
pub const KUBE_SYSTEM: &str = "kube-system";

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
pub fn of(name: &str) -> Option<&'static Chart> {
    CHARTS.iter().find(|chart| chart.name == name).copied()
}

impl Chart {
    /// Whether Helm leaves its kinds as they once were, so that something else must bring them up to date.
    pub fn needs_kinds_updated(&self) -> bool {
        self.crds == Crds::Folder
    }

    /// Whether with it come kinds, of which others may make objects.
    pub fn brings_kinds(&self) -> bool {
        self.crds != Crds::None
    }
}

/// The one release of a chart that serves the whole cluster, called as the chart is, where something wants it.
fn alone(chart: &'static Chart, wanted: Option<Span>, values: &serde_json::Value) -> Vec<Release> {
    let release = wanted.map(|span| Release {
        name: chart.name.to_owned(),
        chart,
        repository: chart.repository.to_owned(),
        namespace: chart.namespace.to_owned(),
        values: Node::typed(values, Origin::rule([span], "the file asks for this chart")),
        pools: Vec::new(),
        daemon_sets: Vec::new(),
    });
    release.into_iter().collect()
}

/// Where a chart is asked for: below `charts`, or by a workload of a kind that it brings.
fn wanted(
    cluster: &Checked<'_>,
    settings: Option<&gpuc_schema::Spanned<ChartSettings>>,
    is_needed: fn(Task<'_>) -> bool,
) -> Option<Span> {
    let workloads = cluster.written.workloads.iter();
    let mut needs = workloads.filter(|workload| workload.task().is_some_and(is_needed));
    let workload = needs.next().map(|workload| workload.span);
    settings.map(|it| it.span).or(workload)
}

/// What a pod tolerates that runs on all of these pools: each taint once.
pub(crate) fn tolerations<'p>(
    pools: impl IntoIterator<Item = &'p Pool>,
) -> Vec<k8s_openapi::api::core::v1::Toleration> {
    let mut all = Vec::new();
    for toleration in pools.into_iter().flat_map(lower::tolerations) {
        if !all.contains(&toleration) {
            all.push(toleration);
        }
    }
    all
}

/// The node affinity that keeps pods on the nodes of these pools: each of them is told by labels that its nodes have
/// from the start.
pub(crate) fn affinity<'p>(pools: impl IntoIterator<Item = &'p Pool>) -> serde_json::Value {
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

/// Pools without GPUs that always have a node, those that take pods without tolerations if there are any. What adds
/// nodes must not wait for one.
pub(crate) fn system_pools<'c>(cluster: &'c Checked<'_>) -> Vec<&'c Pool> {
    let pools = cluster.pools.iter();
    let pools = pools.filter(|pool| !pool.has_gpus() && pool.nodes.sure().min > 0);
    let (open, closed): (Vec<_>, Vec<_>) = pools.partition(|pool| pool.tolerations.is_empty());
    if open.is_empty() { closed } else { open }
}
