//! The alerts.

mod doc;
mod gpu;
mod node;
mod pool;
mod xid;

use gpuc_model::Pool;
use gpuc_schema::config::{AlertName, Alerts};

use super::exporter::GpuExporter;
use super::expression::Expression;

pub use doc::{AlertDoc, Severity, alert_doc};
pub use xid::{CAUSED_BY_PROGRAMS as XIDS_OF_PROGRAMS, FATAL as FATAL_XIDS};

pub(super) use node::cluster_alerts;

/// An alerting rule. Several rules may have one name: they evaluate different series and mean the same.
#[derive(Clone, Debug)]
pub(super) struct Alert {
    /// The name.
    pub(super) name: AlertName,
    /// The pool, if the result of the expression has no label for it.
    pub(super) pool: Option<String>,
    /// The condition under which it fires.
    pub(super) expression: Expression,
    /// How long the condition must hold, as Prometheus writes it: `5m`.
    pub(super) duration: String,
    /// One line, with labels.
    pub(super) summary: String,
    /// A sentence with the value that caused the alert.
    pub(super) description: String,
}

/// The inputs of a pool's alerts.
pub(super) struct PoolAlertContext<'c> {
    /// The pool.
    pub(super) pool: &'c Pool,
    /// The exporter that measures its GPUs.
    pub(super) exporter: GpuExporter,
    /// The thresholds.
    pub(super) limits: &'c Alerts,
}

/// The enabled alerts of a pool.
pub(super) fn pool_alerts(watched: &PoolAlertContext<'_>) -> Vec<Alert> {
    gpu::alerts(watched)
        .into_iter()
        .chain(pool::alerts(watched))
        .filter(|alert| is_enabled(watched.limits, alert.name))
        .collect()
}

/// Whether an alert is enabled.
pub(super) fn is_enabled(limits: &Alerts, name: AlertName) -> bool {
    limits
        .disabled
        .iter()
        .all(|disabled| disabled.value != name)
}

/// The name of an alert in the file and in Prometheus.
pub fn alert_id(name: AlertName) -> String {
    format!("{name:?}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_match_the_file() {
        for name in AlertName::ALL {
            let written = serde_json::to_value(name).expect("a string");
            assert_eq!(written, alert_id(*name));
        }
    }
}
