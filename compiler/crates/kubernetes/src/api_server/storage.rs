//! Persistent volume claims.

use super::ObjectContext;
use super::field_path::Step;
use super::quantities::parse_quantity;
use super::scalar::{ParsedValue, get_non_null, indexed_items, parse_value};

/// Source: kubernetes `pkg/apis/core/validation/validation.go`, `ValidatePersistentVolumeClaimSpec`.
pub(super) fn validate(ctx: &mut ObjectContext<'_, '_>) {
    if ctx.type_name == "PersistentVolumeClaimSpec" {
        check_access_modes(ctx);
        check_storage_request(ctx);
    }
}

/// The access mode that cannot be combined with other modes.
const EXCLUSIVE_MODE: &str = "ReadWriteOncePod";

fn check_access_modes(ctx: &mut ObjectContext<'_, '_>) {
    let modes: Vec<_> = indexed_items(ctx.node, "accessModes")
        .map(|it| parse_value(it.1))
        .collect();
    let is_list = ctx
        .node
        .get("accessModes")
        .is_none_or(|it| parse_value(it) == ParsedValue::List);
    if modes.is_empty() && ctx.is_complete && is_list {
        let below = ctx
            .node
            .get("accessModes")
            .map(|_| Step::from("accessModes"));
        ctx.report(
            below,
            |path| {
                let path = path.trim_end_matches(".accessModes");
                format!("`{path}` has no `accessModes`")
            },
            "add one, such as `accessModes: [ReadWriteOnce]`",
        );
    }
    let exclusive = modes
        .iter()
        .position(|mode| *mode == ParsedValue::Text(EXCLUSIVE_MODE));
    let is_other = |mode: &ParsedValue<'_>| {
        !matches!(
            mode,
            ParsedValue::Text(EXCLUSIVE_MODE) | ParsedValue::Templated
        )
    };
    if let Some(index) = exclusive.filter(|_| modes.iter().any(is_other)) {
        ctx.report(
            [Step::from("accessModes"), Step::from(index)],
            |path| {
                format!("`{path}` is `{EXCLUSIVE_MODE}`, which cannot be combined with other modes")
            },
            "remove it, or remove the others",
        );
    }
}

fn check_storage_request(ctx: &mut ObjectContext<'_, '_>) {
    let resources = get_non_null(ctx.node, "resources");
    let requests = resources.and_then(|it| get_non_null(it, "requests"));
    let storage = requests.and_then(|it| get_non_null(it, "storage"));
    if let Some((0, written)) = storage.and_then(parse_quantity) {
        ctx.report(
            ["resources", "requests", "storage"].map(Step::from),
            |path| format!("`{path}` is `{written}`, but must be more than 0"),
            "write the size, such as `100Gi`",
        );
    }
    // It can be set below a misspelled key.
    let may_be_set_elsewhere = match (resources, requests) {
        (Some(resources), None) => resources.entries().iter().any(|it| it.key != "limits"),
        (_, Some(requests)) => {
            !matches!(parse_value(requests), ParsedValue::Mapping) || {
                let mut entries = requests.entries().iter();
                entries.any(|entry| entry.key.contains("{{"))
            }
        }
        (None, None) => false,
    };
    let is_open = resources.is_some_and(|it| !matches!(parse_value(it), ParsedValue::Mapping));
    if ctx.is_complete && storage.is_none() && !may_be_set_elsewhere && !is_open {
        let key_path = [resources.map(|_| "resources"), requests.map(|_| "requests")];
        ctx.report(
            key_path.into_iter().flatten().map(Step::from),
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
