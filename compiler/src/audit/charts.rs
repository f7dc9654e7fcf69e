//! Charts that a user names: that they are installed, and that they read the values they are given.

use std::collections::BTreeSet;

use super::codes::{CHART_NOT_INSTALLED, CHART_VALUE_UNREAD};
use crate::chart::keys::{Keys, unknown_keys};
use crate::check::Checked;
use crate::diag::Report;
use crate::plan::Plan;
use crate::source::Span;

/// Looks at everything that was written below `charts`, and at what gpuc made of its own.
///
/// # Panics
///
/// When gpuc itself writes a value that the chart does not read.
pub(super) fn look(plan: &Plan, cluster: &Checked<'_>, report: &mut Report) {
    for (name, settings) in cluster.written.charts.written() {
        if plan.releases.iter().all(|it| it.chart.name != name) {
            let message = format!("nothing in the file installs the chart `{name}`");
            let draft = report.draft(&CHART_NOT_INSTALLED, settings.span, message);
            let help =
                format!("remove it, or ask for what it brings: `gpuc explain charts.{name}`");
            draft.help(help).emit();
        }
    }
    // Several releases of a chart have the user's values in common.
    let mut said: BTreeSet<(Span, Vec<String>)> = BTreeSet::new();
    for release in &plan.releases {
        let Some(keys) = Keys::of(release.chart.name) else {
            continue;
        };
        for misfit in unknown_keys(keys, &release.values) {
            let message = misfit.message();
            assert!(
                misfit.span.is_written(),
                "release {}: {message}",
                release.name
            );
            if !said.insert((misfit.span, misfit.path.clone())) {
                continue;
            }
            let draft = report.draft(&CHART_VALUE_UNREAD, misfit.span, message);
            match misfit.help() {
                Some(help) => draft.help(help).emit(),
                None => draft.emit(),
            };
        }
    }
}
