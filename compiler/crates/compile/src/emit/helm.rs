//! Helm values.

use gpuc_model::plan::Release;
use gpuc_syntax::tree::Tree;

use super::header::Header;
use super::{name, yaml_file};

/// Writes the values of each release to a folder of its own.
pub(super) fn emit(releases: &[Release], header: &Header, tree: &mut Tree) {
    for release in releases {
        tree.add(values_path(release), yaml_file(header, &release.values));
    }
}

/// The path of a release's values file.
pub(super) fn values_path(release: &Release) -> String {
    format!("helm/{}/values.yaml", name::file_name_part(&release.name))
}
