//! PrometheusRules: the recording and alerting rules of each pool, and the alerting rules of the cluster.

use std::collections::{BTreeMap, BTreeSet};

use gpuc_model::check::Checked;
use gpuc_model::derive::origins;
use gpuc_model::plan::Object;
use gpuc_model::{POOL_LABEL, Pool};
use gpuc_schema::Span;
use gpuc_schema::config::AlertName;
use gpuc_syntax::node::Origin;
use serde_json::{Map, Value, json};

use super::alerts::{self, Alert, PoolAlertContext, alert_doc};
use super::exporter::{GpuExporter, gpu_exporter};
use super::recording::recording_rules;
use super::{COMPONENT, NAMESPACE, dashboards, labels, selection_labels};

/// The rules of a pool whose GPUs are measured.
pub(super) fn pool_rules(cluster: &Checked<'_>, pool: &Pool) -> Option<Object> {
    let watched = alert_context(cluster, pool)?;
    let name = format!("gpuc-pool-{}", pool.name);
    let recorded: Vec<_> = recording_rules(pool, watched.exporter)
        .iter()
        .map(|it| json!({"record": it.series.name, "expr": it.expression.text}))
        .collect();
    let alerts = alerts::pool_alerts(&watched);
    let mut groups = vec![json!({"name": format!("{name}.series"), "rules": recorded})];
    if !alerts.is_empty() {
        let alerts: Vec<_> = alerts.iter().map(rule).collect();
        groups.push(json!({"name": format!("{name}.alerts"), "rules": alerts}));
    }
    let of_pool = BTreeMap::from([(POOL_LABEL.to_owned(), pool.name.value.clone())]);
    let advertised = pool.advertised.expect_resolved().iter();
    let spans = advertised.flat_map(|resource| resource.origin.inputs().to_vec());
    let mut inputs = monitoring_span(cluster);
    inputs.extend(origins::serving_spans(pool));
    inputs.extend([
        pool.name.span,
        pool.nodes.expect_resolved().min_span,
        pool.driver.span,
        // Pools have no nodes before and after their capacity block.
        pool.settings.capacity.span,
    ]);
    inputs.extend(spans);
    let reason = "the rules of a pool follow from the exporter and the sharing mode of its GPUs";
    Some(object(
        cluster,
        &name,
        of_pool,
        &groups,
        Origin::rule(inputs, reason),
    ))
}

/// The rules of the cluster.
pub(super) fn cluster_rules(cluster: &Checked<'_>) -> Option<Object> {
    let alerts = alerts::cluster_alerts(cluster);
    if alerts.is_empty() {
        return None;
    }
    let alerts: Vec<_> = alerts.iter().map(rule).collect();
    let groups = vec![json!({"name": "gpuc-cluster.alerts", "rules": alerts})];
    let pools = cluster.pools.iter();
    let advertised = pools.flat_map(|pool| pool.advertised.expect_resolved());
    let spans = advertised.flat_map(|resource| resource.origin.inputs().to_vec());
    let mut inputs = monitoring_span(cluster);
    inputs.extend(spans);
    for pool in cluster.dra_pools() {
        inputs.push(pool.name.span);
        inputs.extend(origins::serving_spans(pool));
    }
    let reason = "alerts about nodes and quotas cover the whole cluster";
    let origin = Origin::rule(inputs, reason);
    Some(object(
        cluster,
        "gpuc-cluster",
        BTreeMap::new(),
        &groups,
        origin,
    ))
}

/// The names of the alerts that exist, each once, in the order of the documentation.
pub(super) fn alert_names(cluster: &Checked<'_>) -> BTreeSet<AlertName> {
    cluster
        .pools
        .iter()
        .filter_map(|pool| alert_context(cluster, pool))
        .flat_map(|watched| alerts::pool_alerts(&watched))
        .chain(alerts::cluster_alerts(cluster))
        .map(|alert| alert.name)
        .collect()
}

/// The series that all rules of a pool query, and those of the dashboards if enabled.
pub(super) fn queried_series(cluster: &Checked<'_>, pool: &Pool) -> BTreeSet<&'static str> {
    let Some(watched) = alert_context(cluster, pool) else {
        return BTreeSet::new();
    };
    let recorded = recording_rules(pool, watched.exporter).into_iter();
    let recorded = recorded.map(|recording| recording.expression);
    let alerts = alerts::pool_alerts(&watched).into_iter();
    let mut reads: BTreeSet<_> = recorded
        .chain(alerts.map(|alert| alert.expression))
        .flat_map(|it| it.queried_series)
        .collect();
    if super::has_dashboards(cluster) {
        reads.extend(dashboards::queried_series());
    }
    reads
}

fn alert_context<'c>(cluster: &'c Checked<'_>, pool: &'c Pool) -> Option<PoolAlertContext<'c>> {
    let monitoring = cluster.config.monitoring.as_ref()?;
    let measures: GpuExporter = gpu_exporter(cluster, pool)?;
    Some(PoolAlertContext {
        pool,
        exporter: measures,
        limits: &monitoring.alerts,
    })
}

fn rule(alert: &Alert) -> Value {
    let doc = alert_doc(alert.name);
    let mut labels = Map::new();
    labels.insert("severity".to_owned(), json!(doc.severity.as_str()));
    if let Some(pool) = &alert.pool {
        labels.insert("pool".to_owned(), json!(pool));
    }
    json!({
        "alert": alerts::alert_id(alert.name),
        "expr": alert.expression.text,
        "for": alert.duration,
        "labels": labels,
        "annotations": {
            "summary": alert.summary,
            "description": alert.description,
            "runbook": format!("{} {}", doc.meaning, doc.action),
        },
    })
}

fn object(
    cluster: &Checked<'_>,
    name: &str,
    extra_labels: BTreeMap<String, String>,
    groups: &[Value],
    origin: Origin,
) -> Object {
    let all: BTreeMap<_, _> = labels()
        .into_iter()
        .chain(selection_labels(cluster))
        .chain(extra_labels)
        .collect();
    let object = json!({
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PrometheusRule",
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": all},
        "spec": {"groups": groups},
    });
    Object::new(COMPONENT, &object, origin)
}

/// The span of `monitoring` in the file.
fn monitoring_span(cluster: &Checked<'_>) -> Vec<Span> {
    let monitoring = cluster.config.monitoring.as_ref();
    monitoring.map(|it| it.span).into_iter().collect()
}
