//! The alerts: when somebody is told.

mod gpu;
mod node;
mod page;
mod pool;
mod xid;

use gpuc_schema::config::{AlertName, Alerts};

use super::exporter::Measures;
use super::expression::Expression;
use crate::model::Pool;

pub use page::{Page, Severity, page};
pub use xid::{FATAL as FATAL_XIDS, OF_PROGRAMS as XIDS_OF_PROGRAMS};

pub(super) use node::of_cluster;

/// An alert. One name may have several, which look at different things and mean the same.
#[derive(Clone, Debug)]
pub(super) struct Alert {
    /// Its name.
    pub(super) name: AlertName,
    /// The pool, where the expression does not tell it.
    pub(super) pool: Option<String>,
    /// When it fires.
    pub(super) expression: Expression,
    /// How long that has to last, as Prometheus writes it: `5m`.
    pub(super) lasts: String,
    /// One line, with labels.
    pub(super) summary: String,
    /// A sentence with the number that is wrong.
    pub(super) description: String,
}

/// What the alerts of a pool look at.
pub(super) struct Watched<'c> {
    /// The pool.
    pub(super) pool: &'c Pool,
    /// Who measures its GPUs.
    pub(super) measures: Measures,
    /// The thresholds.
    pub(super) limits: &'c Alerts,
}

/// The alerts of a pool that are wanted.
pub(super) fn of_pool(watched: &Watched<'_>) -> Vec<Alert> {
    let gpus = gpu::alerts(watched).into_iter();
    let every = gpus.chain(pool::alerts(watched));
    every
        .filter(|alert| is_wanted(watched.limits, alert.name))
        .collect()
}

/// Whether an alert was not turned off.
pub(super) fn is_wanted(limits: &Alerts, name: AlertName) -> bool {
    limits.disabled.iter().all(|it| it.value != name)
}

/// An alert's name as it is written in the file and in Prometheus.
pub fn word(name: AlertName) -> String {
    format!("{name:?}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_written_as_in_the_file() {
        for name in AlertName::ALL {
            let written = serde_json::to_value(name).expect("a word");
            assert_eq!(written, word(*name));
        }
    }
}
