//! The operator's dcgm-exporter: enabled if it measures the GPUs of a pool that the operator serves.

use gpuc_model::Pool;
use gpuc_model::check::Checked;
use serde_json::{Value, json};

use crate::lower::monitoring::{self, GpuExporter};

/// The ConfigMap of the metrics, before the digest of its content ([`crate::charts::read_once`]).
const NAME: &str = "gpuc-dcgm-metrics";

/// Whether it measures a pool.
pub(super) fn measures_pool(cluster: &Checked<'_>, pool: &Pool) -> bool {
    monitoring::gpu_exporter(cluster, pool) == Some(GpuExporter::Operator)
}

/// The section of the values. By default, the chart exports metrics that no rule reads, and creates a ServiceMonitor,
/// a kind that many clusters do not have. A PodMonitor of the generated tree scrapes the exporter instead.
pub(super) fn values(cluster: &Checked<'_>) -> Value {
    let pools: Vec<_> = (cluster.pools.iter())
        .filter(|pool| measures_pool(cluster, pool))
        .collect();
    let monitor = json!({"enabled": false});
    if pools.is_empty() {
        return json!({"enabled": false, "serviceMonitor": monitor});
    }
    let metrics = monitoring::dcgm_metrics(cluster, pools);
    json!({
        "enabled": true,
        "config": {"create": true, "name": NAME, "data": monitoring::metrics_csv(&metrics)},
        "serviceMonitor": monitor,
    })
}
