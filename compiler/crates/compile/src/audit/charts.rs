//! Checks the charts in the file: they must be installed, and must read the values that are set.

use std::collections::BTreeSet;

use gpuc_model::check::Checked;
use gpuc_model::plan::Plan;
use gpuc_syntax::diag::Report;
use gpuc_syntax::source::Span;

use super::codes::{CHART_NOT_INSTALLED, CHART_VALUE_UNREAD};
use crate::charts::keys::{Keys, unknown_keys};

/// Checks everything below `charts`, and the values that gpuc writes.
///
/// # Panics
///
/// When gpuc itself writes a value that the chart does not read.
pub(super) fn check(plan: &Plan, cluster: &Checked<'_>, report: &mut Report) {
    for (name, settings) in cluster.config.charts.configured() {
        if plan.releases.iter().all(|it| it.chart.name != name) {
            let message = format!("chart `{name}` is not installed");
            let builder = report.diagnostic(&CHART_NOT_INSTALLED, settings.span, message);
            let help =
                format!("remove it, or enable its feature: see `gpuc explain charts.{name}`");
            builder.help(help).emit();
        }
    }
    // Several releases of a chart have the user's values in common.
    let mut reported: BTreeSet<(Span, Vec<String>)> = BTreeSet::new();
    for release in &plan.releases {
        let Some(keys) = Keys::for_chart(release.chart.name) else {
            continue;
        };
        for mismatch in unknown_keys(keys, &release.values) {
            let message = mismatch.message();
            assert!(
                mismatch.span.is_written(),
                "release {}: {message}",
                release.name
            );
            if !reported.insert((mismatch.span, mismatch.path.clone())) {
                continue;
            }
            let builder = report.diagnostic(&CHART_VALUE_UNREAD, mismatch.span, message);
            match mismatch.help() {
                Some(help) => builder.help(help).emit(),
                None => builder.emit(),
            };
        }
    }
}
