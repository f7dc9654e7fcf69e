//! Conflicting settings of a container: variables, probes, security contexts.

use gpuc_syntax::diag::words::all;
use gpuc_syntax::node::Node;

use super::ObjectContext;
use super::field_path::Step;
use super::scalar::{Read, get, items, read, switch, text, whole};

pub(super) fn validate(ctx: &mut ObjectContext<'_, '_>) {
    match ctx.name {
        "Container" => {
            container(ctx);
            image(ctx);
            probes(ctx);
        }
        "SleepAction" => sleep(ctx),
        "ContainerResizePolicy" => resized(ctx),
        "EnvVar" => variable(ctx),
        "EnvVarSource" => one_of(ctx, ctx.node, FROM, true),
        "EnvFromSource" => one_of(ctx, ctx.node, &["configMapRef", "secretRef"], true),
        "Probe" => one_of(
            ctx,
            ctx.node,
            &["exec", "httpGet", "tcpSocket", "grpc"],
            true,
        ),
        "LifecycleHandler" => one_of(
            ctx,
            ctx.node,
            &["exec", "httpGet", "tcpSocket", "sleep"],
            true,
        ),
        "PodResourceClaim" => {
            one_of(
                ctx,
                ctx.node,
                &["resourceClaimName", "resourceClaimTemplateName"],
                true,
            );
        }
        "ExecAction" => command(ctx),
        "SecurityContext" => rights(ctx),
        "SeccompProfile" | "AppArmorProfile" => profile(ctx),
        "VolumeMount" => mount(ctx),
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
pub(super) fn one_of(
    ctx: &mut ObjectContext<'_, '_>,
    node: &Node,
    fields: &[&str],
    is_needed: bool,
) {
    let set: Vec<_> = fields
        .iter()
        .copied()
        .filter(|field| get(node, field).is_some())
        .collect();
    if let [_, second, ..] = set.as_slice() {
        let second = Step::from(*second);
        ctx.refuse(
            [second],
            |path| {
                let path = path.rsplit_once('.').map_or(path, |it| it.0);
                format!(
                    "`{path}` has {}, but only one of them is allowed",
                    all(&set, "and")
                )
            },
            "remove all but one; in a patch, set the others to `null`",
        );
    }
    // A value that is filled in later can set one.
    let is_known = node
        .entries()
        .iter()
        .all(|entry| read(&entry.value) != Read::Open);
    if set.is_empty() && is_needed && ctx.is_whole && is_known {
        ctx.refuse(
            [],
            |path| format!("`{path}` has none of {}", all(fields, "and")),
            format!("write {}", all(fields, "or")),
        );
    }
}

/// Source: kubernetes `pkg/apis/core/validation/validation.go`, `validateInitContainers`.
fn container(ctx: &mut ObjectContext<'_, '_>) {
    if ctx.key() != "initContainers" || get(ctx.node, "restartPolicy").is_some() {
        return;
    }
    for field in [
        "lifecycle",
        "livenessProbe",
        "readinessProbe",
        "startupProbe",
    ] {
        if get(ctx.node, field).is_some() {
            ctx.refuse(
                [Step::from(field)],
                |path| format!("`{path}` is only allowed for a sidecar container"),
                "remove it, or add `restartPolicy: Always`",
            );
        }
    }
}

/// The API server accepts spaces around the image of a pod template, but rejects the pods; no container runtime accepts
/// spaces.
///
/// Sources: kubernetes `pkg/apis/core/validation/validation.go`, `validateContainerCommon` and
/// `validateContainerOnlyForPod`; distribution/reference `regexp.go` (from memory).
fn image(ctx: &mut ObjectContext<'_, '_>) {
    let Some(Read::Text(image)) = get(ctx.node, "image").map(read) else {
        return;
    };
    if image.is_empty() {
        ctx.refuse(
            [Step::from("image")],
            |path| format!("`{path}` is empty"),
            "write an image",
        );
    } else if image.contains(char::is_whitespace) {
        let meant = image.trim();
        let meant = (!meant.contains(char::is_whitespace) && !meant.is_empty()).then_some(meant);
        ctx.refuse(
            [Step::from("image")],
            |path| format!("`{path}` is `{image}`, but an image name cannot contain spaces"),
            match meant {
                Some(meant) => format!("write `{meant}`"),
                None => "write it without spaces".to_owned(),
            },
        );
        ctx.meant(meant.map(str::to_owned));
    }
}

/// Source: kubernetes `pkg/apis/core/validation/validation.go`, `validateReadinessProbe`.
fn probes(ctx: &mut ObjectContext<'_, '_>) {
    let Some(probe) = get(ctx.node, "readinessProbe") else {
        return;
    };
    if get(probe, "terminationGracePeriodSeconds").is_some() {
        ctx.refuse(
            ["readinessProbe", "terminationGracePeriodSeconds"].map(Step::from),
            |path| format!("`{path}` is not allowed in a readiness probe"),
            "remove it",
        );
    }
}

/// The default termination grace period.
///
/// Source: kubernetes `pkg/apis/core/v1/defaults.go`, `SetDefaults_PodSpec`.
const GRACE: i128 = 30;

/// Source: kubernetes `pkg/apis/core/validation/validation.go`, `validateSleepAction`.
fn sleep(ctx: &mut ObjectContext<'_, '_>) {
    let pod = ctx.enclosing("PodSpec");
    let own = pod.and_then(|pod| get(pod, "terminationGracePeriodSeconds"));
    let grace = match own.map(read) {
        Some(Read::Whole(seconds)) => seconds,
        None if pod.is_some() && ctx.is_whole => GRACE,
        _ => return,
    };
    let Some(seconds) = whole(ctx.node, "seconds") else {
        return;
    };
    if seconds < 0 || seconds > grace {
        ctx.refuse(
            [Step::from("seconds")],
            |path| {
                format!("`{path}` is {seconds}, but `terminationGracePeriodSeconds` of the pod is {grace}")
            },
            format!("write at most {grace}, or a longer `terminationGracePeriodSeconds`"),
        );
    }
}

/// Source: kubernetes `pkg/apis/core/validation/validation.go`, `validateResizePolicy`.
fn resized(ctx: &mut ObjectContext<'_, '_>) {
    if let Some(name) = text(ctx.node, "resourceName").filter(|it| !["cpu", "memory"].contains(it))
    {
        ctx.refuse(
            [Step::from("resourceName")],
            |path| format!("`{path}` is `{name}`, but must be `cpu` or `memory`"),
            "write `cpu` or `memory`",
        );
    }
}

/// Source: kubernetes `pkg/apis/core/validation/validation.go`, `validateEnvVarValueFrom`.
fn variable(ctx: &mut ObjectContext<'_, '_>) {
    let from = get(ctx.node, "valueFrom");
    let value = get(ctx.node, "value").filter(|it| it.text() != Some(""));
    if from.is_none() || value.is_none() {
        return;
    }
    let name = text(ctx.node, "name").unwrap_or_default();
    ctx.refuse(
        [Step::from("valueFrom")],
        |_| format!("variable `{name}` has both a `value` and a `valueFrom`"),
        "remove one of the two; in a patch, write `value: null` or `valueFrom: null`",
    );
}

/// Source: kubernetes `pkg/apis/core/validation/validation.go`, `validateExecAction`.
fn command(ctx: &mut ObjectContext<'_, '_>) {
    if ctx.is_whole && items(ctx.node, "command").next().is_none() {
        ctx.refuse(
            [],
            |path| format!("`{path}` has no `command`"),
            "write its `command`, a list",
        );
    }
}

/// Source: kubernetes `pkg/apis/core/validation/validation.go`, `ValidateSecurityContext`.
fn rights(ctx: &mut ObjectContext<'_, '_>) {
    if switch(ctx.node, "allowPrivilegeEscalation") != Some(false) {
        return;
    }
    let added = ctx.node.get("capabilities");
    let mut added = added.into_iter().flat_map(|it| items(it, "add"));
    let is_admin = added.any(|(_, name)| read(name) == Read::Text("CAP_SYS_ADMIN"));
    let why = if switch(ctx.node, "privileged") == Some(true) {
        "`privileged: true`"
    } else if is_admin {
        "`CAP_SYS_ADMIN`"
    } else {
        return;
    };
    ctx.refuse(
        [Step::from("allowPrivilegeEscalation")],
        |path| format!("`{path}` is `false`, which cannot be combined with {why}"),
        "remove one of the two",
    );
}

/// Source: kubernetes `pkg/apis/core/validation/validation.go`, `validateSeccompProfileField`.
fn profile(ctx: &mut ObjectContext<'_, '_>) {
    let is_local = match text(ctx.node, "type") {
        Some(kind) => kind == "Localhost",
        None => return,
    };
    let has = get(ctx.node, "localhostProfile").is_some();
    if is_local && !has && ctx.is_whole {
        ctx.refuse(
            [Step::from("type")],
            |path| format!("`{path}` is `Localhost`, but `localhostProfile` is not set"),
            "write its `localhostProfile`, or `type: RuntimeDefault`",
        );
    } else if !is_local && has {
        ctx.refuse(
            [Step::from("localhostProfile")],
            |path| format!("`{path}` is only allowed with `type: Localhost`"),
            "remove it",
        );
    }
}

/// Source: kubernetes `pkg/apis/core/validation/validation.go`, `ValidateVolumeMounts`,
/// `validateLocalDescendingPath` and `validateMountPropagation`.
fn mount(ctx: &mut ObjectContext<'_, '_>) {
    let both = ["subPath", "subPathExpr"].map(|key| text(ctx.node, key));
    if let [Some(_), Some(_)] = both {
        one_of(ctx, ctx.node, &["subPath", "subPathExpr"], false);
    }
    let is_outside = |path: &str| path.starts_with('/') || path.split('/').any(|part| part == "..");
    for (key, path) in ["subPath", "subPathExpr"].into_iter().zip(both) {
        if let Some(path) = path.filter(|path| is_outside(path)) {
            ctx.refuse(
                [Step::from(key)],
                |at| format!("`{at}` is `{path}`, which is not a valid path within the volume"),
                "write a relative path without `..`",
            );
        }
    }
    let container = ctx
        .enclosing("Container")
        .and_then(|it| it.get("securityContext"));
    let is_privileged = container.and_then(|it| switch(it, "privileged")) == Some(true);
    if text(ctx.node, "mountPropagation") == Some("Bidirectional") && !is_privileged && ctx.is_whole
    {
        ctx.refuse(
            [Step::from("mountPropagation")],
            |path| {
                format!(
                    "`{path}` is `Bidirectional`, which is only allowed in privileged containers"
                )
            },
            "write `HostToContainer`, or `privileged: true` in the container's `securityContext`",
        );
    }
}

/// A security setting of a container, with the pod's setting as default.
pub(super) fn runs_as_root(pod: &Node, container: &Node) -> bool {
    let security_context = |node: &Node| node.get("securityContext").cloned();
    let (own, inherited) = (security_context(container), security_context(pod));
    let effective = |read: &dyn Fn(&Node) -> Option<i128>| {
        let value = own.as_ref().and_then(read);
        value.or_else(|| inherited.as_ref().and_then(read))
    };
    let not_root = effective(&|context| switch(context, "runAsNonRoot").map(i128::from));
    let user = effective(&|context| whole(context, "runAsUser"));
    not_root == Some(1) && user == Some(0)
}
