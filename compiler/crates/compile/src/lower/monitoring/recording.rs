//! The recording rules of a pool: the only place that depends on the pool's exporter and sharing mode.

use gpuc_model::{Pool, Sharing};
use gpuc_schema::config::DevicePlugin;

use super::exporter::{GpuExporter, reports_utilization};
use super::expression::{Expression, any_of_matcher, resource_label};
use super::metrics::{self, Metric};
use super::series::{self, Series};

/// A recording rule.
pub(super) struct RecordingRule {
    /// The recorded series.
    pub(super) series: &'static Series,
    /// The expression that is recorded.
    pub(super) expression: Expression,
}

/// The recording rules of a pool with GPUs.
pub(super) fn recording_rules(pool: &Pool, measures: GpuExporter) -> Vec<RecordingRule> {
    let context = PoolContext {
        pool,
        exporter: measures,
    };
    // Nodes whose GPUs are allocated through DRA have no allocatable GPU resource.
    let has_resources = !pool.advertised.expect_resolved().is_empty();
    let has_utilization = reports_utilization(pool, measures);
    series::SERIES
        .iter()
        .filter(|series| {
            has_utilization || !std::ptr::eq(**series, &raw const series::UTILIZATION_RATIO)
        })
        .filter(|series| {
            has_resources
                || !series::KUBELET_COUNTED
                    .iter()
                    .any(|it| std::ptr::eq(*it, **series))
        })
        .map(|series| RecordingRule {
            series,
            expression: context.expression(series),
        })
        .collect()
}

/// The matcher of a pool. A pool's name has no character that PromQL requires to be escaped.
pub(super) fn pool_matcher(pool: &Pool) -> String {
    format!("pool=\"{}\"", pool.name)
}

/// The matcher of a pool's GPU resources, by kube-state-metrics' names.
pub(super) fn resource_matcher(pool: &Pool) -> String {
    let advertised = pool.advertised.expect_resolved().iter();
    let labels: Vec<_> = advertised
        .map(|resource| resource_label(&resource.name))
        .collect();
    any_of_matcher("resource", labels.iter().map(String::as_str))
}

struct PoolContext<'p> {
    pool: &'p Pool,
    exporter: GpuExporter,
}

impl PoolContext<'_> {
    fn expression(&self, series: &'static Series) -> Expression {
        let is = |other: &'static Series| std::ptr::eq(series, other);
        match () {
            () if is(&series::NODE_POOL) => {
                let job = format!("job=\"{}\"", self.exporter.scrape_job());
                presence_by_labels(
                    series,
                    Expression::for_metric(&metrics::UP, &self.matchers(&job)),
                )
            }
            () if is(&series::TEMPERATURE_CELSIUS) => {
                self.max_by_labels(series, &metrics::TEMPERATURE, "")
            }
            () if is(&series::POWER_WATTS) => self.max_by_labels(series, &metrics::POWER, ""),
            () if is(&series::ENERGY_JOULES) => {
                self.max_by_labels(series, &metrics::ENERGY, " / 1000")
            }
            () if is(&series::CLOCK_HERTZ) => {
                self.max_by_labels(series, &metrics::SM_CLOCK, " * 1e6")
            }
            () if is(&series::UTILIZATION_RATIO) => self.utilization(series),
            () if is(&series::MEMORY_USED_BYTES) => {
                self.max_by_labels(series, &metrics::MEMORY_USED, " * 1048576")
            }
            () if is(&series::MEMORY_BYTES) => {
                let used = self.metric(&metrics::MEMORY_USED);
                let sum = used.combined_with(self.metric(&metrics::MEMORY_FREE), "{} + {}");
                sum.wrapped_in(&format!("max by ({}) ({{}}) * 1048576", by_clause(series)))
            }
            () if is(&series::HOLDER) => self.holder_series(series),
            () if is(&series::NODE_CAPACITY) => self.node_resource(&metrics::NODE_CAPACITY),
            () if is(&series::NODE_ALLOCATABLE) => self.node_resource(&metrics::NODE_ALLOCATABLE),
            () => self.requested_on_nodes(),
        }
    }

    fn matchers(&self, extra: &str) -> String {
        format!("{extra},{}", pool_matcher(self.pool))
    }

    fn metric(&self, metric: &'static Metric) -> Expression {
        Expression::for_metric(metric, &pool_matcher(self.pool))
    }

    /// The maximum for each combination of the series' labels, across the pods that the metric is reported for.
    fn max_by_labels(&self, series: &Series, metric: &'static Metric, unit: &str) -> Expression {
        let text = format!("max by ({}) ({{}}){unit}", by_clause(series));
        self.metric(metric).wrapped_in(&text)
    }

    /// GPUs in MIG mode have no utilization; DCGM's profiling counters have it for each MIG device.
    fn utilization(&self, series: &Series) -> Expression {
        let is_mig = matches!(self.pool.sharing.expect_resolved(), Sharing::Mig { .. });
        match self.exporter {
            GpuExporter::Dcgm | GpuExporter::Operator if is_mig => {
                self.max_by_labels(series, &metrics::ENGINE_ACTIVE, "")
            }
            _ => self.max_by_labels(series, &metrics::UTILIZATION, " / 100"),
        }
    }

    /// gpuc-runtime reports every container that shares a GPU. A MIG device has one holder, which gpuc-runtime and
    /// dcgm-exporter report in the labels of the MIG device's memory metrics.
    fn holder_series(&self, series: &Series) -> Expression {
        let is_mig = matches!(self.pool.sharing.expect_resolved(), Sharing::Mig { .. });
        if self.pool.is_advertised_by(DevicePlugin::Gpuc) && !is_mig {
            return presence_by_labels(series, self.metric(&metrics::CONTAINER_SHARES));
        }
        let matchers = self.matchers("pod!=\"\"");
        presence_by_labels(
            series,
            Expression::for_metric(&metrics::MEMORY_USED, &matchers),
        )
    }

    fn node_resource(&self, metric: &'static Metric) -> Expression {
        let found = Expression::for_metric(metric, &resource_matcher(self.pool));
        self.with_pool(found.wrapped_in("max by (node, resource) ({})"))
    }

    /// Excludes completed pods: they hold no devices, though kube-state-metrics still reports their requests.
    fn requested_on_nodes(&self) -> Expression {
        let requests =
            Expression::for_metric(&metrics::CONTAINER_REQUESTS, &resource_matcher(self.pool));
        let phase = Expression::for_metric(&metrics::POD_PHASE, "phase=~\"Pending|Running\"");
        let in_use = requests.combined_with(
            phase,
            "sum by (node, resource, namespace) ({} \
             * on (namespace, pod) group_left () max by (namespace, pod) ({} == 1))",
        );
        self.with_pool(in_use)
    }

    fn with_pool(&self, expression: Expression) -> Expression {
        let pool = Expression::for_series(&series::NODE_POOL, &pool_matcher(self.pool));
        expression.combined_with(pool, "{} * on (node) group_left (pool) {}")
    }
}

/// 1 for each combination of the series' labels.
fn presence_by_labels(series: &Series, expression: Expression) -> Expression {
    expression.wrapped_in(&format!("group by ({}) ({{}})", by_clause(series)))
}

/// The labels of a series, for a `by` clause.
fn by_clause(series: &Series) -> String {
    let labels = std::iter::once("pool").chain(series.labels.iter().copied());
    labels.collect::<Vec<_>>().join(", ")
}
