//! The Helm releases of a cluster.

use gpuc_model::check::Checked;
use gpuc_model::plan::Release;
use gpuc_syntax::node::{Node, Origin};

use super::node_tags;
use crate::charts::{CHARTS, images, keys, read_once};

/// The releases of every chart, sorted by name, with the user's values merged over gpuc's.
pub(super) fn releases(cluster: &Checked<'_>) -> Vec<Release> {
    let releases = CHARTS.iter().flat_map(|chart| (chart.releases)(cluster));
    let mut releases: Vec<_> = releases
        .map(|release| customize(cluster, release))
        .collect();
    releases.sort_by(|a, b| a.name.cmp(&b.name));
    releases
}

/// Applies mirrors, digests and the user's values to a release. The user's values take precedence.
fn customize(cluster: &Checked<'_>, mut release: Release) -> Release {
    let written = &cluster.config;
    let user_values = written.charts.get(release.chart.name);
    let user_values = user_values.map(|settings| Node::from_fragment(&settings.values));
    if let Some(registry) = &written.mirror.charts {
        registry
            .trim_end_matches('/')
            .clone_into(&mut release.repository);
    }
    // All of the values together determine the images that run.
    let all = with_user_values(&release.values, user_values.as_ref());
    let running = images::running_images(release.chart.name, &all);
    if let Some(registry) = &written.mirror.images {
        let images_to_move = running.iter().map(|image| image.chart_image);
        let values = images::mirror_values(release.chart.name, images_to_move, registry);
        let reason = "`mirror.images` sets the registry of images";
        let values = Node::from_serializable(&values, Origin::rule([registry.span], reason));
        release.values = keys::merge(release.values, &values);
    }
    // After mirroring: pinning a digest must not change the registry back.
    let all = with_user_values(&release.values, user_values.as_ref());
    let mirrored = images::running_images(release.chart.name, &all);
    for (public, image) in running.iter().zip(mirrored) {
        let suffixes = node_tags::release_suffixes(cluster, public, &all);
        let mut digests = written.digests.iter();
        let digest = digests.find(|(name, _)| {
            let mut complete = node_tags::completed(&public.reference, &suffixes);
            name.value == public.reference || complete.any(|(reference, _)| name.value == reference)
        });
        if let Some((name, digest)) = digest {
            let origin = Origin::rule([name.span, digest.span], "`digests` pins the image");
            let values = Node::from_serializable(&images::pinned_values(&image, digest), origin);
            release.values = keys::merge(release.values, &values);
        }
    }
    let all = with_user_values(&release.values, user_values.as_ref());
    release.values = read_once::with_digests(release.chart.name, all);
    release
}

/// The user's values merged over gpuc's.
fn with_user_values(values: &Node, user_values: Option<&Node>) -> Node {
    match user_values {
        Some(user_values) => keys::merge(values.clone(), user_values),
        None => values.clone(),
    }
}
