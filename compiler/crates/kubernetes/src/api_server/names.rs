//! The syntax of names.

use gpuc_syntax::node::Entry;

use super::ObjectContext;
use super::field_path::Step;
use super::scalar::{Read, get, items, read, text};
use super::types::fields;

/// The syntax of a name.
#[derive(Clone, Copy, Debug)]
pub(super) enum Form {
    /// Source: kubernetes `staging/src/k8s.io/apimachinery/pkg/util/validation/validation.go`, `IsDNS1123Label`.
    Label,
    /// Source: `IsDNS1123Subdomain` there.
    Subdomain,
    /// Source: `IsQualifiedName` there.
    Qualified,
    /// Source: `IsValidLabelValue` there.
    Value,
    /// Source: `IsValidPortName` there.
    Port,
    /// Source: `staging/src/k8s.io/apimachinery/pkg/api/validation/path/name.go`, `IsValidPathSegmentName`.
    Segment,
    /// Source: `IsRelaxedEnvVarName` there, which used since version 1.32.
    Variable,
}

/// The syntax of names, by type and field.
///
/// Source: kubernetes `pkg/apis/core/validation/validation.go` (`validateContainerCommon`, `validateContainerPorts`,
/// `ValidateEnv`, `ValidateTolerations`, `ValidateNodeSelectorRequirement`, `validatePodAffinityTerm`,
/// `validatePersistentClaimVolumeSource`, `ValidatePodSpec`).
const NAMES: &[(&str, &str, Form)] = &[
    ("Container", "name", Form::Label),
    ("ContainerPort", "name", Form::Port),
    ("EnvFromSource", "prefix", Form::Variable),
    ("EnvVar", "name", Form::Variable),
    ("CrossVersionObjectReference", "name", Form::Segment),
    ("IngressServiceBackend", "name", Form::Label),
    ("LabelSelectorRequirement", "key", Form::Qualified),
    ("NodeSelectorRequirement", "key", Form::Qualified),
    (
        "PersistentVolumeClaimSpec",
        "storageClassName",
        Form::Subdomain,
    ),
    (
        "PersistentVolumeClaimVolumeSource",
        "claimName",
        Form::Subdomain,
    ),
    ("PodAffinityTerm", "topologyKey", Form::Qualified),
    ("PodReadinessGate", "conditionType", Form::Qualified),
    ("PodResourceClaim", "name", Form::Label),
    ("PodSchedulingGate", "name", Form::Qualified),
    ("PodSpec", "hostname", Form::Label),
    ("PodSpec", "nodeName", Form::Subdomain),
    ("PodSpec", "priorityClassName", Form::Subdomain),
    ("PodSpec", "runtimeClassName", Form::Subdomain),
    ("PodSpec", "serviceAccountName", Form::Subdomain),
    ("PodSpec", "subdomain", Form::Label),
    ("RoleRef", "name", Form::Segment),
    ("ServiceBackendPort", "name", Form::Port),
    ("ServicePort", "name", Form::Label),
    ("Toleration", "key", Form::Qualified),
    ("TopologySpreadConstraint", "topologyKey", Form::Qualified),
    ("Volume", "name", Form::Label),
];

/// Ports of probes and services that can be a name or a number.
const PORTS: &[&str] = &[
    "HTTPGetAction.port",
    "NetworkPolicyPort.port",
    "TCPSocketAction.port",
    "ServicePort.targetPort",
];

pub(super) fn validate(ctx: &mut ObjectContext<'_, '_>) {
    let name = ctx.name;
    for (_, field, form) in NAMES.iter().filter(|it| it.0 == name) {
        if let Some(value) = text(ctx.node, field) {
            one(ctx, vec![Step::from(*field)], value, *form);
        }
    }
    for field in fields(name).iter().filter(|it| it.limits.is_name) {
        if let Some(value) = text(ctx.node, field.name) {
            one(ctx, vec![Step::from(field.name)], value, Form::Subdomain);
        }
    }
    for port in PORTS {
        if let Some((_, field)) = port.split_once('.').filter(|it| it.0 == name)
            && let Some(value) = text(ctx.node, field)
        {
            one(ctx, vec![Step::from(field)], value, Form::Port);
        }
    }
    match ctx.name {
        "ObjectMeta" => metadata(ctx),
        "LabelSelector" => labels(ctx, "matchLabels"),
        "PodSpec" => labels(ctx, "nodeSelector"),
        "ServiceSpec" => labels(ctx, "selector"),
        "Toleration" => {
            let is_equal = text(ctx.node, "operator").is_none_or(|it| it == "Equal");
            if let Some(value) = text(ctx.node, "value").filter(|_| is_equal) {
                one(ctx, vec![Step::from("value")], value, Form::Value);
            }
        }
        "LabelSelectorRequirement" | "NodeSelectorRequirement" => values(ctx),
        "PodAffinityTerm" => namespaces(ctx),
        _ => {}
    }
}

/// Names and labels.
///
/// Source: kubernetes `staging/src/k8s.io/apimachinery/pkg/api/validation/objectmeta.go`; a `CronJob` makes jobs with
/// names that are 11 characters longer (`pkg/apis/batch/validation/validation.go`, `ValidateCronJobCreate`).
fn metadata(ctx: &mut ObjectContext<'_, '_>) {
    const LONGEST_OF_CRON: usize = 52;
    labels(ctx, "labels");
    let annotations = ctx
        .node
        .get("annotations")
        .map_or(&[][..], gpuc_syntax::node::Node::entries);
    for entry in annotations {
        key(ctx, "annotations", entry);
    }
    let is_root = ctx.above.len() == 1;
    if !is_root || ctx.key() != "metadata" {
        return;
    }
    let kind = ctx.above.first().map_or("", |it| it.0);
    let form = match kind {
        "Namespace" | "Service" => Form::Label,
        "ClusterRole" | "ClusterRoleBinding" | "Role" | "RoleBinding" => Form::Segment,
        _ => Form::Subdomain,
    };
    if let Some(name) = text(ctx.node, "name") {
        one(ctx, vec![Step::from("name")], name, form);
        if kind == "CronJob" && name.len() > LONGEST_OF_CRON {
            ctx.refuse(
                [Step::from("name")],
                |path| format!("`{path}` has more than {LONGEST_OF_CRON} characters"),
                "shorten the name: the names of its jobs are longer",
            );
        }
    }
    if let Some(namespace) = text(ctx.node, "namespace") {
        one(ctx, vec![Step::from("namespace")], namespace, Form::Label);
    }
}

fn labels(ctx: &mut ObjectContext<'_, '_>, field: &'static str) {
    for entry in ctx
        .node
        .get(field)
        .map_or(&[][..], gpuc_syntax::node::Node::entries)
    {
        key(ctx, field, entry);
        if let Read::Text(value) = read(&entry.value) {
            let below = vec![Step::from(field), Step::from(entry.key.as_str())];
            one(ctx, below, value, Form::Value);
        }
    }
}

fn key(ctx: &mut ObjectContext<'_, '_>, field: &'static str, entry: &Entry) {
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
    let Some(problem) = problem(&name, Form::Qualified) else {
        return;
    };
    let problem = problem.trim_start_matches("which ");
    ctx.refuse(
        below,
        |path| format!("`{}` of `{}` {problem}", entry.key, above(path, &entry.key)),
        Form::Qualified.help(),
    );
    if let Some(found) = ctx.found.last_mut() {
        found.of_key = true;
    }
}

/// A path without its last key.
fn above<'p>(path: &'p str, key: &str) -> &'p str {
    let path = path.strip_suffix(key).unwrap_or(path);
    path.trim_end_matches('.')
}

/// Selector values must be valid label values.
fn values(ctx: &mut ObjectContext<'_, '_>) {
    let values = get(ctx.node, "values").map_or(&[][..], gpuc_syntax::node::Node::items);
    for (index, value) in values.iter().enumerate() {
        if let Read::Text(value) = read(value) {
            let below = vec![Step::from("values"), Step::Item(index)];
            one(ctx, below, value, Form::Value);
        }
    }
}

fn namespaces(ctx: &mut ObjectContext<'_, '_>) {
    for (index, name) in items(ctx.node, "namespaces") {
        if let Read::Text(name) = read(name) {
            let below = vec![Step::from("namespaces"), Step::Item(index)];
            one(ctx, below, name, Form::Label);
        }
    }
}

pub(super) fn one(ctx: &mut ObjectContext<'_, '_>, below: Vec<Step>, name: &str, form: Form) {
    let Some(problem) = problem(name, form) else {
        return;
    };
    let message = |path: &str| format!("`{path}` is `{name}`, {problem}");
    let is_number = matches!(form, Form::Port) && name.bytes().all(|byte| byte.is_ascii_digit());
    if is_number {
        ctx.refuse(below, message, format!("write `{name}`, without quotes"));
    } else {
        ctx.refuse(below, message, form.help());
    }
}

impl Form {
    fn help(self) -> &'static str {
        match self {
            Self::Label => {
                "write lower-case letters, digits and `-`, at most 63, with a letter or digit at each end"
            }
            Self::Subdomain => {
                "write lower-case letters, digits, `-` and `.`, with a letter or digit at each end"
            }
            Self::Qualified => {
                "write letters, digits, `-`, `_` and `.`, at most 63, with an optional domain and `/` as prefix"
            }
            Self::Value => {
                "write letters, digits, `-`, `_` and `.`, at most 63, with a letter or digit at each end"
            }
            Self::Port => {
                "write at most 15 lower-case letters, digits and `-`, at least one of them a letter"
            }
            Self::Segment => "write it without `/` and `%`",
            Self::Variable => "write letters, digits and `_`",
        }
    }
}

/// The problem of a name, as a phrase after the name.
fn problem(name: &str, form: Form) -> Option<&'static str> {
    let is_good = match form {
        Form::Label => is_label(name),
        Form::Subdomain => is_subdomain(name),
        Form::Qualified => match name.split_once('/') {
            Some((domain, rest)) => is_subdomain(domain) && is_part(rest),
            None => is_part(name),
        },
        Form::Value => name.is_empty() || is_part(name),
        Form::Port => return port(name),
        Form::Segment => ![".", ".."].contains(&name) && !name.contains(['/', '%']),
        Form::Variable => {
            !name.contains('=') && name.bytes().all(|byte| (b' '..=b'~').contains(&byte))
        }
    };
    let longest = if matches!(form, Form::Subdomain | Form::Segment) {
        253
    } else {
        63
    };
    match (is_good, form) {
        (true, _) => None,
        (false, Form::Variable) => Some("which is not a valid variable name"),
        (false, Form::Label | Form::Value) if name.len() > longest => Some("which is too long"),
        (false, Form::Qualified) => Some("which is not a valid label key"),
        (false, Form::Value) => Some("which is not a valid label value"),
        (false, _) => Some("which is not a valid Kubernetes name"),
    }
}

fn port(name: &str) -> Option<&'static str> {
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

fn is_part(name: &str) -> bool {
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
                assert_eq!(problem(name, form), None, "{name}");
            }
        };
        let bad = |form, names: &[&str]| {
            for name in names {
                assert!(problem(name, form).is_some(), "{name}");
            }
        };
        good(Form::Label, &["a", "0", "a-b", &long[1..]]);
        bad(Form::Label, &["A", "a_b", "-a", "a-", "a.b", "", &long]);
        good(Form::Subdomain, &["a.b", "a-b.c", "0"]);
        bad(Form::Subdomain, &["a..b", ".a", "a_b", "A"]);
        good(Form::Qualified, &["a", "A_b.c-d", "example.com/a_B"]);
        bad(
            Form::Qualified,
            &["", "/a", "a/", "a/b/c", "Ex_ample/a", "-a", &long],
        );
        good(Form::Value, &["", "a", "A_b.c", "1"]);
        bad(Form::Value, &["a b", "a/b", "_a", &long]);
        good(Form::Port, &["http", "a", "8a", "http-metrics-15"]);
        bad(
            Form::Port,
            &["8080", "HTTP", "a--b", "-a", "http-metrics-port"],
        );
        good(Form::Variable, &["A", "a.b", "1", "with space"]);
        bad(Form::Variable, &["A=b", "ü"]);
    }
}
