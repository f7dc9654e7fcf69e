//! `monitoring`: metrics, alerts and dashboards.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::AlertName;
use crate::Spanned;

/// Metrics, alerts and dashboards.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Monitoring {
    /// The source of GPU metrics. If gpuc-runtime advertises the GPUs, Prometheus always scrapes gpuc-runtime's own
    /// device plugin metrics too.
    #[serde(default)]
    pub exporter: Spanned<Exporter>,
    /// Alerts and their thresholds.
    #[serde(default)]
    pub alerts: Alerts,
    /// Whether to create Grafana dashboards, as ConfigMaps for Grafana's sidecar: for the fleet, a pool, a node and a
    /// namespace.
    #[serde(default)]
    pub dashboards: Spanned<bool>,
    /// The Prometheus that scrapes the metrics and evaluates the alerts. In both cases gpuc generates objects for the
    /// Prometheus Operator.
    pub prometheus: Spanned<Prometheus>,
}

/// The source of GPU metrics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Exporter {
    /// The NVIDIA DCGM exporter, installed by its Helm chart, or by the GPU Operator if that installs the driver or the
    /// device plugin.
    #[default]
    Dcgm,
    /// gpuc-runtime, on pools with `devicePlugin: gpuc`. It cannot measure the utilization of MIG devices, so the alert
    /// `GpuIdle` is not available on pools where all GPUs are partitioned.
    Gpuc,
}

/// Alerts and their thresholds.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Alerts {
    /// Alert if a GPU is hotter than this for 5 minutes, in degrees Celsius. 5 degrees more are critical.
    #[schemars(range(min = 40, max = 120))]
    pub temperature_celsius: Spanned<u32>,
    /// Alert if a GPU or MIG device uses more than this share of its memory for 10 minutes, in percent.
    #[schemars(range(min = 1, max = 99))]
    pub memory_used_percent: Spanned<u32>,
    /// Alert if a GPU draws more power than this for 10 minutes, in watts. No default, because the limit depends on the
    /// GPU model: if unset, there is no such alert.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 5000), extend("examples" = [690]))]
    pub power_watts: Option<Spanned<u32>>,
    /// An allocated GPU counts as idle if its utilization is lower than this, in percent.
    #[schemars(range(min = 1, max = 99))]
    pub idle_percent: Spanned<u32>,
    /// Alert if an allocated GPU is idle for longer than this, in minutes.
    #[schemars(range(min = 10, max = 10080))]
    pub idle_minutes: Spanned<u32>,
    /// Alert if more than this many PCIe packets per minute are replayed between a GPU and its host, for 15 minutes.
    #[schemars(range(min = 1, max = 100_000))]
    pub pcie_replays_per_minute: Spanned<u32>,
    /// Alert if a GPU quota is used to this percentage or more for 15 minutes.
    #[schemars(range(min = 1, max = 100))]
    pub quota_used_percent: Spanned<u32>,
    /// Alerts to disable, by name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("examples" = [["GpuIdle"]]))]
    pub disabled: Vec<Spanned<AlertName>>,
}

impl Default for Alerts {
    fn default() -> Self {
        Self {
            temperature_celsius: Spanned::without_span(85),
            memory_used_percent: Spanned::without_span(95),
            power_watts: None,
            idle_percent: Spanned::without_span(5),
            idle_minutes: Spanned::without_span(60),
            pcie_replays_per_minute: Spanned::without_span(10),
            quota_used_percent: Spanned::without_span(90),
            disabled: Vec::new(),
        }
    }
}

/// The Prometheus that scrapes the metrics.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Prometheus {
    /// gpuc installs kube-prometheus-stack: Prometheus, Alertmanager, their operator, and optionally Grafana.
    Install(InstalledPrometheus),
    /// An existing Prometheus Operator with kube-state-metrics, as installed by kube-prometheus-stack.
    Existing(ExistingPrometheus),
}

/// An existing Prometheus Operator.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExistingPrometheus {
    /// The value of the label `release` by which Prometheus selects its monitors and rules. With kube-prometheus-stack,
    /// this is the name of the Helm release.
    #[schemars(extend("examples" = ["kube-prometheus-stack"]))]
    pub release: Spanned<String>,
}

/// The Prometheus that gpuc installs.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct InstalledPrometheus {
    /// The retention period of metrics, in days.
    #[schemars(range(min = 1, max = 3650))]
    pub retention_days: Spanned<u32>,
    /// A volume for the metrics. If unset, the metrics are lost when the Prometheus pod is deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub storage: Option<PrometheusStorage>,
    /// Installs Grafana as well. `dashboards: true` requires it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grafana: Option<InstalledGrafana>,
}

impl Default for InstalledPrometheus {
    fn default() -> Self {
        Self {
            retention_days: Spanned::without_span(15),
            storage: None,
            grafana: None,
        }
    }
}

/// A volume for metrics.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PrometheusStorage {
    /// The volume's size in GiB.
    #[serde(rename = "sizeGiB")]
    #[schemars(range(min = 1, max = 65536))]
    pub size_gib: Spanned<u32>,
    /// The volume's `StorageClass`. Default: the cluster's default class.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["gp3"]))]
    pub class: Option<Spanned<String>>,
}

/// The Grafana that gpuc installs.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct InstalledGrafana {
    /// A Secret in the namespace `monitoring` with the keys `admin-user` and `admin-password`. gpuc does not create
    /// passwords.
    #[schemars(extend("examples" = ["grafana-admin"]))]
    pub admin_secret: Spanned<String>,
}
