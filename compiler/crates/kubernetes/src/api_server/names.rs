//! The syntax of names.

use gpuc_syntax::node::Entry;

use super::ObjectContext;
use super::field_path::Step;
use super::scalar::{ParsedValue, get_non_null, get_text, indexed_items, parse_value};
use super::types::fields_of_type;

/// The syntax of a name.
#[derive(Clone, Copy, Debug)]
pub(super) enum NameSyntax {
    /// Source: kubernetes `staging/src/k8s.io/apimachinery/pkg/util/validation/validation.go`, `IsDNS1123Label`.
    Label,
    /// Source: `IsDNS1123Subdomain` there.
    Subdomain,
    /// Source: `IsQualifiedName` there.
    QualifiedName,
    /// Source: `IsValidLabelValue` there.
    LabelValue,
    /// Source: `IsValidPortName` there.
    PortName,
    /// Source: `staging/src/k8s.io/apimachinery/pkg/api/validation/path/name.go`, `IsValidPathSegmentName`.
    PathSegment,
    /// Source: `IsRelaxedEnvVarName` there, which used since version 1.32.
    EnvVarName,
}

/// The syntax of names, by type and field.
///
/// Source: kubernetes `pkg/apis/core/validation/validation.go` (`validateContainerCommon`, `validateContainerPorts`,
/// `ValidateEnv`, `ValidateTolerations`, `ValidateNodeSelectorRequirement`, `validatePodAffinityTerm`,
/// `validatePersistentClaimVolumeSource`, `ValidatePodSpec`).
const NAME_FIELDS: &[(&str, &str, NameSyntax)] = &[
    ("Container", "name", NameSyntax::Label),
    ("ContainerPort", "name", NameSyntax::PortName),
    ("EnvFromSource", "prefix", NameSyntax::EnvVarName),
    ("EnvVar", "name", NameSyntax::EnvVarName),
    (
        "CrossVersionObjectReference",
        "name",
        NameSyntax::PathSegment,
    ),
    ("IngressServiceBackend", "name", NameSyntax::Label),
    ("LabelSelectorRequirement", "key", NameSyntax::QualifiedName),
    ("NodeSelectorRequirement", "key", NameSyntax::QualifiedName),
    (
        "PersistentVolumeClaimSpec",
        "storageClassName",
        NameSyntax::Subdomain,
    ),
    (
        "PersistentVolumeClaimVolumeSource",
        "claimName",
        NameSyntax::Subdomain,
    ),
    ("PodAffinityTerm", "topologyKey", NameSyntax::QualifiedName),
    (
        "PodReadinessGate",
        "conditionType",
        NameSyntax::QualifiedName,
    ),
    ("PodResourceClaim", "name", NameSyntax::Label),
    ("PodSchedulingGate", "name", NameSyntax::QualifiedName),
    ("PodSpec", "hostname", NameSyntax::Label),
    ("PodSpec", "nodeName", NameSyntax::Subdomain),
    ("PodSpec", "priorityClassName", NameSyntax::Subdomain),
    ("PodSpec", "runtimeClassName", NameSyntax::Subdomain),
    ("PodSpec", "serviceAccountName", NameSyntax::Subdomain),
    ("PodSpec", "subdomain", NameSyntax::Label),
    ("RoleRef", "name", NameSyntax::PathSegment),
    ("ServiceBackendPort", "name", NameSyntax::PortName),
    ("ServicePort", "name", NameSyntax::Label),
    ("Toleration", "key", NameSyntax::QualifiedName),
    (
        "TopologySpreadConstraint",
        "topologyKey",
        NameSyntax::QualifiedName,
    ),
    ("Volume", "name", NameSyntax::Label),
];

/// Ports of probes and services that can be a name or a number.
const PORT_FIELDS: &[&str] = &[
    "HTTPGetAction.port",
    "NetworkPolicyPort.port",
    "TCPSocketAction.port",
    "ServicePort.targetPort",
];

pub(super) fn validate(ctx: &mut ObjectContext<'_, '_>) {
    let name = ctx.type_name;
    for (_, field, form) in NAME_FIELDS.iter().filter(|it| it.0 == name) {
        if let Some(value) = get_text(ctx.node, field) {
            check_name(ctx, vec![Step::from(*field)], value, *form);
        }
    }
    for field in fields_of_type(name)
        .iter()
        .filter(|it| it.constraints.is_object_name)
    {
        if let Some(value) = get_text(ctx.node, field.name) {
            check_name(
                ctx,
                vec![Step::from(field.name)],
                value,
                NameSyntax::Subdomain,
            );
        }
    }
    for port in PORT_FIELDS {
        if let Some((_, field)) = port.split_once('.').filter(|it| it.0 == name)
            && let Some(value) = get_text(ctx.node, field)
        {
            check_name(ctx, vec![Step::from(field)], value, NameSyntax::PortName);
        }
    }
    match ctx.type_name {
        "ObjectMeta" => check_metadata(ctx),
        "LabelSelector" => check_labels(ctx, "matchLabels"),
        "PodSpec" => check_labels(ctx, "nodeSelector"),
        "ServiceSpec" => check_labels(ctx, "selector"),
        "Toleration" => {
            let is_equal = get_text(ctx.node, "operator").is_none_or(|it| it == "Equal");
            if let Some(value) = get_text(ctx.node, "value").filter(|_| is_equal) {
                check_name(
                    ctx,
                    vec![Step::from("value")],
                    value,
                    NameSyntax::LabelValue,
                );
            }
        }
        "LabelSelectorRequirement" | "NodeSelectorRequirement" => check_selector_values(ctx),
        "PodAffinityTerm" => check_namespaces(ctx),
        _ => {}
    }
}

/// Names and labels.
///
/// Source: kubernetes `staging/src/k8s.io/apimachinery/pkg/api/validation/objectmeta.go`; a `CronJob` makes jobs with
/// names that are 11 characters longer (`pkg/apis/batch/validation/validation.go`, `ValidateCronJobCreate`).
fn check_metadata(ctx: &mut ObjectContext<'_, '_>) {
    const MAX_CRON_JOB_NAME: usize = 52;
    check_labels(ctx, "labels");
    let annotations = ctx
        .node
        .get("annotations")
        .map_or(&[][..], gpuc_syntax::node::Node::entries);
    for entry in annotations {
        check_key(ctx, "annotations", entry);
    }
    let is_root = ctx.ancestors.len() == 1;
    if !is_root || ctx.key() != "metadata" {
        return;
    }
    let kind = ctx.ancestors.first().map_or("", |it| it.0);
    let form = match kind {
        "Namespace" | "Service" => NameSyntax::Label,
        "ClusterRole" | "ClusterRoleBinding" | "Role" | "RoleBinding" => NameSyntax::PathSegment,
        _ => NameSyntax::Subdomain,
    };
    if let Some(name) = get_text(ctx.node, "name") {
        check_name(ctx, vec![Step::from("name")], name, form);
        if kind == "CronJob" && name.len() > MAX_CRON_JOB_NAME {
            ctx.report(
                [Step::from("name")],
                |path| format!("`{path}` has more than {MAX_CRON_JOB_NAME} characters"),
                "shorten the name: the names of its jobs are longer",
            );
        }
    }
    if let Some(namespace) = get_text(ctx.node, "namespace") {
        check_name(
            ctx,
            vec![Step::from("namespace")],
            namespace,
            NameSyntax::Label,
        );
    }
}

fn check_labels(ctx: &mut ObjectContext<'_, '_>, field: &'static str) {
    for entry in ctx
        .node
        .get(field)
        .map_or(&[][..], gpuc_syntax::node::Node::entries)
    {
        check_key(ctx, field, entry);
        if let ParsedValue::Text(value) = parse_value(&entry.value) {
            let below = vec![Step::from(field), Step::from(entry.key.as_str())];
            check_name(ctx, below, value, NameSyntax::LabelValue);
        }
    }
}

fn check_key(ctx: &mut ObjectContext<'_, '_>, field: &'static str, entry: &Entry) {
    let below = vec![Step::from(field), Step::from(entry.key.as_str())];
    if ["{{", "${", "$("]
        .iter()
        .any(|mark| entry.key.contains(mark))
    {
        return;
    }
    // The prefix of an annotation key can contain upper-case letters.
    let name = if field == "annotations" {
        entry.key.to_lowercase()
    } else {
        entry.key.clone()
    };
    let Some(problem) = name_problem(&name, NameSyntax::QualifiedName) else {
        return;
    };
    let problem = problem.trim_start_matches("which ");
    ctx.report(
        below,
        |path| {
            format!(
                "`{}` of `{}` {problem}",
                entry.key,
                parent_path(path, &entry.key)
            )
        },
        NameSyntax::QualifiedName.help(),
    );
    if let Some(found) = ctx.violations.last_mut() {
        found.is_key = true;
    }
}

/// A path without its last key.
fn parent_path<'p>(path: &'p str, key: &str) -> &'p str {
    let path = path.strip_suffix(key).unwrap_or(path);
    path.trim_end_matches('.')
}

/// Selector values must be valid label values.
fn check_selector_values(ctx: &mut ObjectContext<'_, '_>) {
    let values = get_non_null(ctx.node, "values").map_or(&[][..], gpuc_syntax::node::Node::items);
    for (index, value) in values.iter().enumerate() {
        if let ParsedValue::Text(value) = parse_value(value) {
            let below = vec![Step::from("values"), Step::Item(index)];
            check_name(ctx, below, value, NameSyntax::LabelValue);
        }
    }
}

fn check_namespaces(ctx: &mut ObjectContext<'_, '_>) {
    for (index, name) in indexed_items(ctx.node, "namespaces") {
        if let ParsedValue::Text(name) = parse_value(name) {
            let below = vec![Step::from("namespaces"), Step::Item(index)];
            check_name(ctx, below, name, NameSyntax::Label);
        }
    }
}

pub(super) fn check_name(
    ctx: &mut ObjectContext<'_, '_>,
    below: Vec<Step>,
    name: &str,
    form: NameSyntax,
) {
    let Some(problem) = name_problem(name, form) else {
        return;
    };
    let message = |path: &str| format!("`{path}` is `{name}`, {problem}");
    let is_number =
        matches!(form, NameSyntax::PortName) && name.bytes().all(|byte| byte.is_ascii_digit());
    if is_number {
        ctx.report(below, message, format!("write `{name}`, without quotes"));
    } else {
        ctx.report(below, message, form.help());
    }
}

impl NameSyntax {
    fn help(self) -> &'static str {
        match self {
            Self::Label => {
                "write lower-case letters, digits and `-`, at most 63, with a letter or digit at each end"
            }
            Self::Subdomain => {
                "write lower-case letters, digits, `-` and `.`, with a letter or digit at each end"
            }
            Self::QualifiedName => {
                "write letters, digits, `-`, `_` and `.`, at most 63, with an optional domain and `/` as prefix"
            }
            Self::LabelValue => {
                "write letters, digits, `-`, `_` and `.`, at most 63, with a letter or digit at each end"
            }
            Self::PortName => {
                "write at most 15 lower-case letters, digits and `-`, at least one of them a letter"
            }
            Self::PathSegment => "write it without `/` and `%`",
            Self::EnvVarName => "write letters, digits and `_`",
        }
    }
}

/// The problem of a name, as a phrase after the name.
fn name_problem(name: &str, form: NameSyntax) -> Option<&'static str> {
    let is_good = match form {
        NameSyntax::Label => is_label(name),
        NameSyntax::Subdomain => is_subdomain(name),
        NameSyntax::QualifiedName => match name.split_once('/') {
            Some((domain, rest)) => is_subdomain(domain) && is_qualified_part(rest),
            None => is_qualified_part(name),
        },
        NameSyntax::LabelValue => name.is_empty() || is_qualified_part(name),
        NameSyntax::PortName => return port_name_problem(name),
        NameSyntax::PathSegment => ![".", ".."].contains(&name) && !name.contains(['/', '%']),
        NameSyntax::EnvVarName => {
            !name.contains('=') && name.bytes().all(|byte| (b' '..=b'~').contains(&byte))
        }
    };
    let longest = if matches!(form, NameSyntax::Subdomain | NameSyntax::PathSegment) {
        253
    } else {
        63
    };
    match (is_good, form) {
        (true, _) => None,
        (false, NameSyntax::EnvVarName) => Some("which is not a valid variable name"),
        (false, NameSyntax::Label | NameSyntax::LabelValue) if name.len() > longest => {
            Some("which is too long")
        }
        (false, NameSyntax::QualifiedName) => Some("which is not a valid label key"),
        (false, NameSyntax::LabelValue) => Some("which is not a valid label value"),
        (false, _) => Some("which is not a valid Kubernetes name"),
    }
}

fn port_name_problem(name: &str) -> Option<&'static str> {
    const LONGEST: usize = 15;
    let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let is_good = name.bytes().all(allowed)
        && name.bytes().any(|byte| byte.is_ascii_lowercase())
        && !name.contains("--")
        && !name.starts_with('-')
        && !name.ends_with('-');
    match (name.len() <= LONGEST, is_good) {
        (true, true) => None,
        (false, _) => Some("and a port's name has at most 15 characters"),
        (true, false) => Some("which is not a valid port name"),
    }
}

fn is_label(name: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=63).contains(&name.len())
        && name.bytes().all(allowed)
        && !name.starts_with('-')
        && !name.ends_with('-')
}

pub(super) fn is_subdomain(name: &str) -> bool {
    let is_part = |part: &str| is_label(part) || (part.len() > 63 && is_label(&part[..63]));
    let ascii = name.is_ascii();
    ascii && (1..=253).contains(&name.len()) && name.split('.').all(is_part)
}

fn is_qualified_part(name: &str) -> bool {
    let ends = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let bytes = name.as_bytes();
    (1..=63).contains(&name.len())
        && name.bytes().all(allowed)
        && ends(bytes.first())
        && ends(bytes.last())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_match_kubernetes() {
        let long = "a".repeat(64);
        let good = |form, names: &[&str]| {
            for name in names {
                assert_eq!(name_problem(name, form), None, "{name}");
            }
        };
        let bad = |form, names: &[&str]| {
            for name in names {
                assert!(name_problem(name, form).is_some(), "{name}");
            }
        };
        good(NameSyntax::Label, &["a", "0", "a-b", &long[1..]]);
        bad(
            NameSyntax::Label,
            &["A", "a_b", "-a", "a-", "a.b", "", &long],
        );
        good(NameSyntax::Subdomain, &["a.b", "a-b.c", "0"]);
        bad(NameSyntax::Subdomain, &["a..b", ".a", "a_b", "A"]);
        good(
            NameSyntax::QualifiedName,
            &["a", "A_b.c-d", "example.com/a_B"],
        );
        bad(
            NameSyntax::QualifiedName,
            &["", "/a", "a/", "a/b/c", "Ex_ample/a", "-a", &long],
        );
        good(NameSyntax::LabelValue, &["", "a", "A_b.c", "1"]);
        bad(NameSyntax::LabelValue, &["a b", "a/b", "_a", &long]);
        good(
            NameSyntax::PortName,
            &["http", "a", "8a", "http-metrics-15"],
        );
        bad(
            NameSyntax::PortName,
            &["8080", "HTTP", "a--b", "-a", "http-metrics-port"],
        );
        good(NameSyntax::EnvVarName, &["A", "a.b", "1", "with space"]);
        bad(NameSyntax::EnvVarName, &["A=b", "ü"]);
    }
}
