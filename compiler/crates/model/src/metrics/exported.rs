//! The GPU metrics that the exporters of a cluster have.

use std::collections::BTreeSet;

/// The GPU metrics that the exporters of a cluster have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExportedMetrics {
    /// The names of the metrics of all pools.
    pub names: BTreeSet<String>,
    /// The values of the label `job` of their series.
    pub jobs: BTreeSet<&'static str>,
    /// The lists of metrics that dcgm-exporter reads. Empty if gpuc-runtime measures all GPUs.
    pub lists: Vec<MetricList>,
}

/// A list of metrics of dcgm-exporter, which values of its chart in the file replace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MetricList {
    /// The chart.
    pub chart: &'static str,
    /// The key of the list in the values of the chart.
    pub key: &'static str,
    /// The releases of the chart with different lists.
    pub releases: Vec<String>,
    /// Whether all exporters have the capability `SYS_ADMIN`, which profiling metrics need.
    pub can_profile: bool,
}
