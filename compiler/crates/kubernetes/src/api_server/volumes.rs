//! Volumes: sources and paths.

use super::ObjectContext;
use super::containers::one_of;
use super::field_path::Step;
use super::scalar::{get, switch, text};

/// File paths in a volume must be inside it, and must not conflict with Kubernetes' own files.
///
/// Source: kubernetes `pkg/apis/core/validation/validation.go`, `ValidateLocalNonReservedPath` in `validateKeyToPath`,
/// `validateDownwardAPIVolumeFile` and `validateProjectionSources`.
const WITHIN: &[&str] = &[
    "ClusterTrustBundleProjection",
    "DownwardAPIVolumeFile",
    "KeyToPath",
    "ServiceAccountTokenProjection",
];

pub(super) fn validate(ctx: &mut ObjectContext<'_, '_>) {
    if WITHIN.contains(&ctx.name) {
        within(ctx);
    }
    match ctx.name {
        "DownwardAPIVolumeFile" => one_of(ctx, ctx.node, &["fieldRef", "resourceFieldRef"], true),
        "EphemeralVolumeSource" => ephemeral(ctx),
        "EmptyDirVolumeSource" => medium(ctx),
        "HostPathVolumeSource" => no_way_up(ctx),
        "NFSVolumeSource" => from_the_root(ctx),
        "VolumeMount" => read_only(ctx),
        _ => {}
    }
}

fn goes_up(path: &str) -> bool {
    path.split('/').any(|part| part == "..")
}

fn within(ctx: &mut ObjectContext<'_, '_>) {
    if let Some(path) = text(ctx.node, "path")
        && (path.starts_with(['/']) || path.starts_with("..") || goes_up(path))
    {
        ctx.refuse(
            [Step::from("path")],
            |at| format!("`{at}` is `{path}`, which is not a valid path within the volume"),
            "write a relative path without `..`",
        );
    }
}

/// Source: `validateHostPathVolumeSource` there.
fn no_way_up(ctx: &mut ObjectContext<'_, '_>) {
    if let Some(path) = text(ctx.node, "path").filter(|path| goes_up(path)) {
        ctx.refuse(
            [Step::from("path")],
            |at| format!("`{at}` is `{path}`, but must not contain `..`"),
            "write an absolute path without `..`",
        );
    }
}

/// Source: `validateNFSVolumeSource` there.
fn from_the_root(ctx: &mut ObjectContext<'_, '_>) {
    if let Some(path) = text(ctx.node, "path").filter(|path| !path.starts_with('/')) {
        ctx.refuse(
            [Step::from("path")],
            |at| format!("`{at}` is `{path}`, but must start with `/`"),
            format!("write `/{path}`"),
        );
        ctx.meant(Some(format!("/{path}")));
    }
}

/// Source: `validateVolumeSource` there, `volume.Ephemeral`.
fn ephemeral(ctx: &mut ObjectContext<'_, '_>) {
    if ctx.is_whole && get(ctx.node, "volumeClaimTemplate").is_none() {
        ctx.refuse(
            [],
            |path| format!("`{path}` has no `volumeClaimTemplate`"),
            "add a `volumeClaimTemplate`",
        );
    }
}

/// The API server accepts any value, but the kubelet rejects pods with others.
///
/// Source: kubernetes `pkg/volume/emptydir/empty_dir.go`, `SetUpAt` (from memory).
fn medium(ctx: &mut ObjectContext<'_, '_>) {
    let Some(medium) = text(ctx.node, "medium") else {
        return;
    };
    if !["Memory", "HugePages"].contains(&medium) && !medium.starts_with("HugePages-") {
        ctx.refuse(
            [Step::from("medium")],
            |path| format!("`{path}` is `{medium}`, but must be `Memory` or `HugePages`"),
            "write `Memory`, or remove it to use the node's disk",
        );
    }
}

/// Source: `validateMountRecursiveReadOnly` there.
fn read_only(ctx: &mut ObjectContext<'_, '_>) {
    let is_asked = text(ctx.node, "recursiveReadOnly").is_some_and(|it| it != "Disabled");
    if is_asked && switch(ctx.node, "readOnly") != Some(true) && ctx.is_whole {
        ctx.refuse(
            [Step::from("recursiveReadOnly")],
            |path| format!("`{path}` requires `readOnly: true`"),
            "add `readOnly: true`",
        );
    }
}
