//! Alerts of the whole cluster: nodes without metrics, quotas, and a missing source of metrics.

use gpuc_model::check::Checked;
use gpuc_schema::config::AlertName;

use super::super::expression::{Expression, any_of_matcher, resource_label};
use super::super::{metrics, series};
use super::{Alert, is_enabled};

/// The enabled alerts of a cluster.
pub(in super::super) fn cluster_alerts(cluster: &Checked<'_>) -> Vec<Alert> {
    let Some(monitoring) = &cluster.config.monitoring else {
        return Vec::new();
    };
    let limits = &monitoring.alerts;
    let quota = quota_nearly_used(
        &quota_resource_pattern(cluster),
        limits.quota_used_percent.value,
    );
    node_without_metrics(cluster)
        .into_iter()
        .chain([quota, state_metrics_absent()])
        .filter(|alert| is_enabled(limits, alert.name))
        .collect()
}

/// The pool of a node is known only if the node has a target: the alert then has the label `pool`.
fn node_without_metrics(cluster: &Checked<'_>) -> Option<Alert> {
    let advertised = cluster
        .pools
        .iter()
        .flat_map(|pool| pool.advertised.expect_resolved());
    let mut labels: Vec<_> = advertised
        .map(|resource| resource_label(&resource.name))
        .collect();
    labels.sort();
    labels.dedup();
    if labels.is_empty() {
        return None;
    }
    let matchers = any_of_matcher("resource", labels.iter().map(String::as_str));
    let nodes = || {
        let nodes = Expression::for_metric(&metrics::NODE_CAPACITY, &matchers);
        let measured = Expression::for_series(&series::MEMORY_BYTES, "");
        nodes.combined_with(measured, "(group by (node) ({} > 0) unless on (node) {})")
    };
    let pool = Expression::for_series(&series::NODE_POOL, "");
    let with_pool = nodes().combined_with(pool, "{} * on (node) group_left (pool) {}");
    Some(Alert {
        name: AlertName::GpuNodeWithoutMetrics,
        pool: None,
        expression: with_pool.combined_with(nodes(), "{} or on (node) {}"),
        duration: "10m".to_owned(),
        summary: "no metrics of the GPUs of {{ $labels.node }}".to_owned(),
        description: "{{ $labels.node }} has GPUs, and Prometheus receives no metrics of them."
            .to_owned(),
    })
}

/// The resources in GPU quotas, as a regular expression in PromQL's quotes. For extended resources, Kubernetes supports
/// only `requests.` (kubernetes/kubernetes `pkg/quota/v1/evaluator/core/pods.go`); ResourceClaims count by DeviceClass.
fn quota_resource_pattern(cluster: &Checked<'_>) -> String {
    let classes = cluster.pools.iter().flat_map(|pool| &pool.classes);
    std::iter::once("requests\\\\.nvidia\\\\.com/.+".to_owned())
        .chain(classes.map(|class| class.quota_resource().replace('.', "\\\\.")))
        .collect::<Vec<_>>()
        .join("|")
}

fn quota_nearly_used(quotas: &str, percent: u32) -> Alert {
    let quota = |kind: &str| {
        let matchers = format!("resource=~\"{quotas}\",type=\"{kind}\"");
        Expression::for_metric(&metrics::RESOURCE_QUOTA, &matchers)
    };
    Alert {
        name: AlertName::GpuQuotaNearlyUsed,
        pool: None,
        expression: quota("used").combined_with(
            quota("hard"),
            &format!(
                "max by (namespace, resourcequota, resource) ({{}}) \
                 / (max by (namespace, resourcequota, resource) ({{}}) > 0) >= {percent} / 100"
            ),
        ),
        duration: "15m".to_owned(),
        summary: "{{ $labels.namespace }} has nearly used up its GPU quota".to_owned(),
        description: "{{ $labels.namespace }} uses {{ $value | humanizePercentage }} of {{ $labels.resource }} in its \
                      quota {{ $labels.resourcequota }}."
            .to_owned(),
    }
}

/// Without kube-state-metrics, the expressions of other alerts have no result and never fire.
fn state_metrics_absent() -> Alert {
    Alert {
        name: AlertName::KubeStateMetricsAbsent,
        pool: None,
        expression: Expression::for_metric(&metrics::NODE_CAPACITY, "").wrapped_in("absent({})"),
        duration: "10m".to_owned(),
        summary: "Prometheus has no metrics of kube-state-metrics".to_owned(),
        description: "Prometheus has no series of kube_node_status_capacity, so alerts about nodes, DaemonSets and \
                      quotas cannot fire."
            .to_owned(),
    }
}
