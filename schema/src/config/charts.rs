//! `charts`: Helm charts to install beside what the rest of the file asks for, and values for those it does.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Fragment;
use crate::Spanned;

/// Helm charts by name. Naming one that stands on its own installs it; for one that another key asks for, such as the
/// GPU Operator by `stack.driver: operator`, it only adds values.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Charts {
    /// The plugin that offers EFA interfaces, where gpuc installs one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aws_efa_k8s_device_plugin: Option<Spanned<ChartSettings>>,
    /// The Cluster Autoscaler, where `autoscaler` is `clusterAutoscaler`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster_autoscaler: Option<Spanned<ChartSettings>>,
    /// NVIDIA's metrics exporter, where `monitoring.exporter` is `dcgm`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dcgm_exporter: Option<Spanned<ChartSettings>>,
    /// NVIDIA's driver for Dynamic Resource Allocation, where `stack.allocation` is `dra`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dra_driver_nvidia_gpu: Option<Spanned<ChartSettings>>,
    /// The NVIDIA GPU Operator, where `stack` gives it something to do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpu_operator: Option<Spanned<ChartSettings>>,
    /// `JobSet`: groups of Jobs that start and end together. Naming it installs it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jobset: Option<Spanned<ChartSettings>>,
    /// `JupyterHub`, where `notebooks` asks for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jupyterhub: Option<Spanned<ChartSettings>>,
    /// Karpenter, where `autoscaler` is `karpenter`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub karpenter: Option<Spanned<ChartSettings>>,
    /// Prometheus, Alertmanager and Grafana, where `monitoring.prometheus` is `install`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kube_prometheus_stack: Option<Spanned<ChartSettings>>,
    /// Kubeflow's Trainer, which runs `TrainJobs`. Naming it installs it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kubeflow_trainer: Option<Spanned<ChartSettings>>,
    /// Kueue, which queues jobs. Naming it installs it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kueue: Option<Spanned<ChartSettings>>,
    /// `LeaderWorkerSet`: groups of pods that serve one model over several nodes. Naming it installs it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lws: Option<Spanned<ChartSettings>>,
    /// NVIDIA's Network Operator: drivers and plugins for InfiniBand and `RoCE`. Naming it installs it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network_operator: Option<Spanned<ChartSettings>>,
    /// Node Feature Discovery. Naming it installs it; the GPU Operator then brings none of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_feature_discovery: Option<Spanned<ChartSettings>>,
    /// NVIDIA's device plugin, where `stack.devicePlugin` is `nvidia`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nvidia_device_plugin: Option<Spanned<ChartSettings>>,
}

/// What differs from gpuc's own settings of a chart.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ChartSettings {
    /// Values that are merged over gpuc's, deeply, as Helm does it: lists are replaced, `null` takes a key away. Every
    /// key must be one of the pinned chart's.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub values: Spanned<Fragment>,
}

fn is_empty(values: &Spanned<Fragment>) -> bool {
    values.is_empty()
}

impl Charts {
    /// What was written, by the chart's name.
    pub fn written(&self) -> impl Iterator<Item = (&'static str, &Spanned<ChartSettings>)> {
        let all = [
            ("aws-efa-k8s-device-plugin", &self.aws_efa_k8s_device_plugin),
            ("cluster-autoscaler", &self.cluster_autoscaler),
            ("dcgm-exporter", &self.dcgm_exporter),
            ("dra-driver-nvidia-gpu", &self.dra_driver_nvidia_gpu),
            ("gpu-operator", &self.gpu_operator),
            ("jobset", &self.jobset),
            ("jupyterhub", &self.jupyterhub),
            ("karpenter", &self.karpenter),
            ("kube-prometheus-stack", &self.kube_prometheus_stack),
            ("kubeflow-trainer", &self.kubeflow_trainer),
            ("kueue", &self.kueue),
            ("lws", &self.lws),
            ("network-operator", &self.network_operator),
            ("node-feature-discovery", &self.node_feature_discovery),
            ("nvidia-device-plugin", &self.nvidia_device_plugin),
        ];
        let all = all.into_iter();
        all.filter_map(|(name, settings)| Some((name, settings.as_ref()?)))
    }

    /// What was written of the chart of this name.
    pub fn get(&self, name: &str) -> Option<&Spanned<ChartSettings>> {
        self.written()
            .find(|(chart, _)| *chart == name)
            .map(|(_, it)| it)
    }

    /// Whether nothing was written.
    pub fn is_empty(&self) -> bool {
        self.written().next().is_none()
    }
}
