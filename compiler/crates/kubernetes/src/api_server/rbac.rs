//! RBAC.

use super::ObjectContext;
use super::field_path::Step;
use super::names::is_subdomain;
use super::scalar::{Read, get, items, read, text};

/// The API group of roles, which is optional in `roleRef`.
const GROUP: &str = "rbac.authorization.k8s.io";

pub(super) fn validate(ctx: &mut ObjectContext<'_, '_>) {
    match ctx.name {
        "PolicyRule" => rule(ctx),
        "RoleRef" => role(ctx),
        "Subject" => subject(ctx),
        _ => {}
    }
}

fn root<'h>(ctx: &'h ObjectContext<'_, '_>) -> &'h str {
    ctx.above.first().map_or("", |it| it.0)
}

/// Source: kubernetes `pkg/apis/rbac/validation/validation.go`, `ValidatePolicyRule`.
fn rule(ctx: &mut ObjectContext<'_, '_>) {
    let is_empty = |key: &str| items(ctx.node, key).next().is_none();
    let has_urls = !is_empty("nonResourceURLs");
    let of_others = ["apiGroups", "resources", "resourceNames"];
    let other = of_others.into_iter().find(|key| !is_empty(key));
    if has_urls {
        let problem = match (root(ctx), other) {
            ("Role", _) => "a Role is namespaced, but non-resource URLs are not".to_owned(),
            (_, Some(other)) => format!("it cannot be combined with `{other}`"),
            _ => return,
        };
        ctx.refuse(
            [Step::from("nonResourceURLs")],
            |path| format!("`{path}`: {problem}"),
            "make it a separate rule in a `ClusterRole`",
        );
        return;
    }
    // Values that are not lists or are filled in later are ignored.
    let is_list = |key: &str| ctx.node.get(key).is_none_or(|it| read(it) == Read::List);
    let missing: Vec<_> = [
        ("verbs", "`verbs: [get, list, watch]`"),
        ("apiGroups", "`apiGroups: [\"\"]` for those of `v1`"),
        ("resources", "`resources: [pods]`"),
    ]
    .into_iter()
    .filter(|(key, _)| is_empty(key) && is_list(key))
    // Missing required fields are reported separately.
    .filter(|(key, _)| *key != "verbs" || ctx.node.get(key).is_some())
    .collect();
    for (key, example) in missing {
        let below = ctx.node.get(key).map(|_| Step::from(key));
        ctx.refuse(
            below,
            |path| {
                let path = path.strip_suffix(key).unwrap_or(path).trim_end_matches('.');
                format!("`{path}` has no `{key}`")
            },
            format!("add it, such as {example}"),
        );
    }
}

/// Source: kubernetes `pkg/apis/rbac/validation/validation.go`, `ValidateRoleBinding` and
/// `ValidateClusterRoleBinding`.
fn role(ctx: &mut ObjectContext<'_, '_>) {
    group(ctx, GROUP);
    let of_cluster = root(ctx) == "ClusterRoleBinding";
    if of_cluster && text(ctx.node, "kind") == Some("Role") {
        ctx.refuse(
            [Step::from("kind")],
            |path| format!("`{path}` is `Role`, but must be `ClusterRole`"),
            "write `ClusterRole`, or make this a `RoleBinding` in the role's namespace",
        );
    }
}

/// Source: kubernetes `pkg/apis/rbac/validation/validation.go`, `ValidateRoleBindingSubject`.
fn subject(ctx: &mut ObjectContext<'_, '_>) {
    match text(ctx.node, "kind") {
        Some("ServiceAccount") => {
            group(ctx, "");
            let name = text(ctx.node, "name").filter(|name| !is_subdomain(name));
            if let Some(name) = name {
                ctx.refuse(
                    [Step::from("name")],
                    |path| {
                        format!("`{path}` is `{name}`, which is not a valid ServiceAccount name")
                    },
                    "write lower-case letters, digits, `-` and `.`",
                );
            }
            let of_cluster = root(ctx) == "ClusterRoleBinding";
            if of_cluster && ctx.is_whole && get(ctx.node, "namespace").is_none() {
                ctx.refuse(
                    [],
                    |path| format!("`{path}` has no `namespace`"),
                    "add the namespace of the ServiceAccount",
                );
            }
        }
        Some("User" | "Group") => group(ctx, GROUP),
        _ => {}
    }
}

fn group(ctx: &mut ObjectContext<'_, '_>, wanted: &str) {
    let Some(written) = text(ctx.node, "apiGroup").filter(|it| *it != wanted) else {
        return;
    };
    let help = if wanted.is_empty() {
        "remove it".to_owned()
    } else {
        format!("write `{wanted}`")
    };
    ctx.refuse(
        [Step::from("apiGroup")],
        |path| match wanted {
            "" => format!("`{path}` is `{written}`, but a ServiceAccount has no API group"),
            _ => format!("`{path}` is `{written}`, but must be `{wanted}`"),
        },
        help,
    );
    ctx.meant((!wanted.is_empty()).then(|| wanted.to_owned()));
}
