//! Explanations of boilerplate that is in every tree.

use super::path::{Path, Step};

/// The first lines of a script.
pub(super) const SCRIPT_HEAD: &str =
    "every script starts with its description and its source, and stops at the first error";

/// The first line of a file of data.
pub(super) const HEADER_COMMENT: &str =
    "every generated file names its source, so that users edit the source instead";

/// A kustomization.
pub(super) const KUSTOMIZATION: &str =
    "a list of the files next to it, so that `kubectl apply -k` and GitOps controllers apply them";

/// Where kustomizations are described.
pub(super) const KUSTOMIZE: &str =
    "https://kubernetes.io/docs/tasks/manage-kubernetes-objects/kustomization/ (from memory)";

/// The functions of all scripts.
pub(super) const LIBRARY: &str = "the shared functions of all scripts: flags, queries, comparisons, dry runs, the stop before a replacement";

/// The README.
pub(super) const README: &str =
    "documentation of the tree: the settings derived from the file, and the commands in order";

/// The functions of a kind of resource.
pub(super) fn definitions(kind: &str) -> String {
    format!(
        "reads the state of a resource of kind {kind} from the cloud, to compare it with the file"
    )
}

/// The purpose of a part of the lock.
pub(super) fn lock(path: &Path) -> &'static str {
    let Some(Step::Key(key)) = path.0.first() else {
        return "the lock records the files that gpuc owns in this directory";
    };
    match key.as_str() {
        "gpuc" => "the version of gpuc that wrote the tree, to explain changes by upgrades",
        "input" => "the digest of the file's values: comments, order and formatting are ignored",
        "from" => "the path of the file, to find trees whose file was removed",
        "charts" => "the installed charts, at the versions whose keys and images gpuc knows",
        "images" => "every image that this tree runs in the cluster, for mirrors and scanners",
        "incompleteImages" => {
            "images whose tags an operator completes on each node, with what the file does not determine"
        }
        "mirroredImages" => "where the nodes pull each public image from, to fill the mirror",
        "machines" => {
            "the machine that gpuc selected for a pool: the selection is kept, so that no nodes are replaced"
        }
        "executable" => "the executable files",
        "files" => "the digest of each file as gpuc wrote it: edited files are not overwritten",
        _ => "the files that an unfinished run was about to write",
    }
}
