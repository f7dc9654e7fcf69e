//! The exporter that measures the GPUs of each pool, and the metrics it exports.

use std::collections::BTreeSet;

use gpuc_model::check::Checked;
use gpuc_model::{Cluster, Pool};
use gpuc_schema::config;

use super::metrics::{Exporter, METRICS, Metric};
use super::rules;

/// The exporter that measures the GPUs of a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GpuExporter {
    /// dcgm-exporter, in a Helm release of its own.
    Dcgm,
    /// dcgm-exporter as deployed by the GPU Operator.
    Operator,
    /// gpuc-runtime.
    Runtime,
}

/// The job of dcgm-exporter's targets.
pub(super) const DCGM_JOB: &str = "dcgm-exporter";

/// The job of gpuc-runtime's targets.
pub(super) const RUNTIME_JOB: &str = "gpuc-runtime";

impl GpuExporter {
    /// The job of the exporter's targets.
    pub(super) fn scrape_job(self) -> &'static str {
        match self {
            Self::Dcgm | Self::Operator => DCGM_JOB,
            Self::Runtime => RUNTIME_JOB,
        }
    }
}

/// The exporter that measures a pool's GPUs; `None` without monitoring or without GPUs.
///
/// If the GPU Operator installs a pool's driver or plugin, its exporter is used: a second one would duplicate every
/// series.
pub(crate) fn gpu_exporter(cluster: &Cluster, pool: &Pool) -> Option<GpuExporter> {
    let monitoring = cluster.config.monitoring.as_ref()?;
    if !pool.has_gpus() {
        return None;
    }
    Some(match monitoring.exporter.value {
        config::Exporter::Gpuc => GpuExporter::Runtime,
        config::Exporter::Dcgm if cluster.has_exporter(pool) => GpuExporter::Dcgm,
        config::Exporter::Dcgm => GpuExporter::Operator,
    })
}

/// Whether gpuc-runtime measures GPUs on a pool: not in addition to dcgm-exporter, where every sum would count them
/// twice.
pub(crate) fn runtime_measures_gpus(cluster: &Cluster, pool: &Pool) -> bool {
    matches!(
        gpu_exporter(cluster, pool),
        None | Some(GpuExporter::Runtime)
    )
}

/// Whether the exporter reports the utilization of a pool's GPUs. NVML has no utilization of MIG devices, nor of GPUs
/// in MIG mode; DCGM's profiling counters have it.
///
/// Source: <https://docs.nvidia.com/deploy/nvml-api/group__nvmlDeviceQueries.html>, `nvmlDeviceGetUtilizationRates`:
/// not supported while a device is in MIG mode (from memory).
pub(super) fn reports_utilization(pool: &Pool, measures: GpuExporter) -> bool {
    measures != GpuExporter::Runtime || !pool.sharing.expect_resolved().partitions_every_gpu()
}

/// The metrics that dcgm-exporter must export for the rules of these pools.
pub(crate) fn dcgm_metrics<'p>(
    cluster: &Checked<'_>,
    pools: impl IntoIterator<Item = &'p Pool>,
) -> Vec<&'static Metric> {
    let read: BTreeSet<_> = pools
        .into_iter()
        .flat_map(|pool| rules::queried_series(cluster, pool))
        .collect();
    METRICS
        .iter()
        .copied()
        .filter(|metric| metric.exporters.contains(&Exporter::Dcgm) && read.contains(metric.name))
        .collect()
}

/// These metrics in dcgm-exporter's format: the chart's `customMetrics`, and the operator's `dcgm-metrics.csv`.
pub(crate) fn metrics_csv(metrics: &[&Metric]) -> String {
    let line = |metric: &&Metric| {
        let kind = metric.kind.as_str();
        // A comma separates columns.
        let help = metric.help.replace(',', ";");
        format!("{}, {kind}, {help}\n", metric.name)
    };
    metrics.iter().map(line).collect()
}
