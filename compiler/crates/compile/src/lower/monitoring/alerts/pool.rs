//! Alerts about a pool's nodes and their DaemonSets.

use gpuc_schema::config::{AlertName, DevicePlugin};

use super::super::exporter::{GpuExporter, RUNTIME_JOB};
use super::super::expression::{Expression, resource_label};
use super::super::metrics::{self, Metric};
use super::super::recording::pool_matcher;
use super::super::series;
use super::{Alert, PoolAlertContext};
use crate::charts::dcgm_exporter;
use crate::lower::daemon_set_of_plugin;

/// The alerts about a pool's nodes.
pub(super) fn alerts(watched: &PoolAlertContext<'_>) -> Vec<Alert> {
    let mut alerts = missing(watched);
    if !alerts.is_empty() {
        alerts.insert(0, unhealthy(watched));
    }
    if let Some(plugin) = daemon_set_of_plugin(watched.pool) {
        alerts.push(not_ready(
            AlertName::GpuPluginDown,
            watched,
            &plugin,
            "the device plugin",
        ));
    }
    if watched.exporter == GpuExporter::Dcgm {
        let exporter = dcgm_exporter::daemon_set(watched.pool);
        alerts.push(not_ready(
            AlertName::GpuExporterDown,
            watched,
            &exporter,
            "the GPU exporter",
        ));
    }
    alerts.push(not_scraped(watched));
    if watched.pool.is_advertised_by(DevicePlugin::Gpuc) {
        alerts.extend([
            health_unwatched(watched),
            health_of_gpus_unwatched(watched),
            configuration_refused(watched),
        ]);
    }
    alerts
}

fn unhealthy(watched: &PoolAlertContext<'_>) -> Alert {
    let capacity = Expression::for_series(&series::NODE_CAPACITY, &pool_matcher(watched.pool));
    let allocatable =
        Expression::for_series(&series::NODE_ALLOCATABLE, &pool_matcher(watched.pool));
    Alert {
        name: AlertName::GpuUnhealthy,
        pool: None,
        expression: capacity.combined_with(allocatable, "{} - {} > 0"),
        duration: "10m".to_owned(),
        summary: "{{ $labels.node }} does not advertise all of its GPUs".to_owned(),
        description: "{{ $labels.node }} (pool {{ $labels.pool }}) has {{ $value }} unallocatable {{ $labels.resource \
                      }}."
            .to_owned(),
    }
}

/// One alert for each resource, since each has its own number per node.
fn missing(watched: &PoolAlertContext<'_>) -> Vec<Alert> {
    let advertised = watched.pool.advertised.expect_resolved().iter();
    let alert = |resource: &gpuc_model::AdvertisedResource| {
        let matchers = format!(
            "{},resource=\"{}\"",
            pool_matcher(watched.pool),
            resource_label(&resource.name)
        );
        let capacity = Expression::for_series(&series::NODE_CAPACITY, &matchers);
        let nodes = Expression::for_series(&series::NODE_POOL, &pool_matcher(watched.pool));
        // A node on which no plugin ever registered has no value.
        let capacity = capacity.combined_with(nodes, "({} or on (node) 0 * {})");
        Alert {
            name: AlertName::GpuMissing,
            pool: None,
            expression: capacity.wrapped_in(&format!("{{}} != {}", resource.per_node)),
            duration: "15m".to_owned(),
            summary: "{{ $labels.node }} does not have the GPUs that its pool declares".to_owned(),
            description: format!(
                "{{{{ $labels.node }}}} (pool {{{{ $labels.pool }}}}) has {{{{ $value }}}} of {}, and its pool \
                 declares {} per node.",
                resource.name, resource.per_node
            ),
        }
    };
    advertised.map(alert).collect()
}

/// A DaemonSet that is not ready everywhere, or is scheduled to fewer nodes than the pool's minimum.
fn not_ready(
    name: AlertName,
    watched: &PoolAlertContext<'_>,
    (namespace, daemon_set): &(String, String),
    component: &str,
) -> Alert {
    let status = |metric: &'static Metric| {
        let matchers = format!("namespace=\"{namespace}\",daemonset=\"{daemon_set}\"");
        Expression::for_metric(metric, &matchers).wrapped_in("max by (namespace, daemonset) ({})")
    };
    let desired = || status(&metrics::DAEMON_SET_DESIRED);
    let mut expression = desired().combined_with(status(&metrics::DAEMON_SET_READY), "{} - {} > 0");
    let min = watched.pool.nodes.expect_resolved().min;
    if min > 0 {
        // A capacity block has no nodes before its start and after its end.
        let period = watched.pool.capacity_period().map(|period| {
            let [start, end] = [period.start, period.scale_down].map(jiff::Timestamp::as_second);
            format!(" * (time() >= bool {start}) * (time() < bool {end})")
        });
        let period = period.unwrap_or_default();
        let too_few = desired().wrapped_in(&format!("{min}{period} - {{}} > 0"));
        expression = expression.combined_with(too_few, "({}) or ({})");
    }
    Alert {
        name,
        pool: Some(watched.pool.name.value.clone()),
        expression,
        duration: "10m".to_owned(),
        summary: format!(
            "{component} is missing on nodes of pool {}",
            watched.pool.name
        ),
        description: format!(
            "DaemonSet {namespace}/{daemon_set} is missing or not ready on {{{{ $value }}}} nodes of pool {}.",
            watched.pool.name
        ),
    }
}

fn not_scraped(watched: &PoolAlertContext<'_>) -> Alert {
    let matchers = format!(
        "job=\"{}\",{}",
        watched.exporter.scrape_job(),
        pool_matcher(watched.pool)
    );
    let up = Expression::for_metric(&metrics::UP, &matchers);
    Alert {
        name: AlertName::GpuExporterDown,
        pool: None,
        expression: up.wrapped_in("max by (pool, node) ({}) == 0"),
        duration: "10m".to_owned(),
        summary: "Prometheus cannot scrape the GPU exporter of {{ $labels.node }}".to_owned(),
        description: "the GPU exporter on {{ $labels.node }} (pool {{ $labels.pool }}) does not respond to Prometheus."
            .to_owned(),
    }
}

fn runtime_metric_is_zero(watched: &PoolAlertContext<'_>, metric: &'static Metric) -> Expression {
    let matchers = format!("job=\"{RUNTIME_JOB}\",{}", pool_matcher(watched.pool));
    Expression::for_metric(metric, &matchers).wrapped_in("max by (pool, node) ({}) == 0")
}

fn health_unwatched(watched: &PoolAlertContext<'_>) -> Alert {
    Alert {
        name: AlertName::GpuHealthUnwatched,
        pool: None,
        expression: runtime_metric_is_zero(watched, &metrics::MONITORING_UP),
        duration: "10m".to_owned(),
        summary: "the health of the GPUs of {{ $labels.node }} is not monitored".to_owned(),
        description: "gpuc-runtime on {{ $labels.node }} (pool {{ $labels.pool }}) receives no error events from the \
                      driver."
            .to_owned(),
    }
}

/// GPUs that have no driver events, such as those of some virtual machines, do not count.
fn health_of_gpus_unwatched(watched: &PoolAlertContext<'_>) -> Alert {
    let matchers = format!(
        "job=\"{RUNTIME_JOB}\",{},reason=\"error\"",
        pool_matcher(watched.pool)
    );
    let gpus = Expression::for_metric(&metrics::UNMONITORED_GPUS, &matchers);
    Alert {
        name: AlertName::GpuHealthUnwatched,
        pool: None,
        expression: gpus.wrapped_in("max by (pool, node) ({}) > 0"),
        duration: "10m".to_owned(),
        summary: "the health of GPUs of {{ $labels.node }} is not monitored".to_owned(),
        description: "gpuc-runtime on {{ $labels.node }} (pool {{ $labels.pool }}) receives no error events of \
                      {{ $value }} GPUs from the driver."
            .to_owned(),
    }
}

fn configuration_refused(watched: &PoolAlertContext<'_>) -> Alert {
    Alert {
        name: AlertName::GpuConfigurationRefused,
        pool: None,
        expression: runtime_metric_is_zero(watched, &metrics::CONFIGURATION_APPLIED),
        duration: "5m".to_owned(),
        summary: "gpuc-runtime on {{ $labels.node }} rejected its configuration".to_owned(),
        description: "gpuc-runtime on {{ $labels.node }} (pool {{ $labels.pool }}) uses the last valid configuration."
            .to_owned(),
    }
}
