//! The recording rules of a pool: the only place that depends on the pool's exporter and sharing mode.

use gpuc_model::{Pool, Sharing};
use gpuc_schema::config::DevicePlugin;

use super::exporter::{Measures, reports_utilization};
use super::expression::{Expression, any_of, resource_label};
use super::metrics::{self, Metric};
use super::series::{self, Series};

/// A recording rule.
pub(super) struct Recording {
    /// The recorded series.
    pub(super) series: &'static Series,
    /// The expression that is recorded.
    pub(super) expression: Expression,
}

/// The recording rules of a pool with GPUs.
pub(super) fn recordings(pool: &Pool, measures: Measures) -> Vec<Recording> {
    let context = PoolContext { pool, measures };
    // Nodes whose GPUs are allocated through DRA have no allocatable GPU resource.
    let has_resources = !pool.offers.expect_resolved().is_empty();
    let has_utilization = reports_utilization(pool, measures);
    series::SERIES
        .iter()
        .filter(|series| {
            has_utilization || !std::ptr::eq(**series, &raw const series::UTILIZATION_RATIO)
        })
        .filter(|series| {
            has_resources || !series::COUNTED.iter().any(|it| std::ptr::eq(*it, **series))
        })
        .map(|series| Recording {
            series,
            expression: context.expression(series),
        })
        .collect()
}

/// The matcher of a pool. A pool's name has no character that PromQL requires to be escaped.
pub(super) fn of_pool(pool: &Pool) -> String {
    format!("pool=\"{}\"", pool.name)
}

/// The matcher of a pool's GPU resources, by kube-state-metrics' names.
pub(super) fn resources(pool: &Pool) -> String {
    let offers = pool.offers.expect_resolved().iter();
    let labels: Vec<_> = offers
        .map(|offer| resource_label(&offer.resource))
        .collect();
    any_of("resource", labels.iter().map(String::as_str))
}

struct PoolContext<'p> {
    pool: &'p Pool,
    measures: Measures,
}

impl PoolContext<'_> {
    fn expression(&self, series: &'static Series) -> Expression {
        let is = |other: &'static Series| std::ptr::eq(series, other);
        match () {
            () if is(&series::NODE_POOL) => {
                let job = format!("job=\"{}\"", self.measures.job());
                grouped(series, Expression::of(&metrics::UP, &self.matchers(&job)))
            }
            () if is(&series::TEMPERATURE_CELSIUS) => self.max(series, &metrics::TEMPERATURE, ""),
            () if is(&series::POWER_WATTS) => self.max(series, &metrics::POWER, ""),
            () if is(&series::ENERGY_JOULES) => self.max(series, &metrics::ENERGY, " / 1000"),
            () if is(&series::CLOCK_HERTZ) => self.max(series, &metrics::SM_CLOCK, " * 1e6"),
            () if is(&series::UTILIZATION_RATIO) => self.utilization(series),
            () if is(&series::MEMORY_USED_BYTES) => {
                self.max(series, &metrics::MEMORY_USED, " * 1048576")
            }
            () if is(&series::MEMORY_BYTES) => {
                let used = self.metric(&metrics::MEMORY_USED);
                let sum = used.with(self.metric(&metrics::MEMORY_FREE), "{} + {}");
                sum.within(&format!("max by ({}) ({{}}) * 1048576", by_labels(series)))
            }
            () if is(&series::HOLDER) => self.holder(series),
            () if is(&series::NODE_CAPACITY) => self.node_resource(&metrics::NODE_CAPACITY),
            () if is(&series::NODE_ALLOCATABLE) => self.node_resource(&metrics::NODE_ALLOCATABLE),
            () => self.requested(),
        }
    }

    fn matchers(&self, extra: &str) -> String {
        format!("{extra},{}", of_pool(self.pool))
    }

    fn metric(&self, metric: &'static Metric) -> Expression {
        Expression::of(metric, &of_pool(self.pool))
    }

    /// The maximum for each combination of the series' labels, across the pods that the metric is reported for.
    fn max(&self, series: &Series, metric: &'static Metric, unit: &str) -> Expression {
        let text = format!("max by ({}) ({{}}){unit}", by_labels(series));
        self.metric(metric).within(&text)
    }

    /// GPUs in MIG mode have no utilization; DCGM's profiling counters have it for each MIG device.
    fn utilization(&self, series: &Series) -> Expression {
        let is_mig = matches!(self.pool.sharing.expect_resolved(), Sharing::Mig { .. });
        match self.measures {
            Measures::Dcgm | Measures::Operator if is_mig => {
                self.max(series, &metrics::ENGINE_ACTIVE, "")
            }
            _ => self.max(series, &metrics::UTILIZATION, " / 100"),
        }
    }

    /// gpuc-runtime reports every container that shares a GPU. A MIG device has one holder, which gpuc-runtime and
    /// dcgm-exporter report in the labels of the MIG device's memory metrics.
    fn holder(&self, series: &Series) -> Expression {
        let is_mig = matches!(self.pool.sharing.expect_resolved(), Sharing::Mig { .. });
        if self.pool.is_advertised_by(DevicePlugin::Gpuc) && !is_mig {
            return grouped(series, self.metric(&metrics::CONTAINER_SHARES));
        }
        let matchers = self.matchers("pod!=\"\"");
        grouped(series, Expression::of(&metrics::MEMORY_USED, &matchers))
    }

    fn node_resource(&self, metric: &'static Metric) -> Expression {
        let found = Expression::of(metric, &resources(self.pool));
        self.with_pool(found.within("max by (node, resource) ({})"))
    }

    /// Excludes completed pods: they hold no devices, though kube-state-metrics still reports their requests.
    fn requested(&self) -> Expression {
        let requests = Expression::of(&metrics::CONTAINER_REQUESTS, &resources(self.pool));
        let phase = Expression::of(&metrics::POD_PHASE, "phase=~\"Pending|Running\"");
        let held = requests.with(
            phase,
            "sum by (node, resource, namespace) ({} \
             * on (namespace, pod) group_left () max by (namespace, pod) ({} == 1))",
        );
        self.with_pool(held)
    }

    fn with_pool(&self, expression: Expression) -> Expression {
        let pool = Expression::recorded(&series::NODE_POOL, &of_pool(self.pool));
        expression.with(pool, "{} * on (node) group_left (pool) {}")
    }
}

/// 1 for each combination of the series' labels.
fn grouped(series: &Series, expression: Expression) -> Expression {
    expression.within(&format!("group by ({}) ({{}})", by_labels(series)))
}

/// The labels of a series, for a `by` clause.
fn by_labels(series: &Series) -> String {
    let labels = std::iter::once("pool").chain(series.labels.iter().copied());
    labels.collect::<Vec<_>>().join(", ")
}
