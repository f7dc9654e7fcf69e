//! Sources of environment variables and volumes.

use gpuc_syntax::diag::phrases::{closest_match, quoted_conjunction};

use super::ObjectContext;
use super::field_path::Step;
use super::names::{NameSyntax, check_name};
use super::scalar::{ParsedValue, get_non_null, get_text, parse_value};

/// The downward API fields for variables and for files.
///
/// Source: kubernetes `pkg/apis/core/validation/validation.go`, `validEnvDownwardAPIFieldPathExpressions` and
/// `validVolumeDownwardAPIFieldPathExpressions`.
const ENV_FIELD_PATHS: &[&str] = &[
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
];
const FILE_FIELD_PATHS: &[&str] = &[
    "metadata.name",
    "metadata.namespace",
    "metadata.labels",
    "metadata.annotations",
    "metadata.uid",
];

/// The downward API resources of containers; also huge pages by size.
///
/// Source: `validContainerResourceFieldPathExpressions` and its prefixes there.
const CONTAINER_RESOURCES: &[&str] = &[
    "limits.cpu",
    "limits.memory",
    "limits.ephemeral-storage",
    "requests.cpu",
    "requests.memory",
    "requests.ephemeral-storage",
];
const HUGE_PAGE_PREFIXES: &[&str] = &["limits.hugepages-", "requests.hugepages-"];

/// The valid divisors: `validContainerResourceDivisorForCPU` and its like there.
const CPU_DIVISORS: &[&str] = &["0", "1m", "1"];
const BYTE_DIVISORS: &[&str] = &[
    "0", "1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei",
];

/// Required object names of sources, by type and field.
///
/// Source: kubernetes `pkg/apis/core/validation/validation.go`, `validateConfigMapKeySelector`,
/// `validateSecretKeySelector`, `validateConfigMapEnvSource`, `validateSecretEnvSource`,
/// `validateConfigMapVolumeSource`, `validateSecretVolumeSource`, `validateProjectionSources`.
const REFERENCE_FIELDS: &[(&str, &str)] = &[
    ("ConfigMapEnvSource", "name"),
    ("ConfigMapKeySelector", "name"),
    ("ConfigMapProjection", "name"),
    ("ConfigMapVolumeSource", "name"),
    ("SecretEnvSource", "name"),
    ("SecretKeySelector", "name"),
    ("SecretProjection", "name"),
    ("SecretVolumeSource", "secretName"),
];

pub(super) fn validate(ctx: &mut ObjectContext<'_, '_>) {
    check_references(ctx);
    match ctx.type_name {
        "ObjectFieldSelector" => check_field_ref(ctx),
        "ResourceFieldSelector" => check_resource_ref(ctx),
        _ => {}
    }
}

fn check_references(ctx: &mut ObjectContext<'_, '_>) {
    let name = ctx.type_name;
    for (_, field) in REFERENCE_FIELDS.iter().filter(|it| it.0 == name) {
        match get_non_null(ctx.node, field).map(parse_value) {
            None | Some(ParsedValue::Text("")) if ctx.is_complete => ctx.report(
                [],
                |path| format!("`{path}` has no `{field}`"),
                format!("write its `{field}`"),
            ),
            Some(ParsedValue::Text(name)) if !name.is_empty() => {
                check_name(ctx, vec![Step::from(*field)], name, NameSyntax::Subdomain);
            }
            _ => {}
        }
    }
    let is_of_key = ["ConfigMapKeySelector", "SecretKeySelector"].contains(&ctx.type_name);
    if let Some(key) = get_text(ctx.node, "key").filter(|_| is_of_key)
        && !is_config_key(key)
    {
        ctx.report(
            [Step::from("key")],
            |path| {
                format!("`{path}` is `{key}`, which is not a valid key of a ConfigMap or Secret")
            },
            "write letters, digits, `-`, `_` and `.`",
        );
    }
}

/// Source: kubernetes `staging/src/k8s.io/apimachinery/pkg/util/validation/validation.go`, `IsConfigMapKey`.
fn is_config_key(key: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    key.len() <= 253 && key.bytes().all(allowed) && key != "." && !key.starts_with("..")
}

/// Source: kubernetes `pkg/apis/core/validation/validation.go`, `validateObjectFieldSelector`.
fn check_field_ref(ctx: &mut ObjectContext<'_, '_>) {
    let Some(path) = get_text(ctx.node, "fieldPath") else {
        return;
    };
    let is_of_variable = ctx.enclosing_object("EnvVarSource").is_some();
    let known = if is_of_variable {
        ENV_FIELD_PATHS
    } else {
        FILE_FIELD_PATHS
    };
    let subscript = path.split_once('[').filter(|it| it.1.ends_with(']'));
    let is_known = match subscript {
        Some((path, _)) => ["metadata.labels", "metadata.annotations"].contains(&path),
        None => known.contains(&path),
    };
    if is_known {
        return;
    }
    let closest = closest_match(path, known.iter().copied());
    let help = match (
        closest,
        ["metadata.labels", "metadata.annotations"].contains(&path),
    ) {
        (_, true) => format!("write the key: `{path}['key']`"),
        (Some(meant), _) => format!("did you mean `{meant}`?"),
        (None, _) => format!(
            "write {}, or one label: `metadata.labels['key']`",
            quoted_conjunction(known, "or")
        ),
    };
    ctx.report(
        [Step::from("fieldPath")],
        |at| format!("`{at}` is `{path}`, which is not available to pods"),
        help,
    );
    ctx.suggest(closest.map(str::to_owned));
}

/// Source: kubernetes `pkg/apis/core/validation/validation.go`, `validateContainerResourceFieldSelector` and
/// `validateContainerResourceDivisor`.
fn check_resource_ref(ctx: &mut ObjectContext<'_, '_>) {
    let Some(name) = get_text(ctx.node, "resource") else {
        return;
    };
    let is_pages = HUGE_PAGE_PREFIXES
        .iter()
        .any(|prefix| name.starts_with(prefix));
    if !CONTAINER_RESOURCES.contains(&name) && !is_pages {
        let near = closest_match(name, CONTAINER_RESOURCES.iter().copied());
        let help = match near {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => format!("write {}", quoted_conjunction(CONTAINER_RESOURCES, "or")),
        };
        ctx.report(
            [Step::from("resource")],
            |at| format!("`{at}` is `{name}`, which is not available to containers"),
            help,
        );
        ctx.suggest(near.map(str::to_owned));
        return;
    }
    let is_file = ctx.enclosing_object("EnvVarSource").is_none();
    if is_file && ctx.is_complete && get_non_null(ctx.node, "containerName").is_none() {
        ctx.report(
            [],
            |at| format!("`{at}` has no `containerName`"),
            "add the name of the container",
        );
    }
    let known = if name.split_once('.').is_some_and(|it| it.1 == "cpu") {
        CPU_DIVISORS
    } else {
        BYTE_DIVISORS
    };
    let divisor = match get_non_null(ctx.node, "divisor").map(parse_value) {
        Some(ParsedValue::Text(divisor)) => divisor.to_owned(),
        Some(ParsedValue::Integer(divisor)) => divisor.to_string(),
        _ => return,
    };
    if !known.contains(&divisor.as_str()) {
        ctx.report(
            [Step::from("divisor")],
            |at| format!("`{at}` is `{divisor}`, which is not a valid divisor for `{name}`"),
            format!("write {}", quoted_conjunction(&known[1..], "or")),
        );
    }
}
