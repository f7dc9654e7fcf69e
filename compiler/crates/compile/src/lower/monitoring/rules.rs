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

use super::alerts::{self, Alert, Watched, page};
use super::exporter::{Measures, measures};
use super::recording::recordings;
use super::{COMPONENT, NAMESPACE, dashboards, labels, selection_labels};

/// The rules of a pool whose GPUs are measured.
pub(super) fn of_pool(cluster: &Checked<'_>, pool: &Pool) -> Option<Object> {
    let watched = watched(cluster, pool)?;
    let name = format!("gpuc-pool-{}", pool.name);
    let recorded: Vec<_> = recordings(pool, watched.measures)
        .iter()
        .map(|it| json!({"record": it.series.name, "expr": it.expression.text}))
        .collect();
    let alerts = alerts::of_pool(&watched);
    let mut groups = vec![json!({"name": format!("{name}.series"), "rules": recorded})];
    if !alerts.is_empty() {
        let alerts: Vec<_> = alerts.iter().map(rule).collect();
        groups.push(json!({"name": format!("{name}.alerts"), "rules": alerts}));
    }
    let of_pool = BTreeMap::from([(POOL_LABEL.to_owned(), pool.name.value.clone())]);
    let offers = pool.offers.expect_resolved().iter();
    let offers = offers.flat_map(|offer| offer.origin.inputs().to_vec());
    let mut inputs = monitoring_span(cluster);
    inputs.extend(origins::serving(pool));
    inputs.extend([
        pool.name.span,
        pool.nodes.expect_resolved().min_span,
        pool.driver.span,
    ]);
    inputs.extend(offers);
    let why = "the rules of a pool follow from the exporter and the sharing mode of its GPUs";
    Some(object(
        cluster,
        &name,
        of_pool,
        &groups,
        Origin::rule(inputs, why),
    ))
}

/// The rules of the cluster.
pub(super) fn of_cluster(cluster: &Checked<'_>) -> Option<Object> {
    let alerts = alerts::of_cluster(cluster);
    if alerts.is_empty() {
        return None;
    }
    let alerts: Vec<_> = alerts.iter().map(rule).collect();
    let groups = vec![json!({"name": "gpuc-cluster.alerts", "rules": alerts})];
    let pools = cluster.pools.iter();
    let offers = pools.flat_map(|pool| pool.offers.expect_resolved());
    let offers = offers.flat_map(|offer| offer.origin.inputs().to_vec());
    let mut inputs = monitoring_span(cluster);
    inputs.extend(offers);
    for pool in cluster.pools_claimed() {
        inputs.push(pool.name.span);
        inputs.extend(origins::serving(pool));
    }
    let why = "alerts about nodes and quotas cover the whole cluster";
    let origin = Origin::rule(inputs, why);
    Some(object(
        cluster,
        "gpuc-cluster",
        BTreeMap::new(),
        &groups,
        origin,
    ))
}

/// The names of the alerts that exist, each once, in the order of the documentation.
pub(super) fn names(cluster: &Checked<'_>) -> BTreeSet<AlertName> {
    cluster
        .pools
        .iter()
        .filter_map(|pool| watched(cluster, pool))
        .flat_map(|watched| alerts::of_pool(&watched))
        .chain(alerts::of_cluster(cluster))
        .map(|alert| alert.name)
        .collect()
}

/// The series that all rules of a pool query, and those of the dashboards if enabled.
pub(super) fn reads(cluster: &Checked<'_>, pool: &Pool) -> BTreeSet<&'static str> {
    let Some(watched) = watched(cluster, pool) else {
        return BTreeSet::new();
    };
    let recorded = recordings(pool, watched.measures).into_iter();
    let recorded = recorded.map(|recording| recording.expression);
    let alerts = alerts::of_pool(&watched).into_iter();
    let mut reads: BTreeSet<_> = recorded
        .chain(alerts.map(|alert| alert.expression))
        .flat_map(|it| it.reads)
        .collect();
    if super::has_dashboards(cluster) {
        reads.extend(dashboards::reads());
    }
    reads
}

fn watched<'c>(cluster: &'c Checked<'_>, pool: &'c Pool) -> Option<Watched<'c>> {
    let monitoring = cluster.config.monitoring.as_ref()?;
    let measures: Measures = measures(cluster, pool)?;
    Some(Watched {
        pool,
        measures,
        limits: &monitoring.alerts,
    })
}

fn rule(alert: &Alert) -> Value {
    let page = page(alert.name);
    let mut labels = Map::new();
    labels.insert("severity".to_owned(), json!(page.severity.word()));
    if let Some(pool) = &alert.pool {
        labels.insert("pool".to_owned(), json!(pool));
    }
    json!({
        "alert": alerts::word(alert.name),
        "expr": alert.expression.text,
        "for": alert.lasts,
        "labels": labels,
        "annotations": {
            "summary": alert.summary,
            "description": alert.description,
            "runbook": format!("{} {}", page.meaning, page.action),
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
