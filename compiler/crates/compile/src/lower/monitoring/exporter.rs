//! The exporter that measures the GPUs of each pool, and the metrics it exports.

use std::collections::BTreeSet;

use gpuc_model::check::Checked;
use gpuc_model::metrics::dcgm::RUNTIME_GPU_METRICS;
use gpuc_model::metrics::{ExportedMetrics, MetricList};
use gpuc_model::plan::Release;
use gpuc_model::{Cluster, Pool};
use gpuc_schema::config;
use gpuc_syntax::node::{Node, Value};
use gpuc_syntax::yaml::core_schema::CoreValue;

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

/// A list of metrics in the values of a chart.
struct ListInValues {
    exporter: GpuExporter,
    chart: &'static str,
    path: &'static [&'static str],
    key: &'static str,
    /// Values with which the exporter can read another list.
    overrides: &'static [&'static [&'static str]],
}

/// The lists of metrics in the values of charts.
const LISTS: &[ListInValues] = &[
    ListInValues {
        exporter: GpuExporter::Dcgm,
        chart: "dcgm-exporter",
        path: &["customMetrics"],
        key: "customMetrics",
        overrides: &[&["arguments"], &["extraEnv"]],
    },
    ListInValues {
        exporter: GpuExporter::Operator,
        chart: "gpu-operator",
        path: &["dcgmExporter", "config", "data"],
        key: "dcgmExporter.config.data",
        overrides: &[&["dcgmExporter", "args"], &["dcgmExporter", "env"]],
    },
];

/// The GPU metrics that the exporters of the pools have, by the values of the releases, which contain those of the
/// user. `None` if no pool is measured, or if the lists are unknown.
pub(crate) fn exported_metrics(cluster: &Cluster, releases: &[Release]) -> Option<ExportedMetrics> {
    let exporters = cluster
        .pools
        .iter()
        .filter_map(|pool| gpu_exporter(cluster, pool));
    let exporters: Vec<_> = exporters.collect();
    if exporters.is_empty() {
        return None;
    }
    let mut exported = ExportedMetrics {
        jobs: exporters.iter().map(|it| it.scrape_job()).collect(),
        ..ExportedMetrics::default()
    };
    if exporters.contains(&GpuExporter::Runtime) {
        let names = RUNTIME_GPU_METRICS.iter().copied().map(str::to_owned);
        exported.names.extend(names);
    }
    let lists = LISTS
        .iter()
        .filter(|list| exporters.contains(&list.exporter));
    for list in lists {
        exported
            .lists
            .push(list.read(releases, &mut exported.names)?);
    }
    Some(exported)
}

impl ListInValues {
    /// The list of all releases of the chart. Adds its metrics to `names`. `None` if a release reads another list.
    fn read(&self, releases: &[Release], names: &mut BTreeSet<String>) -> Option<MetricList> {
        let mut texts = BTreeSet::new();
        let mut list = MetricList {
            chart: self.chart,
            key: self.key,
            releases: Vec::new(),
            can_profile: true,
        };
        for release in releases.iter().filter(|it| it.chart.name == self.chart) {
            let text = get(&release.values, self.path)?.text()?;
            let is_own_environment = |path: &[&str]| {
                // gpuc itself sets only this variable, for the driver's libraries.
                let variables = get(&release.values, path).map_or(&[][..], Node::items);
                let name = |it: &Node| it.get("name")?.text().map(str::to_owned);
                variables
                    .iter()
                    .all(|it| name(it).as_deref() == Some("LD_LIBRARY_PATH"))
            };
            if !self.overrides.iter().all(|path| is_own_environment(path)) {
                return None;
            }
            names.extend(listed_names(text));
            if texts.insert(text) {
                list.releases.push(release.name.clone());
            }
            list.can_profile &= self.exporter == GpuExporter::Operator || is_admin(&release.values);
        }
        (!list.releases.is_empty()).then_some(list)
    }
}

/// Whether the values of the chart of dcgm-exporter give it the capability `SYS_ADMIN`.
fn is_admin(values: &Node) -> bool {
    let is_true = |it: &Node| match &it.value {
        Value::Scalar(scalar) => scalar.core_value() == CoreValue::Bool(true),
        _ => false,
    };
    let capabilities = get(values, &["securityContext", "capabilities", "add"]);
    let mut capabilities = capabilities.map_or(&[][..], Node::items).iter();
    get(values, &["securityContext", "privileged"]).is_some_and(is_true)
        || capabilities.any(|it| it.text() == Some("SYS_ADMIN"))
}

fn get<'n>(values: &'n Node, path: &[&str]) -> Option<&'n Node> {
    path.iter().try_fold(values, |node, key| node.get(key))
}

/// The names of the metrics in a list.
fn listed_names(text: &str) -> impl Iterator<Item = String> {
    let lines = text.lines().map(str::trim);
    let lines = lines.filter(|line| !line.starts_with('#'));
    let names = lines.filter_map(|line| Some(line.split_once(',')?.0.trim().to_owned()));
    names.filter(|name| !name.is_empty())
}
