//! Names, and which characters they may have.

use super::Here;
use super::place::Step;
use super::read::{Read, get, items, read, text};
use super::types::fields;
use crate::node::Entry;

/// What a name may look like.
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
    /// Source: `IsRelaxedEnvVarName` there, which versions since 1.32 ask.
    Variable,
}

/// The forms of names, by type and field.
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

/// What is called what in ports of probes and services, which are numbers too.
const PORTS: &[&str] = &[
    "HTTPGetAction.port",
    "NetworkPolicyPort.port",
    "TCPSocketAction.port",
    "ServicePort.targetPort",
];

pub(super) fn look(here: &mut Here<'_, '_>) {
    let name = here.name;
    for (_, field, form) in NAMES.iter().filter(|it| it.0 == name) {
        if let Some(value) = text(here.node, field) {
            one(here, vec![Step::from(*field)], value, *form);
        }
    }
    for field in fields(name).iter().filter(|it| it.limits.is_name) {
        if let Some(value) = text(here.node, field.name) {
            one(here, vec![Step::from(field.name)], value, Form::Subdomain);
        }
    }
    for port in PORTS {
        if let Some((_, field)) = port.split_once('.').filter(|it| it.0 == name)
            && let Some(value) = text(here.node, field)
        {
            one(here, vec![Step::from(field)], value, Form::Port);
        }
    }
    match here.name {
        "ObjectMeta" => metadata(here),
        "LabelSelector" => labels(here, "matchLabels"),
        "PodSpec" => labels(here, "nodeSelector"),
        "ServiceSpec" => labels(here, "selector"),
        "Toleration" => {
            let is_equal = text(here.node, "operator").is_none_or(|it| it == "Equal");
            if let Some(value) = text(here.node, "value").filter(|_| is_equal) {
                one(here, vec![Step::from("value")], value, Form::Value);
            }
        }
        "LabelSelectorRequirement" | "NodeSelectorRequirement" => values(here),
        "PodAffinityTerm" => namespaces(here),
        _ => {}
    }
}

/// Names and labels.
///
/// Source: kubernetes `staging/src/k8s.io/apimachinery/pkg/api/validation/objectmeta.go`; a `CronJob` makes jobs with
/// names that are 11 characters longer (`pkg/apis/batch/validation/validation.go`, `ValidateCronJobCreate`).
fn metadata(here: &mut Here<'_, '_>) {
    const LONGEST_OF_CRON: usize = 52;
    labels(here, "labels");
    let annotations = here
        .node
        .get("annotations")
        .map_or(&[][..], crate::node::Node::entries);
    for entry in annotations {
        key(here, "annotations", entry);
    }
    let is_root = here.above.len() == 1;
    if !is_root || here.key() != "metadata" {
        return;
    }
    let kind = here.above.first().map_or("", |it| it.0);
    let form = match kind {
        "Namespace" | "Service" => Form::Label,
        "ClusterRole" | "ClusterRoleBinding" | "Role" | "RoleBinding" => Form::Segment,
        _ => Form::Subdomain,
    };
    if let Some(name) = text(here.node, "name") {
        one(here, vec![Step::from("name")], name, form);
        if kind == "CronJob" && name.len() > LONGEST_OF_CRON {
            here.refuse(
                [Step::from("name")],
                |path| format!("`{path}` has more than {LONGEST_OF_CRON} characters"),
                "write a shorter one: the names of its jobs are longer",
            );
        }
    }
    if let Some(namespace) = text(here.node, "namespace") {
        one(here, vec![Step::from("namespace")], namespace, Form::Label);
    }
}

fn labels(here: &mut Here<'_, '_>, field: &'static str) {
    for entry in here
        .node
        .get(field)
        .map_or(&[][..], crate::node::Node::entries)
    {
        key(here, field, entry);
        if let Read::Text(value) = read(&entry.value) {
            let below = vec![Step::from(field), Step::from(entry.key.as_str())];
            one(here, below, value, Form::Value);
        }
    }
}

fn key(here: &mut Here<'_, '_>, field: &'static str, entry: &Entry) {
    let below = vec![Step::from(field), Step::from(entry.key.as_str())];
    if ["{{", "${", "$("]
        .iter()
        .any(|mark| entry.key.contains(mark))
    {
        return;
    }
    // The prefix of a key may be written in capitals by annotations.
    let name = if field == "annotations" {
        entry.key.to_lowercase()
    } else {
        entry.key.clone()
    };
    let Some(problem) = problem(&name, Form::Qualified) else {
        return;
    };
    let problem = problem.trim_start_matches("which ");
    here.refuse(
        below,
        |path| format!("`{}` of `{}` {problem}", entry.key, above(path, &entry.key)),
        Form::Qualified.help(),
    );
    if let Some(found) = here.found.last_mut() {
        found.of_key = true;
    }
}

/// A path without its last key.
fn above<'p>(path: &'p str, key: &str) -> &'p str {
    let path = path.strip_suffix(key).unwrap_or(path);
    path.trim_end_matches('.')
}

/// Values of selectors are values of labels.
fn values(here: &mut Here<'_, '_>) {
    let values = get(here.node, "values").map_or(&[][..], crate::node::Node::items);
    for (index, value) in values.iter().enumerate() {
        if let Read::Text(value) = read(value) {
            let below = vec![Step::from("values"), Step::Item(index)];
            one(here, below, value, Form::Value);
        }
    }
}

fn namespaces(here: &mut Here<'_, '_>) {
    for (index, name) in items(here.node, "namespaces") {
        if let Read::Text(name) = read(name) {
            let below = vec![Step::from("namespaces"), Step::Item(index)];
            one(here, below, name, Form::Label);
        }
    }
}

pub(super) fn one(here: &mut Here<'_, '_>, below: Vec<Step>, name: &str, form: Form) {
    let Some(problem) = problem(name, form) else {
        return;
    };
    let message = |path: &str| format!("`{path}` is `{name}`, {problem}");
    let is_number = matches!(form, Form::Port) && name.bytes().all(|byte| byte.is_ascii_digit());
    if is_number {
        here.refuse(below, message, format!("write `{name}`, without quotes"));
    } else {
        here.refuse(below, message, form.help());
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
                "write letters, digits, `-`, `_` and `.`, at most 63, after a domain and `/` if it has one"
            }
            Self::Value => {
                "write letters, digits, `-`, `_` and `.`, at most 63, with a letter or digit at each end"
            }
            Self::Port => {
                "write at most 15 lower-case letters, digits and `-`, one letter among them"
            }
            Self::Segment => "write it without `/` and `%`",
            Self::Variable => "write letters, digits and `_`",
        }
    }
}

/// What is wrong with a name, after the name itself.
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
        (false, Form::Variable) => Some("which is no name of a variable"),
        (false, Form::Label | Form::Value) if name.len() > longest => Some("which is too long"),
        (false, Form::Qualified) => Some("which is no key of a label"),
        (false, Form::Value) => Some("which is no value of a label"),
        (false, _) => Some("which is no name that Kubernetes takes"),
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
        (true, false) => Some("which is no name of a port"),
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
    fn names_are_what_kubernetes_takes() {
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
