//! What stands in every tree, and what it is for.

use super::path::{Path, Step};

/// The first lines of a script.
pub(super) const HEAD: &str =
    "every script begins with what it is and where it comes from, and ends at the first error";

/// The first line of a file of data.
pub(super) const COMMENT: &str =
    "every generated file says which file it comes from, so that nobody edits this one";

/// A kustomization.
pub(super) const KUSTOMIZATION: &str =
    "a list of what stands beside it, so that `kubectl apply -k` and GitOps tools bring all of it";

/// Where kustomizations are described.
pub(super) const KUSTOMIZE: &str =
    "https://kubernetes.io/docs/tasks/manage-kubernetes-objects/kustomization/ (from memory)";

/// The functions of all scripts.
pub(super) const LIBRARY: &str = "the functions that all scripts share: flags, looking, comparing, dry runs, stopping before a replacement";

/// The page for people.
pub(super) const README: &str =
    "the page for people: what was worked out from the file, and what to run in which order";

/// The functions of a kind of resource.
pub(super) fn definitions(kind: &str) -> String {
    format!(
        "reads what the cloud says of a resource of the kind {kind}, to compare it with the file"
    )
}

/// What a part of the lock is for.
pub(super) fn lock(path: &Path) -> &'static str {
    let Some(Step::Key(key)) = path.0.first() else {
        return "the lock says what gpuc owns in this folder";
    };
    match key.as_str() {
        "gpuc" => "the version of gpuc that wrote the tree: an upgrade explains itself",
        "input" => "the digest of what the file means: comments, order and layout do not count",
        "from" => "where the file stands, so that a tree whose file is gone is found",
        "charts" => {
            "the charts that are installed, at the versions that gpuc has keys and images of"
        }
        "images" => "every image that runs in the cluster by this tree, for mirrors and scanners",
        "machines" => {
            "the machine that gpuc picked for a pool: a pick is kept, and replaces nobody's nodes"
        }
        "executable" => "the files that can be run",
        "files" => {
            "the digest of each file as gpuc wrote it: what somebody changed is not overwritten"
        }
        _ => "what an unfinished run was about to write",
    }
}
