//! What watches the GPUs: metrics, alerts and dashboards, as objects of the Prometheus Operator and for Grafana's
//! sidecar.
//!
//! Expressions go one way: what is scraped ([`metrics`]) is recorded for each pool in base units ([`series`],
//! `recording`), and alerts and dashboards look at what is recorded. How a pool is measured and shared matters to the
//! recording alone.

pub mod alerts;
mod dashboards;
mod doc;
mod exporter;
pub mod expression;
pub mod metrics;
mod monitors;
mod namespaces;
mod policies;
mod recording;
mod rules;
pub mod series;
mod summary;

use std::collections::BTreeMap;

use gpuc_schema::config::Prometheus;

use crate::check::Checked;
use crate::plan::Object;

pub use doc::{alert_page, alerts_page};

pub(super) use policies::prometheus;
pub(super) use summary::sentences;

pub(crate) use exporter::{Measures, csv, dcgm_metrics, measures, runtime_measures};

/// The folder of the manifests.
const COMPONENT: &str = "monitoring";

/// The namespace of rules, monitors and dashboards.
const NAMESPACE: &str = "gpuc-monitoring";

/// The objects; none where the file has no `monitoring`.
pub(super) fn objects(cluster: &Checked<'_>) -> Vec<Object> {
    if cluster.written.monitoring.is_none() {
        return Vec::new();
    }
    let pools = cluster.pools.iter();
    let mut objects = namespaces::namespaces(cluster);
    objects.extend(monitors::monitors(cluster));
    objects.extend(policies::policies(cluster));
    objects.extend(pools.filter_map(|pool| rules::of_pool(cluster, pool)));
    objects.extend(rules::of_cluster(cluster));
    if has_dashboards(cluster) {
        objects.extend(dashboards::objects(cluster));
    }
    objects
}

/// Whether dashboards are wanted.
fn has_dashboards(cluster: &Checked<'_>) -> bool {
    let monitoring = cluster.written.monitoring.as_ref();
    monitoring.is_some_and(|monitoring| monitoring.dashboards.value)
}

/// The labels of everything here.
fn labels() -> BTreeMap<String, String> {
    let all = [
        ("app.kubernetes.io/managed-by", "gpuc"),
        ("app.kubernetes.io/part-of", "gpuc-monitoring"),
    ];
    all.map(|(key, value)| (key.to_owned(), value.to_owned()))
        .into()
}

/// The labels by which a Prometheus that is there picks monitors and rules. The one that gpuc installs takes all.
fn picked_by(cluster: &Checked<'_>) -> Option<(String, String)> {
    let monitoring = cluster.written.monitoring.as_ref()?;
    match &monitoring.prometheus.value {
        Prometheus::Install(_) => None,
        Prometheus::Existing(existing) => {
            Some(("release".to_owned(), existing.release.value.clone()))
        }
    }
}
