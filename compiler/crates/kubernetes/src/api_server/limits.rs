//! `LimitRange` and `ResourceQuota`.

use std::collections::BTreeSet;

use gpuc_syntax::diag::phrases::{closest_match, quoted_conjunction};
use gpuc_syntax::node::Node;

use super::ObjectContext;
use super::field_path::Step;
use super::quantities::parse_quantity;
use super::scalar::{get_non_null, get_text, indexed_items};

pub(super) fn validate(ctx: &mut ObjectContext<'_, '_>) {
    match ctx.type_name {
        "LimitRangeSpec" => check_unique_types(ctx),
        "LimitRangeItem" => {
            check_limit_range_resources(ctx);
            check_pod_defaults(ctx);
            check_field_order(ctx);
            check_ratio(ctx);
            check_claim_limits(ctx);
        }
        "ResourceQuotaSpec" => check_quota_resources(ctx),
        _ => {}
    }
}

/// Source: kubernetes `pkg/apis/core/validation/validation.go`, `ValidateLimitRange`.
fn check_unique_types(ctx: &mut ObjectContext<'_, '_>) {
    let mut seen = BTreeSet::new();
    for (index, item) in indexed_items(ctx.node, "limits") {
        if let Some(kind) = get_text(item, "type").filter(|kind| !seen.insert(*kind)) {
            ctx.report(
                [Step::from("limits"), Step::from(index), Step::from("type")],
                |path| format!("`{path}` is `{kind}`, which is already used"),
                "write both as one item",
            );
        }
    }
}

const LIMIT_RANGE_FIELDS: [&str; 5] = [
    "default",
    "defaultRequest",
    "max",
    "min",
    "maxLimitRequestRatio",
];

/// Resources of containers without a domain.
///
/// Source: kubernetes `pkg/apis/core/helper/helpers.go`, `IsStandardContainerResourceName`.
const CONTAINER_RESOURCES: &[&str] = &["cpu", "memory", "ephemeral-storage"];

/// Source: kubernetes `pkg/apis/core/validation/validation.go`, `validateLimitRangeResourceName`.
fn check_limit_range_resources(ctx: &mut ObjectContext<'_, '_>) {
    let kind = get_text(ctx.node, "type");
    if !kind.is_some_and(|kind| ["Pod", "Container"].contains(&kind)) {
        return;
    }
    for list in LIMIT_RANGE_FIELDS {
        for entry in ctx.node.get(list).map_or(&[][..], Node::entries) {
            let name = entry.key.as_str();
            let is_known = CONTAINER_RESOURCES.contains(&name) || name.starts_with("hugepages-");
            if !is_known && !name.contains(['/', '{', '$']) {
                report_unknown_resource(ctx, list, name, CONTAINER_RESOURCES);
            }
        }
    }
}

/// Resources of quotas without a domain.
///
/// Source: kubernetes `pkg/apis/core/helper/helpers.go`, `standardQuotaResources`.
const QUOTA_RESOURCES: &[&str] = &[
    "cpu",
    "memory",
    "ephemeral-storage",
    "requests.cpu",
    "requests.memory",
    "requests.storage",
    "requests.ephemeral-storage",
    "limits.cpu",
    "limits.memory",
    "limits.ephemeral-storage",
    "pods",
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "persistentvolumeclaims",
    "configmaps",
    "services.nodeports",
    "services.loadbalancers",
];

/// Source: kubernetes `pkg/apis/core/validation/validation.go`, `ValidateResourceQuotaResourceName`.
fn check_quota_resources(ctx: &mut ObjectContext<'_, '_>) {
    for entry in ctx.node.get("hard").map_or(&[][..], Node::entries) {
        let name = entry.key.as_str();
        let bare = name.strip_prefix("requests.").unwrap_or(name);
        let is_known = QUOTA_RESOURCES.contains(&name) || bare.starts_with("hugepages-");
        if !is_known && !name.contains(['/', '{', '$']) {
            report_unknown_resource(ctx, "hard", name, QUOTA_RESOURCES);
        }
    }
}

fn report_unknown_resource(
    ctx: &mut ObjectContext<'_, '_>,
    list: &str,
    name: &str,
    known: &[&str],
) {
    let closest = closest_match(name, known.iter().copied());
    let is_gpu = name.ends_with("gpu") || name.ends_with("gpus");
    let closest = closest.filter(|_| !is_gpu);
    let help = match closest {
        Some(meant) => format!("did you mean `{meant}`?"),
        None if is_gpu => {
            "use the name that containers request, such as `requests.nvidia.com/gpu` in a quota and \
             `nvidia.com/gpu` in a range"
                .to_owned()
        }
        None => format!("write {}, or a resource with a domain", quoted_conjunction(known, "or")),
    };
    let meant = closest.filter(|near| ctx.node.get(list).is_some_and(|it| it.get(near).is_none()));
    ctx.report(
        [Step::from(list), Step::from(name)],
        |path| format!("`{path}`: unknown resource `{name}`"),
        help,
    );
    if let Some(found) = ctx.violations.last_mut() {
        found.is_key = true;
    }
    ctx.suggest(meant.map(str::to_owned));
}

/// Source: kubernetes `pkg/apis/core/validation/validation.go`, `ValidateLimitRange`.
fn check_pod_defaults(ctx: &mut ObjectContext<'_, '_>) {
    if get_text(ctx.node, "type") != Some("Pod") {
        return;
    }
    for list in ["default", "defaultRequest"] {
        if ctx
            .node
            .get(list)
            .is_some_and(|it| !it.entries().is_empty())
        {
            ctx.report(
                [Step::from(list)],
                |path| format!("`{path}` cannot be combined with `type: Pod`"),
                "write it with `type: Container`",
            );
        }
    }
}

/// Pairs of fields of which the first must not exceed the second.
const ORDERED_FIELDS: &[(&str, &str)] = &[
    ("min", "max"),
    ("defaultRequest", "max"),
    ("default", "max"),
    ("defaultRequest", "default"),
    ("min", "default"),
    ("min", "defaultRequest"),
];

/// The default for a resource that a list does not contain: for containers, `max` is the default of `default`, and
/// `min` is the default of `defaultRequest`.
///
/// Source: kubernetes `pkg/apis/core/v1/defaults.go`, `SetDefaults_LimitRangeItem`.
fn effective_field<'n>(
    item: &'n Node,
    list: &'static str,
    name: &str,
) -> Option<(&'static str, &'n Node)> {
    let own = |list: &'static str| Some((list, item.get(list)?.get(name)?));
    let is_container = get_text(item, "type") == Some("Container");
    own(list).or_else(|| match list {
        "default" if is_container => own("max"),
        "defaultRequest" if is_container => {
            own("default").or_else(|| own("max")).or_else(|| own("min"))
        }
        _ => None,
    })
}

/// Source: kubernetes `pkg/apis/core/validation/validation.go`, `ValidateLimitRange`. The rule for GPUs checks that the
/// defaults of resources without overcommit are equal.
fn check_field_order(ctx: &mut ObjectContext<'_, '_>) {
    let mut names = BTreeSet::new();
    for list in LIMIT_RANGE_FIELDS {
        let entries = ctx.node.get(list).map_or(&[][..], Node::entries);
        names.extend(entries.iter().map(|entry| entry.key.as_str()));
    }
    for name in names {
        let mut reported = BTreeSet::new();
        for (lower, upper) in ORDERED_FIELDS {
            let (Some(less), Some(more)) = (
                effective_field(ctx.node, lower, name),
                effective_field(ctx.node, upper, name),
            ) else {
                continue;
            };
            let (Some(min), Some(max)) = (parse_quantity(less.1), parse_quantity(more.1)) else {
                continue;
            };
            // Report each mistake once, at the value that is written.
            if min.0 <= max.0 || less.0 == more.0 || !reported.insert(less.0) {
                continue;
            }
            let (min, max, more) = (min.1, max.1, more.0);
            ctx.report(
                [Step::from(less.0), Step::from(name)],
                |path| format!("`{path}` is `{min}`, which is more than its `{more}` of `{max}`"),
                format!("write at most `{max}`, or a larger `{more}`"),
            );
        }
    }
}

/// Source: kubernetes `pkg/apis/core/validation/validation.go`, `ValidateLimitRange`.
fn check_ratio(ctx: &mut ObjectContext<'_, '_>) {
    let entries = ctx.node.get("maxLimitRequestRatio");
    for entry in entries.map_or(&[][..], Node::entries) {
        let Some((_, written)) = parse_quantity(&entry.value).filter(|(amount, _)| *amount < 1000)
        else {
            continue;
        };
        ctx.report(
            [
                Step::from("maxLimitRequestRatio"),
                Step::from(entry.key.as_str()),
            ],
            |path| format!("`{path}` is `{written}`, but must be 1 or more"),
            "write 1 or more: the maximum ratio of limit to request",
        );
    }
}

/// Source: kubernetes `pkg/apis/core/validation/validation.go`, `ValidateLimitRange`.
fn check_claim_limits(ctx: &mut ObjectContext<'_, '_>) {
    let of_claims = get_text(ctx.node, "type") == Some("PersistentVolumeClaim");
    let has = |list: &str| {
        ctx.node
            .get(list)
            .and_then(|it| get_non_null(it, "storage"))
            .is_some()
    };
    if of_claims && ctx.is_complete && !has("min") && !has("max") {
        ctx.report(
            [],
            |path| format!("`{path}` has neither a `min` nor a `max` of `storage`"),
            "write one of the two, such as `max: {storage: 1Ti}`",
        );
    }
}
