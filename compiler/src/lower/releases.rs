//! The Helm releases that a cluster needs.

use crate::chart::CHARTS;
use crate::check::Checked;
use crate::plan::Release;

/// The releases of every chart, by name.
pub(super) fn releases(cluster: &Checked<'_>) -> Vec<Release> {
    let mut releases: Vec<_> = CHARTS
        .iter()
        .flat_map(|chart| (chart.releases)(cluster))
        .collect();
    releases.sort_by(|a, b| a.name.cmp(&b.name));
    releases
}
