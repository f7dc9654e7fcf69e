//! The Helm releases that a cluster needs.

use crate::chart::{CHARTS, keys};
use crate::check::Checked;
use crate::node::Node;
use crate::plan::Release;

/// The releases of every chart, by name, with the user's values over gpuc's.
pub(super) fn releases(cluster: &Checked<'_>) -> Vec<Release> {
    let releases = CHARTS.iter().flat_map(|chart| (chart.releases)(cluster));
    let mut releases: Vec<_> = releases
        .map(
            |release| match cluster.written.charts.get(release.chart.name) {
                Some(settings) => Release {
                    values: keys::merge(release.values, &Node::passed(&settings.values)),
                    ..release
                },
                None => release,
            },
        )
        .collect();
    releases.sort_by(|a, b| a.name.cmp(&b.name));
    releases
}
