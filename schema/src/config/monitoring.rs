//! `monitoring`: metrics, alerts and dashboards.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Empty;
use crate::Spanned;

/// Metrics, alerts and dashboards.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Monitoring {
    /// Where GPU metrics come from.
    #[serde(default)]
    pub exporter: Spanned<Exporter>,
    /// When somebody is told.
    #[serde(default)]
    pub alerts: Alerts,
    /// Grafana dashboards, as ConfigMaps that its sidecar picks up.
    #[serde(default)]
    pub dashboards: Spanned<bool>,
    /// The Prometheus that scrapes them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prometheus: Option<Spanned<Prometheus>>,
}

/// Where GPU metrics come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Exporter {
    /// NVIDIA's dcgm-exporter.
    #[default]
    Dcgm,
    /// gpuc-runtime itself.
    Gpuc,
}

/// When somebody is told.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Alerts {
    /// A GPU hotter than this, in degrees Celsius.
    #[schemars(range(min = 40, max = 120))]
    pub temperature_celsius: Spanned<u32>,
    /// A GPU whose memory is used to more than this part, in percent.
    #[schemars(range(min = 1, max = 100))]
    pub memory_used_percent: Spanned<u32>,
}

impl Default for Alerts {
    fn default() -> Self {
        Self {
            temperature_celsius: Spanned::unwritten(85),
            memory_used_percent: Spanned::unwritten(95),
        }
    }
}

/// The Prometheus that scrapes the metrics.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Prometheus {
    /// gpuc installs kube-prometheus-stack.
    Install(Empty),
    /// A Prometheus Operator that is there.
    Existing(ExistingPrometheus),
}

/// A Prometheus Operator that is there.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExistingPrometheus {
    /// The value of the label `release` that its monitors are picked by.
    #[schemars(extend("examples" = ["kube-prometheus-stack"]))]
    pub release: Spanned<String>,
}
