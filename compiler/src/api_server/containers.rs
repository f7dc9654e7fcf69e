//! What a container says twice, or against itself: variables, probes, rights.

use super::Here;
use super::place::Step;
use super::read::{Read, get, items, read, switch, text, whole};
use crate::diag::words::all;
use crate::node::Node;

pub(super) fn look(here: &mut Here<'_, '_>) {
    match here.name {
        "Container" => {
            container(here);
            image(here);
            probes(here);
        }
        "SleepAction" => sleep(here),
        "ContainerResizePolicy" => resized(here),
        "EnvVar" => variable(here),
        "EnvVarSource" => one_of(here, here.node, FROM, true),
        "EnvFromSource" => one_of(here, here.node, &["configMapRef", "secretRef"], true),
        "Probe" => one_of(
            here,
            here.node,
            &["exec", "httpGet", "tcpSocket", "grpc"],
            true,
        ),
        "LifecycleHandler" => one_of(
            here,
            here.node,
            &["exec", "httpGet", "tcpSocket", "sleep"],
            true,
        ),
        "PodResourceClaim" => {
            one_of(
                here,
                here.node,
                &["resourceClaimName", "resourceClaimTemplateName"],
                true,
            );
        }
        "ExecAction" => command(here),
        "SecurityContext" => rights(here),
        "SeccompProfile" | "AppArmorProfile" => profile(here),
        "VolumeMount" => mount(here),
        _ => {}
    }
}

/// Source: kubernetes `pkg/apis/core/validation/validation.go`, `validateEnvVarValueFrom`.
const FROM: &[&str] = &[
    "fieldRef",
    "resourceFieldRef",
    "configMapKeyRef",
    "secretKeyRef",
    "fileKeyRef",
];

/// Exactly one of some fields, or at most one.
///
/// Source: kubernetes `pkg/apis/core/validation/validation.go`, `validateHandler`, `ValidateEnvFrom`,
/// `validateEnvVarValueFrom`, `validatePodResourceClaim`, `validateVolumeSource`.
pub(super) fn one_of(here: &mut Here<'_, '_>, node: &Node, fields: &[&str], is_needed: bool) {
    let set: Vec<_> = fields
        .iter()
        .copied()
        .filter(|field| get(node, field).is_some())
        .collect();
    if let [_, second, ..] = set.as_slice() {
        let second = Step::from(*second);
        here.refuse(
            [second],
            |path| {
                let path = path.rsplit_once('.').map_or(path, |it| it.0);
                format!(
                    "`{path}` has {}, and may have one of them",
                    all(&set, "and")
                )
            },
            "remove all but one; in a patch, write `null` for the others",
        );
    }
    // What is filled in elsewhere may bring one.
    let is_known = node
        .entries()
        .iter()
        .all(|entry| read(&entry.value) != Read::Open);
    if set.is_empty() && is_needed && here.is_whole && is_known {
        here.refuse(
            [],
            |path| format!("`{path}` has none of {}", all(fields, "and")),
            format!("write {}", all(fields, "or")),
        );
    }
}

/// Source: kubernetes `pkg/apis/core/validation/validation.go`, `validateInitContainers`.
fn container(here: &mut Here<'_, '_>) {
    if here.key() != "initContainers" || get(here.node, "restartPolicy").is_some() {
        return;
    }
    for field in [
        "lifecycle",
        "livenessProbe",
        "readinessProbe",
        "startupProbe",
    ] {
        if get(here.node, field).is_some() {
            here.refuse(
                [Step::from(field)],
                |path| format!("`{path}` is for a container that goes on running"),
                "remove it, or write `restartPolicy: Always` beside it",
            );
        }
    }
}

/// The API server takes spaces in the image of a template, and refuses the pods; no node takes one anywhere.
///
/// Sources: kubernetes `pkg/apis/core/validation/validation.go`, `validateContainerCommon` and
/// `validateContainerOnlyForPod`; distribution/reference `regexp.go` (from memory).
fn image(here: &mut Here<'_, '_>) {
    let Some(Read::Text(image)) = get(here.node, "image").map(read) else {
        return;
    };
    if image.is_empty() {
        here.refuse(
            [Step::from("image")],
            |path| format!("`{path}` is empty"),
            "write an image",
        );
    } else if image.contains(char::is_whitespace) {
        let meant = image.trim();
        let meant = (!meant.contains(char::is_whitespace) && !meant.is_empty()).then_some(meant);
        here.refuse(
            [Step::from("image")],
            |path| format!("`{path}` is `{image}`, and no image has a space in its name"),
            match meant {
                Some(meant) => format!("write `{meant}`"),
                None => "write it without spaces".to_owned(),
            },
        );
        here.meant(meant.map(str::to_owned));
    }
}

/// Source: kubernetes `pkg/apis/core/validation/validation.go`, `validateReadinessProbe`.
fn probes(here: &mut Here<'_, '_>) {
    let Some(probe) = get(here.node, "readinessProbe") else {
        return;
    };
    if get(probe, "terminationGracePeriodSeconds").is_some() {
        here.refuse(
            ["readinessProbe", "terminationGracePeriodSeconds"].map(Step::from),
            |path| format!("`{path}`: what is not ready is not ended"),
            "remove it",
        );
    }
}

/// How long a pod has to end, where it does not say.
///
/// Source: kubernetes `pkg/apis/core/v1/defaults.go`, `SetDefaults_PodSpec`.
const GRACE: i128 = 30;

/// Source: kubernetes `pkg/apis/core/validation/validation.go`, `validateSleepAction`.
fn sleep(here: &mut Here<'_, '_>) {
    let pod = here.around("PodSpec");
    let own = pod.and_then(|pod| get(pod, "terminationGracePeriodSeconds"));
    let grace = match own.map(read) {
        Some(Read::Whole(seconds)) => seconds,
        None if pod.is_some() && here.is_whole => GRACE,
        _ => return,
    };
    let Some(seconds) = whole(here.node, "seconds") else {
        return;
    };
    if seconds < 0 || seconds > grace {
        here.refuse(
            [Step::from("seconds")],
            |path| {
                format!("`{path}` is {seconds}, and the pod has {grace} seconds to end (`terminationGracePeriodSeconds`)")
            },
            format!("write at most {grace}, or a longer `terminationGracePeriodSeconds`"),
        );
    }
}

/// Source: kubernetes `pkg/apis/core/validation/validation.go`, `validateResizePolicy`.
fn resized(here: &mut Here<'_, '_>) {
    if let Some(name) = text(here.node, "resourceName").filter(|it| !["cpu", "memory"].contains(it))
    {
        here.refuse(
            [Step::from("resourceName")],
            |path| format!("`{path}` is `{name}`, and has to be `cpu` or `memory`"),
            "write `cpu` or `memory`",
        );
    }
}

/// Source: kubernetes `pkg/apis/core/validation/validation.go`, `validateEnvVarValueFrom`.
fn variable(here: &mut Here<'_, '_>) {
    let from = get(here.node, "valueFrom");
    let value = get(here.node, "value").filter(|it| it.text() != Some(""));
    if from.is_none() || value.is_none() {
        return;
    }
    let name = text(here.node, "name").unwrap_or_default();
    here.refuse(
        [Step::from("valueFrom")],
        |_| format!("variable `{name}` has a `value`, and a `valueFrom` too"),
        "take the other away; in a patch, write `value: null` or `valueFrom: null` beside it",
    );
}

/// Source: kubernetes `pkg/apis/core/validation/validation.go`, `validateExecAction`.
fn command(here: &mut Here<'_, '_>) {
    if here.is_whole && items(here.node, "command").next().is_none() {
        here.refuse(
            [],
            |path| format!("`{path}` has no `command`"),
            "write its `command`, a list",
        );
    }
}

/// Source: kubernetes `pkg/apis/core/validation/validation.go`, `ValidateSecurityContext`.
fn rights(here: &mut Here<'_, '_>) {
    if switch(here.node, "allowPrivilegeEscalation") != Some(false) {
        return;
    }
    let added = here.node.get("capabilities");
    let mut added = added.into_iter().flat_map(|it| items(it, "add"));
    let is_admin = added.any(|(_, name)| read(name) == Read::Text("CAP_SYS_ADMIN"));
    let why = if switch(here.node, "privileged") == Some(true) {
        "`privileged: true`"
    } else if is_admin {
        "`CAP_SYS_ADMIN`"
    } else {
        return;
    };
    here.refuse(
        [Step::from("allowPrivilegeEscalation")],
        |path| format!("`{path}` is `false`, which cannot be with {why}"),
        "remove one of the two",
    );
}

/// Source: kubernetes `pkg/apis/core/validation/validation.go`, `validateSeccompProfileField`.
fn profile(here: &mut Here<'_, '_>) {
    let is_local = match text(here.node, "type") {
        Some(kind) => kind == "Localhost",
        None => return,
    };
    let has = get(here.node, "localhostProfile").is_some();
    if is_local && !has && here.is_whole {
        here.refuse(
            [Step::from("type")],
            |path| format!("`{path}` is `Localhost`, and no `localhostProfile` is beside it"),
            "write its `localhostProfile`, or `type: RuntimeDefault`",
        );
    } else if !is_local && has {
        here.refuse(
            [Step::from("localhostProfile")],
            |path| format!("`{path}` is for `type: Localhost` alone"),
            "remove it",
        );
    }
}

/// Source: kubernetes `pkg/apis/core/validation/validation.go`, `ValidateVolumeMounts`,
/// `validateLocalDescendingPath` and `validateMountPropagation`.
fn mount(here: &mut Here<'_, '_>) {
    let both = ["subPath", "subPathExpr"].map(|key| text(here.node, key));
    if let [Some(_), Some(_)] = both {
        one_of(here, here.node, &["subPath", "subPathExpr"], false);
    }
    let is_outside = |path: &str| path.starts_with('/') || path.split('/').any(|part| part == "..");
    for (key, path) in ["subPath", "subPathExpr"].into_iter().zip(both) {
        if let Some(path) = path.filter(|path| is_outside(path)) {
            here.refuse(
                [Step::from(key)],
                |at| format!("`{at}` is `{path}`, which is no path within the volume"),
                "write it without `/` before it and without `..`",
            );
        }
    }
    let container = here
        .around("Container")
        .and_then(|it| it.get("securityContext"));
    let is_privileged = container.and_then(|it| switch(it, "privileged")) == Some(true);
    if text(here.node, "mountPropagation") == Some("Bidirectional")
        && !is_privileged
        && here.is_whole
    {
        here.refuse(
            [Step::from("mountPropagation")],
            |path| format!("`{path}` is `Bidirectional`, which is for privileged containers alone"),
            "write `HostToContainer`, or `privileged: true` into the container's `securityContext`",
        );
    }
}

/// What a container runs as, where it says so or its pod does.
pub(super) fn runs_as_root(pod: &Node, container: &Node) -> bool {
    let of = |node: &Node| node.get("securityContext").cloned();
    let (own, pod) = (of(container), of(pod));
    let first = |read: &dyn Fn(&Node) -> Option<i128>| {
        let own = own.as_ref().and_then(read);
        own.or_else(|| pod.as_ref().and_then(read))
    };
    let not_root = first(&|it| switch(it, "runAsNonRoot").map(i128::from));
    let user = first(&|it| whole(it, "runAsUser"));
    not_root == Some(1) && user == Some(0)
}
