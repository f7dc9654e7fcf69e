//! Volumes: their kinds and the paths in them.

use super::Here;
use super::containers::one_of;
use super::place::Step;
use super::read::{get, switch, text};

/// Paths of files in a volume: within it, and not where Kubernetes keeps its own.
///
/// Source: kubernetes `pkg/apis/core/validation/validation.go`, `ValidateLocalNonReservedPath` in `validateKeyToPath`,
/// `validateDownwardAPIVolumeFile` and `validateProjectionSources`.
const WITHIN: &[&str] = &[
    "ClusterTrustBundleProjection",
    "DownwardAPIVolumeFile",
    "KeyToPath",
    "ServiceAccountTokenProjection",
];

pub(super) fn look(here: &mut Here<'_, '_>) {
    if WITHIN.contains(&here.name) {
        within(here);
    }
    match here.name {
        "DownwardAPIVolumeFile" => one_of(here, here.node, &["fieldRef", "resourceFieldRef"], true),
        "EphemeralVolumeSource" => ephemeral(here),
        "EmptyDirVolumeSource" => medium(here),
        "HostPathVolumeSource" => no_way_up(here),
        "NFSVolumeSource" => from_the_root(here),
        "VolumeMount" => read_only(here),
        _ => {}
    }
}

fn goes_up(path: &str) -> bool {
    path.split('/').any(|part| part == "..")
}

fn within(here: &mut Here<'_, '_>) {
    if let Some(path) = text(here.node, "path")
        && (path.starts_with(['/']) || path.starts_with("..") || goes_up(path))
    {
        here.refuse(
            [Step::from("path")],
            |at| format!("`{at}` is `{path}`, which is no path within the volume"),
            "write it without `/` or `..` before it, and without `..` in it",
        );
    }
}

/// Source: `validateHostPathVolumeSource` there.
fn no_way_up(here: &mut Here<'_, '_>) {
    if let Some(path) = text(here.node, "path").filter(|path| goes_up(path)) {
        here.refuse(
            [Step::from("path")],
            |at| format!("`{at}` is `{path}`, and may have no `..`"),
            "write the way from `/`",
        );
    }
}

/// Source: `validateNFSVolumeSource` there.
fn from_the_root(here: &mut Here<'_, '_>) {
    if let Some(path) = text(here.node, "path").filter(|path| !path.starts_with('/')) {
        here.refuse(
            [Step::from("path")],
            |at| format!("`{at}` is `{path}`, and has to begin with `/`"),
            format!("write `/{path}`"),
        );
        here.meant(Some(format!("/{path}")));
    }
}

/// Source: `validateVolumeSource` there, `volume.Ephemeral`.
fn ephemeral(here: &mut Here<'_, '_>) {
    if here.is_whole && get(here.node, "volumeClaimTemplate").is_none() {
        here.refuse(
            [],
            |path| format!("`{path}` has no `volumeClaimTemplate`"),
            "write the `volumeClaimTemplate` of which a claim is made for each pod",
        );
    }
}

/// The API server takes any, and the kubelet starts no pod with another.
///
/// Source: kubernetes `pkg/volume/emptydir/empty_dir.go`, `SetUpAt` (from memory).
fn medium(here: &mut Here<'_, '_>) {
    let Some(medium) = text(here.node, "medium") else {
        return;
    };
    if !["Memory", "HugePages"].contains(&medium) && !medium.starts_with("HugePages-") {
        here.refuse(
            [Step::from("medium")],
            |path| format!("`{path}` is `{medium}`, and has to be `Memory` or `HugePages`"),
            "write `Memory`, or remove it for the node's disk",
        );
    }
}

/// Source: `validateMountRecursiveReadOnly` there.
fn read_only(here: &mut Here<'_, '_>) {
    let is_asked = text(here.node, "recursiveReadOnly").is_some_and(|it| it != "Disabled");
    if is_asked && switch(here.node, "readOnly") != Some(true) && here.is_whole {
        here.refuse(
            [Step::from("recursiveReadOnly")],
            |path| format!("`{path}` is nothing without `readOnly: true`"),
            "write `readOnly: true` beside it",
        );
    }
}
