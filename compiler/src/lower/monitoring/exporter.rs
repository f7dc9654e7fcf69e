//! Who measures the GPUs of each pool, and what it is told to measure.

use std::collections::BTreeSet;

use gpuc_schema::config;

use super::metrics::{Exporter, METRICS, Metric};
use super::rules;
use crate::check::Checked;
use crate::model::{Cluster, Pool};

/// Who measures the GPUs of a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Measures {
    /// dcgm-exporter, in a release of its own.
    Dcgm,
    /// dcgm-exporter as the GPU Operator brings it.
    Operator,
    /// gpuc-runtime.
    Runtime,
}

/// The job of the targets that measure GPUs with dcgm-exporter.
pub(super) const DCGM_JOB: &str = "dcgm-exporter";

/// The job of gpuc-runtime's targets.
pub(super) const RUNTIME_JOB: &str = "gpuc-runtime";

impl Measures {
    /// The job of its targets.
    pub(super) fn job(self) -> &'static str {
        match self {
            Self::Dcgm | Self::Operator => DCGM_JOB,
            Self::Runtime => RUNTIME_JOB,
        }
    }
}

/// Who measures a pool's GPUs; nobody where there is no monitoring or the pool has none.
///
/// Where the GPU Operator installs a pool's driver or plugin, it brings the exporter too: its own would stand beside
/// ours otherwise, and each number would come twice.
pub(crate) fn measures(cluster: &Cluster, pool: &Pool) -> Option<Measures> {
    let monitoring = cluster.written.monitoring.as_ref()?;
    if !pool.has_gpus() {
        return None;
    }
    Some(match monitoring.exporter.value {
        config::Exporter::Gpuc => Measures::Runtime,
        config::Exporter::Dcgm if cluster.has_exporter(pool) => Measures::Dcgm,
        config::Exporter::Dcgm => Measures::Operator,
    })
}

/// Whether gpuc-runtime measures GPUs on a pool: not beside dcgm-exporter, where every sum would count them twice.
pub(crate) fn runtime_measures(cluster: &Cluster, pool: &Pool) -> bool {
    matches!(measures(cluster, pool), None | Some(Measures::Runtime))
}

/// Whether anybody tells how busy a pool's GPUs are. NVML has no utilization of slices, nor of GPUs in MIG mode; DCGM's
/// profiling counters have it.
///
/// Source: <https://docs.nvidia.com/deploy/nvml-api/group__nvmlDeviceQueries.html>, `nvmlDeviceGetUtilizationRates`:
/// not supported while a device is in MIG mode (from memory).
pub(super) fn tells_utilization(pool: &Pool, measures: Measures) -> bool {
    measures != Measures::Runtime || !pool.sharing.sure().cuts_every_gpu()
}

/// What dcgm-exporter has to export for the rules of these pools.
pub(crate) fn dcgm_metrics<'p>(
    cluster: &Checked<'_>,
    pools: impl IntoIterator<Item = &'p Pool>,
) -> Vec<&'static Metric> {
    let read: BTreeSet<_> = pools
        .into_iter()
        .flat_map(|pool| rules::reads(cluster, pool))
        .collect();
    let metrics = METRICS.iter().copied();
    metrics
        .filter(|metric| metric.exporters.contains(&Exporter::Dcgm) && read.contains(metric.name))
        .collect()
}

/// These metrics as dcgm-exporter reads them: the chart's `customMetrics`, and the operator's `dcgm-metrics.csv`.
pub(crate) fn csv(metrics: &[&Metric]) -> String {
    let line = |metric: &&Metric| {
        let kind = metric.kind.word();
        // A comma would start another column.
        let help = metric.help.replace(',', ";");
        format!("{}, {kind}, {help}\n", metric.name)
    };
    metrics.iter().map(line).collect()
}
