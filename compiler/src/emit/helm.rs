//! Helm values.

use super::header::Header;
use super::{name, yaml_file};
use crate::plan::Release;
use crate::tree::Tree;

/// The values of each release, in a folder of its own.
pub(super) fn emit(releases: &[Release], header: &Header, tree: &mut Tree) {
    for release in releases {
        tree.add(values_path(release), yaml_file(header, &release.values));
    }
}

/// Where the values of a release stand.
pub(super) fn values_path(release: &Release) -> String {
    format!("helm/{}/values.yaml", name::part(&release.name))
}
