//! GPU monitoring: metrics, alerts and dashboards, as objects of the Prometheus Operator and for Grafana's sidecar.
//!
//! Data flows one way: recording rules convert the scraped [`metrics`] of each pool to base units ([`series`],
//! `recording`), and alerts and dashboards query the recorded series. Only the recording rules depend on the pool's
//! exporter and sharing mode.

pub mod alerts;
mod dashboards;
mod doc;
mod exporter;
pub mod expression;
mod monitors;
mod namespaces;
mod policies;
mod recording;
mod rules;
pub mod series;
mod summary;

use std::collections::BTreeMap;

use gpuc_schema::config::Prometheus;

use gpuc_model::check::Checked;
use gpuc_model::plan::Object;

pub use doc::{alert_names, alert_page, alerts_page};
pub use gpuc_model::metrics;

pub(super) use policies::prometheus_peer;
pub(super) use summary::readme_sentences;

pub(crate) use exporter::{
    GpuExporter, dcgm_metrics, exported_metrics, gpu_exporter, metrics_csv, runtime_measures_gpus,
};

/// The folder of the manifests.
const COMPONENT: &str = "monitoring";

/// The namespace of rules, monitors and dashboards.
const NAMESPACE: &str = "gpuc-monitoring";

/// The objects. Without `monitoring`, only the policy that protects the metrics of gpuc-runtime.
pub(super) fn objects(cluster: &Checked<'_>) -> Vec<Object> {
    if cluster.config.monitoring.is_none() {
        return policies::policies(cluster);
    }
    let pools = cluster.pools.iter();
    let mut objects = namespaces::namespaces(cluster);
    objects.extend(monitors::monitors(cluster));
    objects.extend(policies::policies(cluster));
    objects.extend(pools.filter_map(|pool| rules::pool_rules(cluster, pool)));
    objects.extend(rules::cluster_rules(cluster));
    if has_dashboards(cluster) {
        objects.extend(dashboards::objects(cluster));
    }
    objects
}

/// Whether the file enables dashboards.
fn has_dashboards(cluster: &Checked<'_>) -> bool {
    let monitoring = cluster.config.monitoring.as_ref();
    monitoring.is_some_and(|monitoring| monitoring.dashboards.value)
}

/// The labels of every monitoring object.
fn labels() -> BTreeMap<String, String> {
    let all = [
        ("app.kubernetes.io/managed-by", "gpuc"),
        ("app.kubernetes.io/part-of", "gpuc-monitoring"),
    ];
    all.map(|(key, value)| (key.to_owned(), value.to_owned()))
        .into()
}

/// The labels by which an existing Prometheus selects monitors and rules. The one that gpuc installs selects all.
fn selection_labels(cluster: &Checked<'_>) -> Option<(String, String)> {
    let monitoring = cluster.config.monitoring.as_ref()?;
    match &monitoring.prometheus.value {
        Prometheus::Install(_) => None,
        Prometheus::Existing(existing) => {
            Some(("release".to_owned(), existing.release.value.clone()))
        }
    }
}
