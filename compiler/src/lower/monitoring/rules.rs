//! PrometheusRules: for each pool what is recorded of it and when somebody is told, and the same for the cluster.

use std::collections::{BTreeMap, BTreeSet};

use gpuc_schema::Span;
use gpuc_schema::config::AlertName;
use serde_json::{Map, Value, json};

use super::alerts::{self, Alert, Watched, page};
use super::exporter::{Measures, measures};
use super::recording::recordings;
use super::{COMPONENT, NAMESPACE, dashboards, labels, picked_by};
use crate::check::Checked;
use crate::lower::inputs;
use crate::model::{POOL_LABEL, Pool};
use crate::node::Origin;
use crate::plan::Object;

/// The rules of a pool whose GPUs somebody measures.
pub(super) fn of_pool(cluster: &Checked<'_>, pool: &Pool) -> Option<Object> {
    let watched = watched(cluster, pool)?;
    let name = format!("gpuc-pool-{}", pool.name);
    let recorded = recordings(pool, watched.measures).into_iter();
    let recorded = recorded.map(|it| json!({"record": it.series.name, "expr": it.expression.text}));
    let recorded: Vec<_> = recorded.collect();
    let alerts = alerts::of_pool(&watched);
    let mut groups = vec![json!({"name": format!("{name}.series"), "rules": recorded})];
    if !alerts.is_empty() {
        let alerts: Vec<_> = alerts.iter().map(rule).collect();
        groups.push(json!({"name": format!("{name}.alerts"), "rules": alerts}));
    }
    let of_pool = BTreeMap::from([(POOL_LABEL.to_owned(), pool.name.value.clone())]);
    let offers = pool.offers.sure().iter();
    let offers = offers.flat_map(|offer| offer.origin.inputs().to_vec());
    let mut inputs = inputs_of(cluster);
    inputs.extend(inputs::serving(pool));
    inputs.extend([pool.name.span, pool.nodes.sure().min_span, pool.driver.span]);
    inputs.extend(offers);
    let why =
        "what is recorded and told of a pool follows from how its GPUs are measured and shared";
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
    let offers = pools.flat_map(|pool| pool.offers.sure());
    let offers = offers.flat_map(|offer| offer.origin.inputs().to_vec());
    let mut inputs = inputs_of(cluster);
    inputs.extend(offers);
    for pool in cluster.pools_claimed() {
        inputs.push(pool.name.span);
        inputs.extend(inputs::serving(pool));
    }
    let why = "nodes and quotas are looked at for the whole cluster";
    let origin = Origin::rule(inputs, why);
    Some(object(
        cluster,
        "gpuc-cluster",
        BTreeMap::new(),
        &groups,
        origin,
    ))
}

/// The alerts that there are, each once, in the order of the documentation.
pub(super) fn names(cluster: &Checked<'_>) -> BTreeSet<AlertName> {
    let pools = cluster.pools.iter();
    let of_pools = pools.filter_map(|pool| watched(cluster, pool));
    let of_pools = of_pools.flat_map(|watched| alerts::of_pool(&watched));
    let every = of_pools.chain(alerts::of_cluster(cluster));
    every.map(|alert| alert.name).collect()
}

/// What all rules of a pool read, and the dashboards where there are some.
pub(super) fn reads(cluster: &Checked<'_>, pool: &Pool) -> BTreeSet<&'static str> {
    let Some(watched) = watched(cluster, pool) else {
        return BTreeSet::new();
    };
    let recorded = recordings(pool, watched.measures).into_iter();
    let recorded = recorded.map(|recording| recording.expression);
    let told = alerts::of_pool(&watched).into_iter();
    let told = told.map(|alert| alert.expression);
    let mut reads: BTreeSet<_> = recorded.chain(told).flat_map(|it| it.reads).collect();
    if super::has_dashboards(cluster) {
        reads.extend(dashboards::reads());
    }
    reads
}

fn watched<'c>(cluster: &'c Checked<'_>, pool: &'c Pool) -> Option<Watched<'c>> {
    let monitoring = cluster.written.monitoring.as_ref()?;
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
    more: BTreeMap<String, String>,
    groups: &[Value],
    origin: Origin,
) -> Object {
    let all: BTreeMap<_, _> = labels()
        .into_iter()
        .chain(picked_by(cluster))
        .chain(more)
        .collect();
    let object = json!({
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PrometheusRule",
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": all},
        "spec": {"groups": groups},
    });
    Object::new(COMPONENT, &object, origin)
}

/// Where all that is written below `monitoring` stands.
fn inputs_of(cluster: &Checked<'_>) -> Vec<Span> {
    let monitoring = cluster.written.monitoring.as_ref();
    monitoring.map(|it| it.span).into_iter().collect()
}
