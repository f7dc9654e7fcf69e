//! The rules that record a pool's series: the one place that knows how the pool's GPUs are measured and shared.

use gpuc_schema::config::DevicePlugin;

use super::exporter::{Measures, tells_utilization};
use super::expression::{Expression, any_of, resource_label};
use super::metrics::{self, Metric};
use super::series::{self, Series};
use crate::model::{Pool, Sharing};

/// A rule that records a series.
pub(super) struct Recording {
    /// What is recorded.
    pub(super) series: &'static Series,
    /// From what.
    pub(super) expression: Expression,
}

/// The rules of a pool with GPUs.
pub(super) fn recordings(pool: &Pool, measures: Measures) -> Vec<Recording> {
    let here = Here { pool, measures };
    // Kubernetes counts nothing on nodes whose GPUs are claimed.
    let counted = !pool.offers.sure().is_empty();
    let every = series::SERIES.iter();
    let busy = tells_utilization(pool, measures);
    every
        .filter(|series| busy || !std::ptr::eq(**series, &raw const series::UTILIZATION_RATIO))
        .filter(|series| counted || !series::COUNTED.iter().any(|it| std::ptr::eq(*it, **series)))
        .map(|series| Recording {
            series,
            expression: here.expression(series),
        })
        .collect()
}

/// What follows `pool="`: a pool's name has no character that PromQL would have to escape.
pub(super) fn of_pool(pool: &Pool) -> String {
    format!("pool=\"{}\"", pool.name)
}

/// The GPU resources of a pool as kube-state-metrics calls them.
pub(super) fn resources(pool: &Pool) -> String {
    let offers = pool.offers.sure().iter();
    let labels: Vec<_> = offers
        .map(|offer| resource_label(&offer.resource))
        .collect();
    any_of("resource", labels.iter().map(String::as_str))
}

struct Here<'p> {
    pool: &'p Pool,
    measures: Measures,
}

impl Here<'_> {
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
                sum.within(&format!("max by ({}) ({{}}) * 1048576", by(series)))
            }
            () if is(&series::HOLDER) => self.holder(series),
            () if is(&series::NODE_CAPACITY) => self.of_nodes(&metrics::NODE_CAPACITY),
            () if is(&series::NODE_ALLOCATABLE) => self.of_nodes(&metrics::NODE_ALLOCATABLE),
            () => self.requested(),
        }
    }

    fn matchers(&self, more: &str) -> String {
        format!("{more},{}", of_pool(self.pool))
    }

    fn metric(&self, metric: &'static Metric) -> Expression {
        Expression::of(metric, &of_pool(self.pool))
    }

    /// One number for each set of the series' labels, whichever pod it is told of.
    fn max(&self, series: &Series, metric: &'static Metric, unit: &str) -> Expression {
        let text = format!("max by ({}) ({{}}){unit}", by(series));
        self.metric(metric).within(&text)
    }

    /// GPUs in MIG mode do not say how busy they are; DCGM's profiling says it of each slice.
    fn utilization(&self, series: &Series) -> Expression {
        let is_mig = matches!(self.pool.sharing.sure(), Sharing::Mig { .. });
        match self.measures {
            Measures::Dcgm | Measures::Operator if is_mig => {
                self.max(series, &metrics::ENGINE_ACTIVE, "")
            }
            _ => self.max(series, &metrics::UTILIZATION, " / 100"),
        }
    }

    /// gpuc-runtime tells every container that shares a GPU. Of MIG slices, each of which has one holder, it and
    /// dcgm-exporter tell it by the labels of the slice's memory.
    fn holder(&self, series: &Series) -> Expression {
        let is_mig = matches!(self.pool.sharing.sure(), Sharing::Mig { .. });
        if self.pool.is_advertised_by(DevicePlugin::Gpuc) && !is_mig {
            return grouped(series, self.metric(&metrics::CONTAINER_SHARES));
        }
        let matchers = self.matchers("pod!=\"\"");
        grouped(series, Expression::of(&metrics::MEMORY_USED, &matchers))
    }

    fn of_nodes(&self, metric: &'static Metric) -> Expression {
        let found = Expression::of(metric, &resources(self.pool));
        self.with_pool(found.within("max by (node, resource) ({})"))
    }

    /// Pods that are done hold nothing, though what they asked for is still told.
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

/// 1 for each set of the series' labels.
fn grouped(series: &Series, expression: Expression) -> Expression {
    expression.within(&format!("group by ({}) ({{}})", by(series)))
}

/// The labels of a series, for `by`.
fn by(series: &Series) -> String {
    let labels = std::iter::once("pool").chain(series.labels.iter().copied());
    labels.collect::<Vec<_>>().join(", ")
}
