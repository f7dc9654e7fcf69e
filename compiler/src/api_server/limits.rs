//! What a namespace may have: `LimitRange` and `ResourceQuota`.

use std::collections::BTreeSet;

use super::Here;
use super::amounts::amount;
use super::place::Step;
use super::read::{get, items, text};
use crate::diag::words::{all, nearest};
use crate::node::Node;

pub(super) fn look(here: &mut Here<'_, '_>) {
    match here.name {
        "LimitRangeSpec" => types(here),
        "LimitRangeItem" => {
            names_of_range(here);
            of_pods(here);
            pairs(here);
            ratio(here);
            volumes(here);
        }
        "ResourceQuotaSpec" => names_of_quota(here),
        _ => {}
    }
}

/// Source: kubernetes `pkg/apis/core/validation/validation.go`, `ValidateLimitRange`.
fn types(here: &mut Here<'_, '_>) {
    let mut seen = BTreeSet::new();
    for (index, item) in items(here.node, "limits") {
        if let Some(kind) = text(item, "type").filter(|kind| !seen.insert(*kind)) {
            here.refuse(
                [Step::from("limits"), Step::from(index), Step::from("type")],
                |path| format!("`{path}` is `{kind}`, which is there already"),
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

/// What a container asks for that has no domain.
///
/// Source: kubernetes `pkg/apis/core/helper/helpers.go`, `IsStandardContainerResourceName`.
const OF_CONTAINERS: &[&str] = &["cpu", "memory", "ephemeral-storage"];

/// Source: kubernetes `pkg/apis/core/validation/validation.go`, `validateLimitRangeResourceName`.
fn names_of_range(here: &mut Here<'_, '_>) {
    let kind = text(here.node, "type");
    if !kind.is_some_and(|kind| ["Pod", "Container"].contains(&kind)) {
        return;
    }
    for list in LISTS {
        for entry in here.node.get(list).map_or(&[][..], Node::entries) {
            let name = entry.key.as_str();
            let is_known = OF_CONTAINERS.contains(&name) || name.starts_with("hugepages-");
            if !is_known && !name.contains(['/', '{', '$']) {
                unknown(here, list, name, OF_CONTAINERS);
            }
        }
    }
}

/// What a quota counts that has no domain.
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
fn names_of_quota(here: &mut Here<'_, '_>) {
    for entry in here.node.get("hard").map_or(&[][..], Node::entries) {
        let name = entry.key.as_str();
        let bare = name.strip_prefix("requests.").unwrap_or(name);
        let is_known = OF_QUOTAS.contains(&name) || bare.starts_with("hugepages-");
        if !is_known && !name.contains(['/', '{', '$']) {
            unknown(here, "hard", name, OF_QUOTAS);
        }
    }
}

fn unknown(here: &mut Here<'_, '_>, list: &str, name: &str, known: &[&str]) {
    let near = nearest(name, known.iter().copied());
    let is_gpu = name.ends_with("gpu") || name.ends_with("gpus");
    let near = near.filter(|_| !is_gpu);
    let help = match near {
        Some(meant) => format!("did you mean `{meant}`?"),
        None if is_gpu => {
            "write the name that containers ask for, such as `requests.nvidia.com/gpu` in a quota and \
             `nvidia.com/gpu` in a range"
                .to_owned()
        }
        None => format!("write {}, or a resource with a domain", all(known, "or")),
    };
    let meant = near.filter(|near| here.node.get(list).is_some_and(|it| it.get(near).is_none()));
    here.refuse(
        [Step::from(list), Step::from(name)],
        |path| format!("`{path}`: Kubernetes knows no resource `{name}`"),
        help,
    );
    if let Some(found) = here.found.last_mut() {
        found.of_key = true;
    }
    here.meant(meant.map(str::to_owned));
}

/// Source: kubernetes `pkg/apis/core/validation/validation.go`, `ValidateLimitRange`.
fn of_pods(here: &mut Here<'_, '_>) {
    if text(here.node, "type") != Some("Pod") {
        return;
    }
    for list in ["default", "defaultRequest"] {
        if here
            .node
            .get(list)
            .is_some_and(|it| !it.entries().is_empty())
        {
            here.refuse(
                [Step::from(list)],
                |path| format!("`{path}` cannot be with `type: Pod`"),
                "write it with `type: Container`",
            );
        }
    }
}

/// What may not be more than what.
const PAIRS: &[(&str, &str)] = &[
    ("min", "max"),
    ("defaultRequest", "max"),
    ("default", "max"),
    ("defaultRequest", "default"),
    ("min", "default"),
    ("min", "defaultRequest"),
];

/// What Kubernetes takes for a list of amounts that does not name a resource: of a container's most it makes the
/// default, of a least the default of requests.
///
/// Source: kubernetes `pkg/apis/core/v1/defaults.go`, `SetDefaults_LimitRangeItem`.
fn given<'n>(item: &'n Node, list: &'static str, name: &str) -> Option<(&'static str, &'n Node)> {
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

/// Source: kubernetes `pkg/apis/core/validation/validation.go`, `ValidateLimitRange`. That defaults of what cannot be
/// shared out are alike, the rule for GPUs says.
fn pairs(here: &mut Here<'_, '_>) {
    let mut names = BTreeSet::new();
    for list in LISTS {
        let entries = here.node.get(list).map_or(&[][..], Node::entries);
        names.extend(entries.iter().map(|entry| entry.key.as_str()));
    }
    for name in names {
        let mut said = BTreeSet::new();
        for (lower, upper) in PAIRS {
            let (Some(less), Some(more)) =
                (given(here.node, lower, name), given(here.node, upper, name))
            else {
                continue;
            };
            let (Some(least), Some(most)) = (amount(less.1), amount(more.1)) else {
                continue;
            };
            // One mistake is one finding, at what was written.
            if least.0 <= most.0 || less.0 == more.0 || !said.insert(less.0) {
                continue;
            }
            let (least, most, more) = (least.1, most.1, more.0);
            here.refuse(
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
fn ratio(here: &mut Here<'_, '_>) {
    let entries = here.node.get("maxLimitRequestRatio");
    for entry in entries.map_or(&[][..], Node::entries) {
        let Some((_, written)) = amount(&entry.value).filter(|(amount, _)| *amount < 1000) else {
            continue;
        };
        here.refuse(
            [
                Step::from("maxLimitRequestRatio"),
                Step::from(entry.key.as_str()),
            ],
            |path| format!("`{path}` is `{written}`, and has to be 1 or more"),
            "write 1 or more: how many times its request a limit may be",
        );
    }
}

/// Source: kubernetes `pkg/apis/core/validation/validation.go`, `ValidateLimitRange`.
fn volumes(here: &mut Here<'_, '_>) {
    let of_claims = text(here.node, "type") == Some("PersistentVolumeClaim");
    let has = |list: &str| {
        here.node
            .get(list)
            .and_then(|it| get(it, "storage"))
            .is_some()
    };
    if of_claims && here.is_whole && !has("min") && !has("max") {
        here.refuse(
            [],
            |path| format!("`{path}` has neither a `min` nor a `max` of `storage`"),
            "write one of the two, such as `max: {storage: 1Ti}`",
        );
    }
}
