//! Persistent volume claims.

use super::ObjectContext;
use super::amounts::amount;
use super::field_path::Step;
use super::scalar::{Read, get, items, read};

/// Source: kubernetes `pkg/apis/core/validation/validation.go`, `ValidatePersistentVolumeClaimSpec`.
pub(super) fn validate(ctx: &mut ObjectContext<'_, '_>) {
    if ctx.name == "PersistentVolumeClaimSpec" {
        modes(ctx);
        size(ctx);
    }
}

/// The access mode that cannot be combined with other modes.
const ALONE: &str = "ReadWriteOncePod";

fn modes(ctx: &mut ObjectContext<'_, '_>) {
    let modes: Vec<_> = items(ctx.node, "accessModes")
        .map(|it| read(it.1))
        .collect();
    let is_list = ctx
        .node
        .get("accessModes")
        .is_none_or(|it| read(it) == Read::List);
    if modes.is_empty() && ctx.is_whole && is_list {
        let below = ctx
            .node
            .get("accessModes")
            .map(|_| Step::from("accessModes"));
        ctx.refuse(
            below,
            |path| {
                let path = path.trim_end_matches(".accessModes");
                format!("`{path}` has no `accessModes`")
            },
            "add one, such as `accessModes: [ReadWriteOnce]`",
        );
    }
    let alone = modes.iter().position(|mode| *mode == Read::Text(ALONE));
    let is_other = |mode: &Read<'_>| !matches!(mode, Read::Text(ALONE) | Read::Open);
    if let Some(index) = alone.filter(|_| modes.iter().any(is_other)) {
        ctx.refuse(
            [Step::from("accessModes"), Step::from(index)],
            |path| format!("`{path}` is `{ALONE}`, which cannot be combined with other modes"),
            "remove it, or remove the others",
        );
    }
}

fn size(ctx: &mut ObjectContext<'_, '_>) {
    let resources = get(ctx.node, "resources");
    let requests = resources.and_then(|it| get(it, "requests"));
    let storage = requests.and_then(|it| get(it, "storage"));
    if let Some((0, written)) = storage.and_then(amount) {
        ctx.refuse(
            ["resources", "requests", "storage"].map(Step::from),
            |path| format!("`{path}` is `{written}`, but must be more than 0"),
            "write the size, such as `100Gi`",
        );
    }
    // It can be set below a misspelled key.
    let is_elsewhere = match (resources, requests) {
        (Some(resources), None) => resources.entries().iter().any(|it| it.key != "limits"),
        (_, Some(requests)) => {
            !matches!(read(requests), Read::Mapping) || {
                let mut entries = requests.entries().iter();
                entries.any(|entry| entry.key.contains("{{"))
            }
        }
        (None, None) => false,
    };
    let is_open = resources.is_some_and(|it| !matches!(read(it), Read::Mapping));
    if ctx.is_whole && storage.is_none() && !is_elsewhere && !is_open {
        let way = [resources.map(|_| "resources"), requests.map(|_| "requests")];
        ctx.refuse(
            way.into_iter().flatten().map(Step::from),
            |path| {
                let path = path
                    .trim_end_matches(".requests")
                    .trim_end_matches(".resources");
                format!("`{path}` has no `resources.requests.storage`")
            },
            "write the size, such as `resources: {requests: {storage: 100Gi}}`",
        );
    }
}
