//! RBAC.

use super::ObjectContext;
use super::field_path::Step;
use super::names::is_subdomain;
use super::scalar::{ParsedValue, get_non_null, get_text, indexed_items, parse_value};

/// The API group of roles, which is optional in `roleRef`.
const RBAC_GROUP: &str = "rbac.authorization.k8s.io";

pub(super) fn validate(ctx: &mut ObjectContext<'_, '_>) {
    match ctx.type_name {
        "PolicyRule" => check_policy_rule(ctx),
        "RoleRef" => check_role_ref(ctx),
        "Subject" => check_subject(ctx),
        _ => {}
    }
}

fn root_kind<'h>(ctx: &'h ObjectContext<'_, '_>) -> &'h str {
    ctx.ancestors.first().map_or("", |it| it.0)
}

/// Source: kubernetes `pkg/apis/rbac/validation/validation.go`, `ValidatePolicyRule`.
fn check_policy_rule(ctx: &mut ObjectContext<'_, '_>) {
    let is_empty = |key: &str| indexed_items(ctx.node, key).next().is_none();
    let has_urls = !is_empty("nonResourceURLs");
    let resource_fields = ["apiGroups", "resources", "resourceNames"];
    let other = resource_fields.into_iter().find(|key| !is_empty(key));
    if has_urls {
        let problem = match (root_kind(ctx), other) {
            ("Role", _) => "a Role is namespaced, but non-resource URLs are not".to_owned(),
            (_, Some(other)) => format!("it cannot be combined with `{other}`"),
            _ => return,
        };
        ctx.report(
            [Step::from("nonResourceURLs")],
            |path| format!("`{path}`: {problem}"),
            "make it a separate rule in a `ClusterRole`",
        );
        return;
    }
    // Values that are not lists or are filled in later are ignored.
    let is_list = |key: &str| {
        ctx.node
            .get(key)
            .is_none_or(|it| parse_value(it) == ParsedValue::List)
    };
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
        ctx.report(
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
fn check_role_ref(ctx: &mut ObjectContext<'_, '_>) {
    check_api_group(ctx, RBAC_GROUP);
    let is_cluster_binding = root_kind(ctx) == "ClusterRoleBinding";
    if is_cluster_binding && get_text(ctx.node, "kind") == Some("Role") {
        ctx.report(
            [Step::from("kind")],
            |path| format!("`{path}` is `Role`, but must be `ClusterRole`"),
            "write `ClusterRole`, or make this a `RoleBinding` in the role's namespace",
        );
    }
}

/// Source: kubernetes `pkg/apis/rbac/validation/validation.go`, `ValidateRoleBindingSubject`.
fn check_subject(ctx: &mut ObjectContext<'_, '_>) {
    match get_text(ctx.node, "kind") {
        Some("ServiceAccount") => {
            check_api_group(ctx, "");
            let name = get_text(ctx.node, "name").filter(|name| !is_subdomain(name));
            if let Some(name) = name {
                ctx.report(
                    [Step::from("name")],
                    |path| {
                        format!("`{path}` is `{name}`, which is not a valid ServiceAccount name")
                    },
                    "write lower-case letters, digits, `-` and `.`",
                );
            }
            let of_cluster = root_kind(ctx) == "ClusterRoleBinding";
            if of_cluster && ctx.is_complete && get_non_null(ctx.node, "namespace").is_none() {
                ctx.report(
                    [],
                    |path| format!("`{path}` has no `namespace`"),
                    "add the namespace of the ServiceAccount",
                );
            }
        }
        Some("User" | "Group") => check_api_group(ctx, RBAC_GROUP),
        _ => {}
    }
}

fn check_api_group(ctx: &mut ObjectContext<'_, '_>, expected: &str) {
    let Some(written) = get_text(ctx.node, "apiGroup").filter(|it| *it != expected) else {
        return;
    };
    let help = if expected.is_empty() {
        "remove it".to_owned()
    } else {
        format!("write `{expected}`")
    };
    ctx.report(
        [Step::from("apiGroup")],
        |path| match expected {
            "" => format!("`{path}` is `{written}`, but a ServiceAccount has no API group"),
            _ => format!("`{path}` is `{written}`, but must be `{expected}`"),
        },
        help,
    );
    ctx.suggest((!expected.is_empty()).then(|| expected.to_owned()));
}
