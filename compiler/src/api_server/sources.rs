//! Where the values of variables and the contents of volumes come from.

use super::Here;
use super::names::{Form, one};
use super::place::Step;
use super::read::{Read, get, read, text};
use crate::diag::words::{all, nearest};

/// What a variable can be told of its pod, and what a file can.
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

/// What of their containers both can be told; of huge pages by their size too.
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

/// In what a resource can be told: `validContainerResourceDivisorForCPU` and its like there.
const CORES: &[&str] = &["0", "1m", "1"];
const BYTES: &[&str] = &[
    "0", "1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei",
];

/// Objects that a source has to name, by type and field.
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

pub(super) fn look(here: &mut Here<'_, '_>) {
    named(here);
    match here.name {
        "ObjectFieldSelector" => field(here),
        "ResourceFieldSelector" => resource(here),
        _ => {}
    }
}

fn named(here: &mut Here<'_, '_>) {
    let name = here.name;
    for (_, field) in NAMED.iter().filter(|it| it.0 == name) {
        match get(here.node, field).map(read) {
            None | Some(Read::Text("")) if here.is_whole => here.refuse(
                [],
                |path| format!("`{path}` has no `{field}`"),
                format!("write its `{field}`"),
            ),
            Some(Read::Text(name)) if !name.is_empty() => {
                one(here, vec![Step::from(*field)], name, Form::Subdomain);
            }
            _ => {}
        }
    }
    let is_of_key = ["ConfigMapKeySelector", "SecretKeySelector"].contains(&here.name);
    if let Some(key) = text(here.node, "key").filter(|_| is_of_key)
        && !is_key(key)
    {
        here.refuse(
            [Step::from("key")],
            |path| format!("`{path}` is `{key}`, which is no key of a ConfigMap or Secret"),
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
fn field(here: &mut Here<'_, '_>) {
    let Some(path) = text(here.node, "fieldPath") else {
        return;
    };
    let is_of_variable = here.around("EnvVarSource").is_some();
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
        (_, true) => format!("write which: `{path}['key']`"),
        (Some(meant), _) => format!("did you mean `{meant}`?"),
        (None, _) => format!(
            "write {}, or one label: `metadata.labels['key']`",
            all(known, "or")
        ),
    };
    here.refuse(
        [Step::from("fieldPath")],
        |at| format!("`{at}` is `{path}`, which no pod can be told of itself"),
        help,
    );
    here.meant(near.map(str::to_owned));
}

/// Source: kubernetes `pkg/apis/core/validation/validation.go`, `validateContainerResourceFieldSelector` and
/// `validateContainerResourceDivisor`.
fn resource(here: &mut Here<'_, '_>) {
    let Some(name) = text(here.node, "resource") else {
        return;
    };
    let is_pages = PAGES.iter().any(|prefix| name.starts_with(prefix));
    if !OF_CONTAINERS.contains(&name) && !is_pages {
        let near = nearest(name, OF_CONTAINERS.iter().copied());
        let help = match near {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => format!("write {}", all(OF_CONTAINERS, "or")),
        };
        here.refuse(
            [Step::from("resource")],
            |at| format!("`{at}` is `{name}`, which no container can be told of itself"),
            help,
        );
        here.meant(near.map(str::to_owned));
        return;
    }
    let is_file = here.around("EnvVarSource").is_none();
    if is_file && here.is_whole && get(here.node, "containerName").is_none() {
        here.refuse(
            [],
            |at| format!("`{at}` has no `containerName`"),
            "write the container whose resource it is",
        );
    }
    let known = if name.split_once('.').is_some_and(|it| it.1 == "cpu") {
        CORES
    } else {
        BYTES
    };
    let divisor = match get(here.node, "divisor").map(read) {
        Some(Read::Text(divisor)) => divisor.to_owned(),
        Some(Read::Whole(divisor)) => divisor.to_string(),
        _ => return,
    };
    if !known.contains(&divisor.as_str()) {
        here.refuse(
            [Step::from("divisor")],
            |at| format!("`{at}` is `{divisor}`, in which `{name}` cannot be told"),
            format!("write {}", all(&known[1..], "or")),
        );
    }
}
