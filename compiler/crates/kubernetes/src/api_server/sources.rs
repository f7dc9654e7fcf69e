//! Sources of environment variables and volumes.

use gpuc_syntax::diag::words::{all, nearest};

use super::ObjectContext;
use super::field_path::Step;
use super::names::{Form, one};
use super::scalar::{Read, get, read, text};

/// The downward API fields for variables and for files.
///
/// Source: kubernetes `pkg/apis/core/validation/validation.go`, `validEnvDownwardAPIFieldPathExpressions` and
/// `validVolumeDownwardAPIFieldPathExpressions`.
const OF_VARIABLES: &[&str] = &[
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
const OF_FILES: &[&str] = &[
    "metadata.name",
    "metadata.namespace",
    "metadata.labels",
    "metadata.annotations",
    "metadata.uid",
];

/// The downward API resources of containers; also huge pages by size.
///
/// Source: `validContainerResourceFieldPathExpressions` and its prefixes there.
const OF_CONTAINERS: &[&str] = &[
    "limits.cpu",
    "limits.memory",
    "limits.ephemeral-storage",
    "requests.cpu",
    "requests.memory",
    "requests.ephemeral-storage",
];
const PAGES: &[&str] = &["limits.hugepages-", "requests.hugepages-"];

/// The valid divisors: `validContainerResourceDivisorForCPU` and its like there.
const CORES: &[&str] = &["0", "1m", "1"];
const BYTES: &[&str] = &[
    "0", "1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei",
];

/// Required object names of sources, by type and field.
///
/// Source: kubernetes `pkg/apis/core/validation/validation.go`, `validateConfigMapKeySelector`,
/// `validateSecretKeySelector`, `validateConfigMapEnvSource`, `validateSecretEnvSource`,
/// `validateConfigMapVolumeSource`, `validateSecretVolumeSource`, `validateProjectionSources`.
const NAMED: &[(&str, &str)] = &[
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
    named(ctx);
    match ctx.name {
        "ObjectFieldSelector" => field(ctx),
        "ResourceFieldSelector" => resource(ctx),
        _ => {}
    }
}

fn named(ctx: &mut ObjectContext<'_, '_>) {
    let name = ctx.name;
    for (_, field) in NAMED.iter().filter(|it| it.0 == name) {
        match get(ctx.node, field).map(read) {
            None | Some(Read::Text("")) if ctx.is_whole => ctx.refuse(
                [],
                |path| format!("`{path}` has no `{field}`"),
                format!("write its `{field}`"),
            ),
            Some(Read::Text(name)) if !name.is_empty() => {
                one(ctx, vec![Step::from(*field)], name, Form::Subdomain);
            }
            _ => {}
        }
    }
    let is_of_key = ["ConfigMapKeySelector", "SecretKeySelector"].contains(&ctx.name);
    if let Some(key) = text(ctx.node, "key").filter(|_| is_of_key)
        && !is_key(key)
    {
        ctx.refuse(
            [Step::from("key")],
            |path| {
                format!("`{path}` is `{key}`, which is not a valid key of a ConfigMap or Secret")
            },
            "write letters, digits, `-`, `_` and `.`",
        );
    }
}

/// Source: kubernetes `staging/src/k8s.io/apimachinery/pkg/util/validation/validation.go`, `IsConfigMapKey`.
fn is_key(key: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    key.len() <= 253 && key.bytes().all(allowed) && key != "." && !key.starts_with("..")
}

/// Source: kubernetes `pkg/apis/core/validation/validation.go`, `validateObjectFieldSelector`.
fn field(ctx: &mut ObjectContext<'_, '_>) {
    let Some(path) = text(ctx.node, "fieldPath") else {
        return;
    };
    let is_of_variable = ctx.enclosing("EnvVarSource").is_some();
    let known = if is_of_variable {
        OF_VARIABLES
    } else {
        OF_FILES
    };
    let one_of_many = path.split_once('[').filter(|it| it.1.ends_with(']'));
    let is_known = match one_of_many {
        Some((path, _)) => ["metadata.labels", "metadata.annotations"].contains(&path),
        None => known.contains(&path),
    };
    if is_known {
        return;
    }
    let near = nearest(path, known.iter().copied());
    let help = match (
        near,
        ["metadata.labels", "metadata.annotations"].contains(&path),
    ) {
        (_, true) => format!("write the key: `{path}['key']`"),
        (Some(meant), _) => format!("did you mean `{meant}`?"),
        (None, _) => format!(
            "write {}, or one label: `metadata.labels['key']`",
            all(known, "or")
        ),
    };
    ctx.refuse(
        [Step::from("fieldPath")],
        |at| format!("`{at}` is `{path}`, which is not available to pods"),
        help,
    );
    ctx.meant(near.map(str::to_owned));
}

/// Source: kubernetes `pkg/apis/core/validation/validation.go`, `validateContainerResourceFieldSelector` and
/// `validateContainerResourceDivisor`.
fn resource(ctx: &mut ObjectContext<'_, '_>) {
    let Some(name) = text(ctx.node, "resource") else {
        return;
    };
    let is_pages = PAGES.iter().any(|prefix| name.starts_with(prefix));
    if !OF_CONTAINERS.contains(&name) && !is_pages {
        let near = nearest(name, OF_CONTAINERS.iter().copied());
        let help = match near {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => format!("write {}", all(OF_CONTAINERS, "or")),
        };
        ctx.refuse(
            [Step::from("resource")],
            |at| format!("`{at}` is `{name}`, which is not available to containers"),
            help,
        );
        ctx.meant(near.map(str::to_owned));
        return;
    }
    let is_file = ctx.enclosing("EnvVarSource").is_none();
    if is_file && ctx.is_whole && get(ctx.node, "containerName").is_none() {
        ctx.refuse(
            [],
            |at| format!("`{at}` has no `containerName`"),
            "add the name of the container",
        );
    }
    let known = if name.split_once('.').is_some_and(|it| it.1 == "cpu") {
        CORES
    } else {
        BYTES
    };
    let divisor = match get(ctx.node, "divisor").map(read) {
        Some(Read::Text(divisor)) => divisor.to_owned(),
        Some(Read::Whole(divisor)) => divisor.to_string(),
        _ => return,
    };
    if !known.contains(&divisor.as_str()) {
        ctx.refuse(
            [Step::from("divisor")],
            |at| format!("`{at}` is `{divisor}`, which is not a valid divisor for `{name}`"),
            format!("write {}", all(&known[1..], "or")),
        );
    }
}
