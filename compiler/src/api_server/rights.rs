//! Who may do what.

use super::Here;
use super::names::is_subdomain;
use super::place::Step;
use super::read::{Read, get, items, read, text};

/// The group of roles, which may be left out where one is named.
const GROUP: &str = "rbac.authorization.k8s.io";

pub(super) fn look(here: &mut Here<'_, '_>) {
    match here.name {
        "PolicyRule" => rule(here),
        "RoleRef" => role(here),
        "Subject" => subject(here),
        _ => {}
    }
}

fn root<'h>(here: &'h Here<'_, '_>) -> &'h str {
    here.above.first().map_or("", |it| it.0)
}

/// Source: kubernetes `pkg/apis/rbac/validation/validation.go`, `ValidatePolicyRule`.
fn rule(here: &mut Here<'_, '_>) {
    let is_empty = |key: &str| items(here.node, key).next().is_none();
    let has_urls = !is_empty("nonResourceURLs");
    let of_others = ["apiGroups", "resources", "resourceNames"];
    let other = of_others.into_iter().find(|key| !is_empty(key));
    if has_urls {
        let problem = match (root(here), other) {
            ("Role", _) => "a Role is of one namespace, and addresses are of none".to_owned(),
            (_, Some(other)) => format!("it cannot be with `{other}`"),
            _ => return,
        };
        here.refuse(
            [Step::from("nonResourceURLs")],
            |path| format!("`{path}`: {problem}"),
            "make it a rule of its own in a `ClusterRole`",
        );
        return;
    }
    // A list that is none, or that a program fills in, is another matter.
    let is_list = |key: &str| here.node.get(key).is_none_or(|it| read(it) == Read::List);
    let missing: Vec<_> = [
        ("verbs", "`verbs: [get, list, watch]`"),
        ("apiGroups", "`apiGroups: [\"\"]` for those of `v1`"),
        ("resources", "`resources: [pods]`"),
    ]
    .into_iter()
    .filter(|(key, _)| is_empty(key) && is_list(key))
    // What is not there at all and has to be, was said.
    .filter(|(key, _)| *key != "verbs" || here.node.get(key).is_some())
    .collect();
    for (key, example) in missing {
        let below = here.node.get(key).map(|_| Step::from(key));
        here.refuse(
            below,
            |path| {
                let path = path.strip_suffix(key).unwrap_or(path).trim_end_matches('.');
                format!("`{path}` has no `{key}`")
            },
            format!("write which, such as {example}"),
        );
    }
}

/// Source: kubernetes `pkg/apis/rbac/validation/validation.go`, `ValidateRoleBinding` and
/// `ValidateClusterRoleBinding`.
fn role(here: &mut Here<'_, '_>) {
    group(here, GROUP);
    let of_cluster = root(here) == "ClusterRoleBinding";
    if of_cluster && text(here.node, "kind") == Some("Role") {
        here.refuse(
            [Step::from("kind")],
            |path| format!("`{path}` is `Role`, and has to be `ClusterRole`"),
            "write `ClusterRole`, or make this a `RoleBinding` in the role's namespace",
        );
    }
}

/// Source: kubernetes `pkg/apis/rbac/validation/validation.go`, `ValidateRoleBindingSubject`.
fn subject(here: &mut Here<'_, '_>) {
    match text(here.node, "kind") {
        Some("ServiceAccount") => {
            group(here, "");
            let name = text(here.node, "name").filter(|name| !is_subdomain(name));
            if let Some(name) = name {
                here.refuse(
                    [Step::from("name")],
                    |path| format!("`{path}` is `{name}`, which is no name of a service account"),
                    "write lower-case letters, digits, `-` and `.`",
                );
            }
            let of_cluster = root(here) == "ClusterRoleBinding";
            if of_cluster && here.is_whole && get(here.node, "namespace").is_none() {
                here.refuse(
                    [],
                    |path| format!("`{path}` has no `namespace`"),
                    "write the namespace of the service account",
                );
            }
        }
        Some("User" | "Group") => group(here, GROUP),
        _ => {}
    }
}

fn group(here: &mut Here<'_, '_>, wanted: &str) {
    let Some(written) = text(here.node, "apiGroup").filter(|it| *it != wanted) else {
        return;
    };
    let help = if wanted.is_empty() {
        "remove it".to_owned()
    } else {
        format!("write `{wanted}`")
    };
    here.refuse(
        [Step::from("apiGroup")],
        |path| match wanted {
            "" => format!("`{path}` is `{written}`, and a service account has none"),
            _ => format!("`{path}` is `{written}`, and has to be `{wanted}`"),
        },
        help,
    );
    here.meant((!wanted.is_empty()).then(|| wanted.to_owned()));
}
