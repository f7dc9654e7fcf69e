//! DCGM's exporter, as the operator runs it: off, unless somebody says which metrics are wanted.

use std::collections::BTreeMap;

use serde_json::{Value, json};

/// What the exporter measures, and who reads it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exporter {
    /// The list of metrics, as the exporter reads it.
    pub metrics: String,
    /// The labels by which a Prometheus picks the ServiceMonitor up; `None` where there is to be none.
    pub monitor: Option<BTreeMap<String, String>>,
}

/// The ConfigMap of the metrics.
const NAME: &str = "gpuc-dcgm-metrics";

/// The section of the values. Left to itself the chart runs the exporter, and asks for a kind that many clusters do not
/// have.
pub(super) fn values(exporter: Option<&Exporter>) -> Value {
    let Some(exporter) = exporter else {
        return json!({"enabled": false, "serviceMonitor": {"enabled": false}});
    };
    let monitor = match &exporter.monitor {
        Some(labels) => json!({"enabled": true, "additionalLabels": labels}),
        None => json!({"enabled": false}),
    };
    json!({
        "enabled": true,
        "config": {"create": true, "name": NAME, "data": exporter.metrics},
        "serviceMonitor": monitor,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_measured_unasked() {
        let off = json!({"enabled": false, "serviceMonitor": {"enabled": false}});
        assert_eq!(values(None), off);
        let exporter = Exporter {
            metrics: "DCGM_FI_DEV_GPU_TEMP, gauge, temperature\n".to_owned(),
            monitor: Some(BTreeMap::from([("release".to_owned(), "a".to_owned())])),
        };
        let on = values(Some(&exporter));
        assert_eq!(on["config"]["data"], json!(exporter.metrics));
        assert_eq!(
            on["serviceMonitor"]["additionalLabels"],
            json!({"release": "a"})
        );
    }
}
