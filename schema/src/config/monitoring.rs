//! `monitoring`: metrics, alerts and dashboards.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::AlertName;
use crate::Spanned;

/// Metrics, alerts and dashboards.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Monitoring {
    /// Where GPU metrics come from. Where gpuc-runtime advertises the GPUs, its own metrics, those of the plugin, are
    /// scraped in any case.
    #[serde(default)]
    pub exporter: Spanned<Exporter>,
    /// When somebody is told.
    #[serde(default)]
    pub alerts: Alerts,
    /// Grafana dashboards, as ConfigMaps that its sidecar picks up: of the fleet, of a pool, of a node and of a
    /// namespace.
    #[serde(default)]
    pub dashboards: Spanned<bool>,
    /// The Prometheus that scrapes the metrics and knows the alerts. Either one is a Prometheus Operator, whose objects
    /// gpuc writes.
    pub prometheus: Spanned<Prometheus>,
}

/// Where GPU metrics come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Exporter {
    /// NVIDIA's dcgm-exporter, by its Helm chart; by the GPU Operator where that installs the driver or the plugin.
    #[default]
    Dcgm,
    /// gpuc-runtime itself, on pools that have `devicePlugin: gpuc`. It knows everything but how busy a MIG slice is,
    /// so that pools whose GPUs are all cut have no `GpuIdle`.
    Gpuc,
}

/// When somebody is told.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Alerts {
    /// A GPU hotter than this for 5 minutes, in degrees Celsius; 5 degrees more are critical.
    #[schemars(range(min = 40, max = 120))]
    pub temperature_celsius: Spanned<u32>,
    /// A GPU or slice whose memory is used to more than this part for 10 minutes, in percent.
    #[schemars(range(min = 1, max = 99))]
    pub memory_used_percent: Spanned<u32>,
    /// A GPU that draws more than this for 10 minutes, in watts. Without it nobody is told: what is much depends on the
    /// card.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 5000), extend("examples" = [690]))]
    pub power_watts: Option<Spanned<u32>>,
    /// A GPU that a pod holds is idle when it is busy for less than this part of the time, in percent.
    #[schemars(range(min = 1, max = 99))]
    pub idle_percent: Spanned<u32>,
    /// A GPU that a pod holds and that is idle for longer than this, in minutes.
    #[schemars(range(min = 10, max = 10080))]
    pub idle_minutes: Spanned<u32>,
    /// More than this many packets a minute that had to be sent again between a GPU and its host, for 15 minutes.
    #[schemars(range(min = 1, max = 100_000))]
    pub pcie_replays_per_minute: Spanned<u32>,
    /// A quota of GPUs that is used to this part or more for 15 minutes, in percent.
    #[schemars(range(min = 1, max = 100))]
    pub quota_used_percent: Spanned<u32>,
    /// Alerts that are not wanted, by name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("examples" = [["GpuIdle"]]))]
    pub disabled: Vec<Spanned<AlertName>>,
}

impl Default for Alerts {
    fn default() -> Self {
        Self {
            temperature_celsius: Spanned::unwritten(85),
            memory_used_percent: Spanned::unwritten(95),
            power_watts: None,
            idle_percent: Spanned::unwritten(5),
            idle_minutes: Spanned::unwritten(60),
            pcie_replays_per_minute: Spanned::unwritten(10),
            quota_used_percent: Spanned::unwritten(90),
            disabled: Vec::new(),
        }
    }
}

/// The Prometheus that scrapes the metrics.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Prometheus {
    /// gpuc installs kube-prometheus-stack: Prometheus, Alertmanager and their operator, and where asked for Grafana.
    Install(InstalledPrometheus),
    /// A Prometheus Operator that is there, with kube-state-metrics, as kube-prometheus-stack installs them.
    Existing(ExistingPrometheus),
}

/// A Prometheus Operator that is there.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExistingPrometheus {
    /// The value of the label `release` that its monitors and rules are picked by: with kube-prometheus-stack, the name
    /// of its Helm release.
    #[schemars(extend("examples" = ["kube-prometheus-stack"]))]
    pub release: Spanned<String>,
}

/// The Prometheus that gpuc installs.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct InstalledPrometheus {
    /// How long metrics are kept, in days.
    #[schemars(range(min = 1, max = 3650))]
    pub retention_days: Spanned<u32>,
    /// A volume for the metrics. Without one they are lost with Prometheus' pod.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub storage: Option<PrometheusStorage>,
    /// Installs Grafana too. `dashboards: true` needs one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grafana: Option<InstalledGrafana>,
}

impl Default for InstalledPrometheus {
    fn default() -> Self {
        Self {
            retention_days: Spanned::unwritten(15),
            storage: None,
            grafana: None,
        }
    }
}

/// A volume for metrics.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PrometheusStorage {
    /// Its size in GiB.
    #[serde(rename = "sizeGiB")]
    #[schemars(range(min = 1, max = 65536))]
    pub size_gib: Spanned<u32>,
    /// Its `StorageClass`. Default: the cluster's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["gp3"]))]
    pub class: Option<Spanned<String>>,
}

/// The Grafana that gpuc installs.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct InstalledGrafana {
    /// A Secret in the namespace `monitoring` with the keys `admin-user` and `admin-password`. gpuc makes up no
    /// password and writes none.
    #[schemars(extend("examples" = ["grafana-admin"]))]
    pub admin_secret: Spanned<String>,
}
