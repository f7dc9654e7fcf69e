//! The Helm releases that a cluster needs.

use crate::chart::{CHARTS, images, keys};
use crate::check::Checked;
use crate::node::{Node, Origin};
use crate::plan::Release;

/// The releases of every chart, by name, with the user's values over gpuc's.
pub(super) fn releases(cluster: &Checked<'_>) -> Vec<Release> {
    let releases = CHARTS.iter().flat_map(|chart| (chart.releases)(cluster));
    let mut releases: Vec<_> = releases.map(|release| finished(cluster, release)).collect();
    releases.sort_by(|a, b| a.name.cmp(&b.name));
    releases
}

/// The release with what the file says of all of them: where charts and images are pulled from, digests, and the
/// user's own values, which have the last word.
fn finished(cluster: &Checked<'_>, mut release: Release) -> Release {
    let written = &cluster.written;
    let theirs = written.charts.get(release.chart.name);
    let theirs = theirs.map(|settings| Node::passed(&settings.values));
    if let Some(registry) = &written.mirror.charts {
        registry
            .trim_end_matches('/')
            .clone_into(&mut release.repository);
    }
    // Which images run is for all of the values to say.
    let all = laid_over(&release.values, theirs.as_ref());
    let running = images::running(release.chart.name, &all);
    if let Some(registry) = &written.mirror.images {
        let moved = running.iter().map(|image| image.of);
        let values = images::mirrored(release.chart.name, moved, registry);
        let why = "the file names a registry to pull images from";
        let values = Node::typed(&values, Origin::rule([registry.span], why));
        release.values = keys::merge(release.values, &values);
    }
    // As they are pulled by now: a digest must not lead an image out of its mirror.
    let all = laid_over(&release.values, theirs.as_ref());
    for image in images::running(release.chart.name, &all) {
        let digests = written.digests.iter();
        let mut digests = digests.filter(|(name, _)| ***name == image.of.reference());
        if let Some((name, digest)) = digests.next() {
            let origin = Origin::rule([name.span, digest.span], "the file says what the image is");
            let values = Node::typed(&images::pinned(&image, digest), origin);
            release.values = keys::merge(release.values, &values);
        }
    }
    release.values = laid_over(&release.values, theirs.as_ref());
    release
}

/// gpuc's values so far, with the user's over them.
fn laid_over(ours: &Node, theirs: Option<&Node>) -> Node {
    match theirs {
        Some(theirs) => keys::merge(ours.clone(), theirs),
        None => ours.clone(),
    }
}
