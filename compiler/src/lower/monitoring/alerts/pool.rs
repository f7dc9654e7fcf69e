//! Alerts about a pool's nodes and what runs on each of them.

use gpuc_schema::config::{AlertName, DevicePlugin};

use super::super::exporter::{Measures, RUNTIME_JOB};
use super::super::expression::{Expression, resource_label};
use super::super::metrics::{self, Metric};
use super::super::recording::of_pool;
use super::super::series;
use super::{Alert, Watched};
use crate::chart::dcgm_exporter;
use crate::lower::daemon_set_of_plugin;

/// The alerts about a pool's nodes.
pub(super) fn alerts(watched: &Watched<'_>) -> Vec<Alert> {
    let mut alerts = missing(watched);
    if !alerts.is_empty() {
        alerts.insert(0, unhealthy(watched));
    }
    if let Some(plugin) = daemon_set_of_plugin(watched.pool) {
        let what = "the device plugin";
        alerts.push(not_ready(AlertName::GpuPluginDown, watched, &plugin, what));
    }
    if watched.measures == Measures::Dcgm {
        let exporter = dcgm_exporter::daemon_set(watched.pool);
        let what = "the GPU exporter";
        alerts.push(not_ready(
            AlertName::GpuExporterDown,
            watched,
            &exporter,
            what,
        ));
    }
    alerts.push(not_scraped(watched));
    if watched.pool.is_advertised_by(DevicePlugin::Gpuc) {
        alerts.extend([health_unwatched(watched), configuration_refused(watched)]);
    }
    alerts
}

fn unhealthy(watched: &Watched<'_>) -> Alert {
    let capacity = Expression::recorded(&series::NODE_CAPACITY, &of_pool(watched.pool));
    let offered = Expression::recorded(&series::NODE_ALLOCATABLE, &of_pool(watched.pool));
    Alert {
        name: AlertName::GpuUnhealthy,
        pool: None,
        expression: capacity.with(offered, "{} - {} > 0"),
        lasts: "10m".to_owned(),
        summary: "{{ $labels.node }} does not offer all of its GPUs".to_owned(),
        description: "{{ $labels.node }} (pool {{ $labels.pool }}) keeps {{ $value }} of {{ $labels.resource }} back."
            .to_owned(),
    }
}

/// One for each resource, since a node has its own number of each.
fn missing(watched: &Watched<'_>) -> Vec<Alert> {
    let offers = watched.pool.offers.sure().iter();
    let alert = |offer: &crate::model::Offer| {
        let matchers = format!(
            "{},resource=\"{}\"",
            of_pool(watched.pool),
            resource_label(&offer.resource)
        );
        let capacity = Expression::recorded(&series::NODE_CAPACITY, &matchers);
        let nodes = Expression::recorded(&series::NODE_POOL, &of_pool(watched.pool));
        // A node that no plugin ever registered with has not even a number.
        let capacity = capacity.with(nodes, "({} or on (node) 0 * {})");
        Alert {
            name: AlertName::GpuMissing,
            pool: None,
            expression: capacity.within(&format!("{{}} < {}", offer.per_node)),
            lasts: "15m".to_owned(),
            summary: "{{ $labels.node }} has fewer GPUs than its pool".to_owned(),
            description: format!(
                "{{{{ $labels.node }}}} (pool {{{{ $labels.pool }}}}) has {{{{ $value }}}} of {}, and a node of its pool \
                 has {}.",
                offer.resource, offer.per_node
            ),
        }
    };
    offers.map(alert).collect()
}

/// A DaemonSet that is not ready everywhere, or is wanted on fewer nodes than the pool has at least.
fn not_ready(
    name: AlertName,
    watched: &Watched<'_>,
    (namespace, daemon_set): &(String, String),
    what: &str,
) -> Alert {
    let of = |metric: &'static Metric| {
        let matchers = format!("namespace=\"{namespace}\",daemonset=\"{daemon_set}\"");
        let found = Expression::of(metric, &matchers);
        found.within("max by (namespace, daemonset) ({})")
    };
    let desired = || of(&metrics::DAEMON_SET_DESIRED);
    let mut expression = desired().with(of(&metrics::DAEMON_SET_READY), "{} - {} > 0");
    let least = watched.pool.nodes.sure().min;
    if least > 0 {
        let short = desired().within(&format!("{least} - {{}} > 0"));
        expression = expression.with(short, "({}) or ({})");
    }
    Alert {
        name,
        pool: Some(watched.pool.name.value.clone()),
        expression,
        lasts: "10m".to_owned(),
        summary: format!("{what} is missing on nodes of pool {}", watched.pool.name),
        description: format!(
            "DaemonSet {namespace}/{daemon_set} is missing or not ready on {{{{ $value }}}} nodes of pool {}.",
            watched.pool.name
        ),
    }
}

fn not_scraped(watched: &Watched<'_>) -> Alert {
    let matchers = format!(
        "job=\"{}\",{}",
        watched.measures.job(),
        of_pool(watched.pool)
    );
    let up = Expression::of(&metrics::UP, &matchers);
    Alert {
        name: AlertName::GpuExporterDown,
        pool: None,
        expression: up.within("max by (pool, node) ({}) == 0"),
        lasts: "10m".to_owned(),
        summary: "the GPU exporter of {{ $labels.node }} cannot be scraped".to_owned(),
        description: "Prometheus gets no answer of the GPU exporter on {{ $labels.node }} (pool {{ $labels.pool }})."
            .to_owned(),
    }
}

fn of_runtime(watched: &Watched<'_>, metric: &'static Metric) -> Expression {
    let matchers = format!("job=\"{RUNTIME_JOB}\",{}", of_pool(watched.pool));
    let found = Expression::of(metric, &matchers);
    found.within("max by (pool, node) ({}) == 0")
}

fn health_unwatched(watched: &Watched<'_>) -> Alert {
    Alert {
        name: AlertName::GpuHealthUnwatched,
        pool: None,
        expression: of_runtime(watched, &metrics::MONITORING_UP),
        lasts: "10m".to_owned(),
        summary: "nobody watches the health of the GPUs of {{ $labels.node }}".to_owned(),
        description: "gpuc-runtime on {{ $labels.node }} (pool {{ $labels.pool }}) does not hear of the driver's errors."
            .to_owned(),
    }
}

fn configuration_refused(watched: &Watched<'_>) -> Alert {
    Alert {
        name: AlertName::GpuConfigurationRefused,
        pool: None,
        expression: of_runtime(watched, &metrics::CONFIGURATION_TAKEN),
        lasts: "5m".to_owned(),
        summary: "gpuc-runtime on {{ $labels.node }} refused its configuration".to_owned(),
        description: "gpuc-runtime on {{ $labels.node }} (pool {{ $labels.pool }}) works with the last good configuration."
            .to_owned(),
    }
}
