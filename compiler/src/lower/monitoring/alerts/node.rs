//! Alerts that look at the whole cluster: a node that no exporter knows, and quotas.

use gpuc_schema::config::AlertName;

use super::super::expression::{Expression, any_of, resource_label};
use super::super::metrics;
use super::super::series;
use super::{Alert, is_wanted};
use crate::check::Checked;

/// The alerts of a cluster that are wanted.
pub(in super::super) fn of_cluster(cluster: &Checked<'_>) -> Vec<Alert> {
    let Some(monitoring) = &cluster.written.monitoring else {
        return Vec::new();
    };
    let limits = &monitoring.alerts;
    let quota = quota_nearly_used(&quotas(cluster), limits.quota_used_percent.value);
    let every = without_metrics(cluster).into_iter().chain([quota]);
    every
        .filter(|alert| is_wanted(limits, alert.name))
        .collect()
}

/// A node's pool is known only where a target is: it is told where it can be.
fn without_metrics(cluster: &Checked<'_>) -> Option<Alert> {
    let offers = cluster.pools.iter().flat_map(|pool| pool.offers.sure());
    let mut labels: Vec<_> = offers
        .map(|offer| resource_label(&offer.resource))
        .collect();
    labels.sort();
    labels.dedup();
    if labels.is_empty() {
        return None;
    }
    let matchers = any_of("resource", labels.iter().map(String::as_str));
    let nodes = || {
        let nodes = Expression::of(&metrics::NODE_CAPACITY, &matchers);
        let measured = Expression::recorded(&series::MEMORY_BYTES, "");
        nodes.with(measured, "(group by (node) ({} > 0) unless on (node) {})")
    };
    let pool = Expression::recorded(&series::NODE_POOL, "");
    let with_pool = nodes().with(pool, "{} * on (node) group_left (pool) {}");
    Some(Alert {
        name: AlertName::GpuNodeWithoutMetrics,
        pool: None,
        expression: with_pool.with(nodes(), "{} or on (node) {}"),
        lasts: "10m".to_owned(),
        summary: "nobody measures the GPUs of {{ $labels.node }}".to_owned(),
        description: "{{ $labels.node }} has GPUs, and no metrics of them come in.".to_owned(),
    })
}

/// What quotas of GPUs limit, as a regular expression in PromQL's quotes. Only `requests.` counts for what is not
/// Kubernetes' own (kubernetes/kubernetes `pkg/quota/v1/evaluator/core/pods.go`); claims count by their class.
fn quotas(cluster: &Checked<'_>) -> String {
    let classes = cluster.pools.iter().flat_map(|pool| &pool.classes);
    let classes = classes.map(|class| class.quota().replace('.', "\\\\."));
    let counted = std::iter::once("requests\\\\.nvidia\\\\.com/.+".to_owned());
    counted.chain(classes).collect::<Vec<_>>().join("|")
}

fn quota_nearly_used(quotas: &str, percent: u32) -> Alert {
    let of = |kind: &str| {
        let matchers = format!("resource=~\"{quotas}\",type=\"{kind}\"");
        Expression::of(&metrics::RESOURCE_QUOTA, &matchers)
    };
    Alert {
        name: AlertName::GpuQuotaNearlyUsed,
        pool: None,
        expression: of("used").with(
            of("hard"),
            &format!(
                "max by (namespace, resourcequota, resource) ({{}}) \
                 / (max by (namespace, resourcequota, resource) ({{}}) > 0) >= {percent} / 100"
            ),
        ),
        lasts: "15m".to_owned(),
        summary: "{{ $labels.namespace }} has nearly used up its GPUs".to_owned(),
        description: "{{ $labels.namespace }} uses {{ $value | humanizePercentage }} of {{ $labels.resource }} in its \
                      quota {{ $labels.resourcequota }}."
            .to_owned(),
    }
}
