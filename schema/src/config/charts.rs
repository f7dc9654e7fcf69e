//! `charts`: additional Helm charts, and values for any chart.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Fragment;
use crate::Spanned;

/// Helm charts by name. Naming a standalone chart installs it. For a chart that another key installs, such as the GPU
/// Operator with `stack.driver: operator`, an entry only sets values.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Charts {
    /// The device plugin for EFA interfaces. Installed if gpuc needs it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aws_efa_k8s_device_plugin: Option<Spanned<ChartSettings>>,
    /// The Cluster Autoscaler. Installed if `autoscaler` is `clusterAutoscaler`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster_autoscaler: Option<Spanned<ChartSettings>>,
    /// The NVIDIA DCGM exporter for GPU metrics. Installed if `monitoring.exporter` is `dcgm`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dcgm_exporter: Option<Spanned<ChartSettings>>,
    /// The NVIDIA driver for Dynamic Resource Allocation (DRA). Installed if `stack.allocation` is `dra`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dra_driver_nvidia_gpu: Option<Spanned<ChartSettings>>,
    /// The NVIDIA GPU Operator. Installed if a setting of `stack` requires it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpu_operator: Option<Spanned<ChartSettings>>,
    /// `JobSet`: groups of Jobs that start and end together. Naming this chart installs it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jobset: Option<Spanned<ChartSettings>>,
    /// JupyterHub. Installed if `notebooks` is set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jupyterhub: Option<Spanned<ChartSettings>>,
    /// Karpenter. Installed if `autoscaler` is `karpenter`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub karpenter: Option<Spanned<ChartSettings>>,
    /// Prometheus, Alertmanager and Grafana. Installed if `monitoring.prometheus` is `install`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kube_prometheus_stack: Option<Spanned<ChartSettings>>,
    /// Kubeflow Trainer, which runs `TrainJobs`. Naming this chart installs it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kubeflow_trainer: Option<Spanned<ChartSettings>>,
    /// Kueue, which queues jobs. Naming this chart installs it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kueue: Option<Spanned<ChartSettings>>,
    /// `LeaderWorkerSet`: groups of pods that serve one model on several nodes. Naming this chart installs it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lws: Option<Spanned<ChartSettings>>,
    /// The NVIDIA Network Operator: drivers and device plugins for InfiniBand and RoCE. Naming this chart installs it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network_operator: Option<Spanned<ChartSettings>>,
    /// Node Feature Discovery. Naming this chart installs it; the GPU Operator then does not deploy its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_feature_discovery: Option<Spanned<ChartSettings>>,
    /// The NVIDIA device plugin. Installed if `stack.devicePlugin` is `nvidia`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nvidia_device_plugin: Option<Spanned<ChartSettings>>,
}

/// Overrides of gpuc's settings for a chart.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ChartSettings {
    /// Values that are merged deeply over gpuc's values, with Helm's rules: lists are replaced, and `null` deletes a
    /// key. Every key must exist in the values of the pinned chart version.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub values: Spanned<Fragment>,
}

fn is_empty(values: &Spanned<Fragment>) -> bool {
    values.is_empty()
}

impl Charts {
    /// The charts that are set in the file, by name.
    pub fn configured(&self) -> impl Iterator<Item = (&'static str, &Spanned<ChartSettings>)> {
        let charts = [
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
        charts
            .into_iter()
            .filter_map(|(name, settings)| Some((name, settings.as_ref()?)))
    }

    /// The settings of the chart of this name, if set.
    pub fn get(&self, name: &str) -> Option<&Spanned<ChartSettings>> {
        self.configured()
            .find(|(chart, _)| *chart == name)
            .map(|(_, settings)| settings)
    }

    /// Whether no chart is set.
    pub fn is_empty(&self) -> bool {
        self.configured().next().is_none()
    }
}
