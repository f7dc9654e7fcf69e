//! `LimitRange` and `ResourceQuota`.

use std::collections::BTreeSet;

use gpuc_syntax::diag::words::{all, nearest};
use gpuc_syntax::node::Node;

use super::ObjectContext;
use super::amounts::amount;
use super::field_path::Step;
use super::scalar::{get, items, text};

pub(super) fn validate(ctx: &mut ObjectContext<'_, '_>) {
    match ctx.name {
        "LimitRangeSpec" => types(ctx),
        "LimitRangeItem" => {
            names_of_range(ctx);
            of_pods(ctx);
            pairs(ctx);
            ratio(ctx);
            volumes(ctx);
        }
        "ResourceQuotaSpec" => names_of_quota(ctx),
        _ => {}
    }
}

/// Source: kubernetes `pkg/apis/core/validation/validation.go`, `ValidateLimitRange`.
fn types(ctx: &mut ObjectContext<'_, '_>) {
    let mut seen = BTreeSet::new();
    for (index, item) in items(ctx.node, "limits") {
        if let Some(kind) = text(item, "type").filter(|kind| !seen.insert(*kind)) {
            ctx.refuse(
                [Step::from("limits"), Step::from(index), Step::from("type")],
                |path| format!("`{path}` is `{kind}`, which is already used"),
                "write both as one item",
            );
        }
    }
}

const LISTS: [&str; 5] = [
    "default",
    "defaultRequest",
    "max",
    "min",
    "maxLimitRequestRatio",
];

/// Resources of containers without a domain.
///
/// Source: kubernetes `pkg/apis/core/helper/helpers.go`, `IsStandardContainerResourceName`.
const OF_CONTAINERS: &[&str] = &["cpu", "memory", "ephemeral-storage"];

/// Source: kubernetes `pkg/apis/core/validation/validation.go`, `validateLimitRangeResourceName`.
fn names_of_range(ctx: &mut ObjectContext<'_, '_>) {
    let kind = text(ctx.node, "type");
    if !kind.is_some_and(|kind| ["Pod", "Container"].contains(&kind)) {
        return;
    }
    for list in LISTS {
        for entry in ctx.node.get(list).map_or(&[][..], Node::entries) {
            let name = entry.key.as_str();
            let is_known = OF_CONTAINERS.contains(&name) || name.starts_with("hugepages-");
            if !is_known && !name.contains(['/', '{', '$']) {
                unknown(ctx, list, name, OF_CONTAINERS);
            }
        }
    }
}

/// Resources of quotas without a domain.
///
/// Source: kubernetes `pkg/apis/core/helper/helpers.go`, `standardQuotaResources`.
const OF_QUOTAS: &[&str] = &[
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
fn names_of_quota(ctx: &mut ObjectContext<'_, '_>) {
    for entry in ctx.node.get("hard").map_or(&[][..], Node::entries) {
        let name = entry.key.as_str();
        let bare = name.strip_prefix("requests.").unwrap_or(name);
        let is_known = OF_QUOTAS.contains(&name) || bare.starts_with("hugepages-");
        if !is_known && !name.contains(['/', '{', '$']) {
            unknown(ctx, "hard", name, OF_QUOTAS);
        }
    }
}

fn unknown(ctx: &mut ObjectContext<'_, '_>, list: &str, name: &str, known: &[&str]) {
    let near = nearest(name, known.iter().copied());
    let is_gpu = name.ends_with("gpu") || name.ends_with("gpus");
    let near = near.filter(|_| !is_gpu);
    let help = match near {
        Some(meant) => format!("did you mean `{meant}`?"),
        None if is_gpu => {
            "use the name that containers request, such as `requests.nvidia.com/gpu` in a quota and \
             `nvidia.com/gpu` in a range"
                .to_owned()
        }
        None => format!("write {}, or a resource with a domain", all(known, "or")),
    };
    let meant = near.filter(|near| ctx.node.get(list).is_some_and(|it| it.get(near).is_none()));
    ctx.refuse(
        [Step::from(list), Step::from(name)],
        |path| format!("`{path}`: unknown resource `{name}`"),
        help,
    );
    if let Some(found) = ctx.found.last_mut() {
        found.of_key = true;
    }
    ctx.meant(meant.map(str::to_owned));
}

/// Source: kubernetes `pkg/apis/core/validation/validation.go`, `ValidateLimitRange`.
fn of_pods(ctx: &mut ObjectContext<'_, '_>) {
    if text(ctx.node, "type") != Some("Pod") {
        return;
    }
    for list in ["default", "defaultRequest"] {
        if ctx
            .node
            .get(list)
            .is_some_and(|it| !it.entries().is_empty())
        {
            ctx.refuse(
                [Step::from(list)],
                |path| format!("`{path}` cannot be combined with `type: Pod`"),
                "write it with `type: Container`",
            );
        }
    }
}

/// Pairs of fields of which the first must not exceed the second.
const PAIRS: &[(&str, &str)] = &[
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
fn defaulted<'n>(
    item: &'n Node,
    list: &'static str,
    name: &str,
) -> Option<(&'static str, &'n Node)> {
    let own = |list: &'static str| Some((list, item.get(list)?.get(name)?));
    let is_container = text(item, "type") == Some("Container");
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
fn pairs(ctx: &mut ObjectContext<'_, '_>) {
    let mut names = BTreeSet::new();
    for list in LISTS {
        let entries = ctx.node.get(list).map_or(&[][..], Node::entries);
        names.extend(entries.iter().map(|entry| entry.key.as_str()));
    }
    for name in names {
        let mut reported = BTreeSet::new();
        for (lower, upper) in PAIRS {
            let (Some(less), Some(more)) = (
                defaulted(ctx.node, lower, name),
                defaulted(ctx.node, upper, name),
            ) else {
                continue;
            };
            let (Some(least), Some(most)) = (amount(less.1), amount(more.1)) else {
                continue;
            };
            // Report each mistake once, at the value that is written.
            if least.0 <= most.0 || less.0 == more.0 || !reported.insert(less.0) {
                continue;
            }
            let (least, most, more) = (least.1, most.1, more.0);
            ctx.refuse(
                [Step::from(less.0), Step::from(name)],
                |path| {
                    format!("`{path}` is `{least}`, which is more than its `{more}` of `{most}`")
                },
                format!("write at most `{most}`, or a larger `{more}`"),
            );
        }
    }
}

/// Source: kubernetes `pkg/apis/core/validation/validation.go`, `ValidateLimitRange`.
fn ratio(ctx: &mut ObjectContext<'_, '_>) {
    let entries = ctx.node.get("maxLimitRequestRatio");
    for entry in entries.map_or(&[][..], Node::entries) {
        let Some((_, written)) = amount(&entry.value).filter(|(amount, _)| *amount < 1000) else {
            continue;
        };
        ctx.refuse(
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
fn volumes(ctx: &mut ObjectContext<'_, '_>) {
    let of_claims = text(ctx.node, "type") == Some("PersistentVolumeClaim");
    let has = |list: &str| {
        ctx.node
            .get(list)
            .and_then(|it| get(it, "storage"))
            .is_some()
    };
    if of_claims && ctx.is_whole && !has("min") && !has("max") {
        ctx.refuse(
            [],
            |path| format!("`{path}` has neither a `min` nor a `max` of `storage`"),
            "write one of the two, such as `max: {storage: 1Ti}`",
        );
    }
}
