//! DCGM's exporter, as the operator runs it: on, where it is to measure the GPUs of pools that the operator serves.

use serde_json::{Value, json};

use crate::check::Checked;
use crate::lower::monitoring::{self, Measures};
use crate::model::Pool;

/// The ConfigMap of the metrics.
const NAME: &str = "gpuc-dcgm-metrics";

/// Whether it measures a pool.
pub(super) fn measures(cluster: &Checked<'_>, pool: &Pool) -> bool {
    monitoring::measures(cluster, pool) == Some(Measures::Operator)
}

/// The section of the values. Left to itself the chart runs the exporter with metrics that no rule reads, and asks for
/// a ServiceMonitor, a kind that many clusters do not have; a PodMonitor of this tree is enough.
pub(super) fn values(cluster: &Checked<'_>) -> Value {
    let pools = cluster.pools.iter();
    let pools: Vec<_> = pools.filter(|pool| measures(cluster, pool)).collect();
    let monitor = json!({"enabled": false});
    if pools.is_empty() {
        return json!({"enabled": false, "serviceMonitor": monitor});
    }
    let metrics = monitoring::dcgm_metrics(cluster, pools);
    json!({
        "enabled": true,
        "config": {"create": true, "name": NAME, "data": monitoring::csv(&metrics)},
        "serviceMonitor": monitor,
    })
}
