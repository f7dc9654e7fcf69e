//! Volumes: sources and paths.

use super::ObjectContext;
use super::containers::check_one_of;
use super::field_path::Step;
use super::scalar::{get_bool, get_non_null, get_text};

/// File paths in a volume must be inside it, and must not conflict with Kubernetes' own files.
///
/// Source: kubernetes `pkg/apis/core/validation/validation.go`, `ValidateLocalNonReservedPath` in `validateKeyToPath`,
/// `validateDownwardAPIVolumeFile` and `validateProjectionSources`.
const RELATIVE_PATH_TYPES: &[&str] = &[
    "ClusterTrustBundleProjection",
    "DownwardAPIVolumeFile",
    "KeyToPath",
    "ServiceAccountTokenProjection",
];

pub(super) fn validate(ctx: &mut ObjectContext<'_, '_>) {
    if RELATIVE_PATH_TYPES.contains(&ctx.type_name) {
        check_relative_path(ctx);
    }
    match ctx.type_name {
        "DownwardAPIVolumeFile" => {
            check_one_of(ctx, ctx.node, &["fieldRef", "resourceFieldRef"], true);
        }
        "EphemeralVolumeSource" => check_ephemeral_volume(ctx),
        "EmptyDirVolumeSource" => check_medium(ctx),
        "HostPathVolumeSource" => check_host_path(ctx),
        "NFSVolumeSource" => check_absolute_path(ctx),
        "VolumeMount" => check_recursive_read_only(ctx),
        _ => {}
    }
}

fn has_parent_step(path: &str) -> bool {
    path.split('/').any(|part| part == "..")
}

fn check_relative_path(ctx: &mut ObjectContext<'_, '_>) {
    if let Some(path) = get_text(ctx.node, "path")
        && (path.starts_with(['/']) || path.starts_with("..") || has_parent_step(path))
    {
        ctx.report(
            [Step::from("path")],
            |at| format!("`{at}` is `{path}`, which is not a valid path within the volume"),
            "write a relative path without `..`",
        );
    }
}

/// Source: `validateHostPathVolumeSource` there.
fn check_host_path(ctx: &mut ObjectContext<'_, '_>) {
    if let Some(path) = get_text(ctx.node, "path").filter(|path| has_parent_step(path)) {
        ctx.report(
            [Step::from("path")],
            |at| format!("`{at}` is `{path}`, but must not contain `..`"),
            "write an absolute path without `..`",
        );
    }
}

/// Source: `validateNFSVolumeSource` there.
fn check_absolute_path(ctx: &mut ObjectContext<'_, '_>) {
    if let Some(path) = get_text(ctx.node, "path").filter(|path| !path.starts_with('/')) {
        ctx.report(
            [Step::from("path")],
            |at| format!("`{at}` is `{path}`, but must start with `/`"),
            format!("write `/{path}`"),
        );
        ctx.suggest(Some(format!("/{path}")));
    }
}

/// Source: `validateVolumeSource` there, `volume.Ephemeral`.
fn check_ephemeral_volume(ctx: &mut ObjectContext<'_, '_>) {
    if ctx.is_complete && get_non_null(ctx.node, "volumeClaimTemplate").is_none() {
        ctx.report(
            [],
            |path| format!("`{path}` has no `volumeClaimTemplate`"),
            "add a `volumeClaimTemplate`",
        );
    }
}

/// The API server accepts any value, but the kubelet rejects pods with others.
///
/// Source: kubernetes `pkg/volume/emptydir/empty_dir.go`, `SetUpAt` (from memory).
fn check_medium(ctx: &mut ObjectContext<'_, '_>) {
    let Some(medium) = get_text(ctx.node, "medium") else {
        return;
    };
    if !["Memory", "HugePages"].contains(&medium) && !medium.starts_with("HugePages-") {
        ctx.report(
            [Step::from("medium")],
            |path| format!("`{path}` is `{medium}`, but must be `Memory` or `HugePages`"),
            "write `Memory`, or remove it to use the node's disk",
        );
    }
}

/// Source: `validateMountRecursiveReadOnly` there.
fn check_recursive_read_only(ctx: &mut ObjectContext<'_, '_>) {
    let is_requested = get_text(ctx.node, "recursiveReadOnly").is_some_and(|it| it != "Disabled");
    if is_requested && get_bool(ctx.node, "readOnly") != Some(true) && ctx.is_complete {
        ctx.report(
            [Step::from("recursiveReadOnly")],
            |path| format!("`{path}` requires `readOnly: true`"),
            "add `readOnly: true`",
        );
    }
}
