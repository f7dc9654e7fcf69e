//! Conflicting settings of a container: variables, probes, security contexts.

use gpuc_syntax::diag::phrases::quoted_conjunction;
use gpuc_syntax::node::{Node, Value};

use super::ObjectContext;
use super::field_path::Step;
use super::scalar::{
    ParsedValue, get_bool, get_integer, get_non_null, get_text, indexed_items, parse_value,
};

pub(super) fn validate(ctx: &mut ObjectContext<'_, '_>) {
    match ctx.type_name {
        "Container" => {
            check_init_container(ctx);
            check_image(ctx);
            check_readiness_probe(ctx);
        }
        "SleepAction" => check_sleep(ctx),
        "ContainerResizePolicy" => check_resize_policy(ctx),
        "EnvVar" => check_env_var(ctx),
        "EnvVarSource" => check_one_of(ctx, ctx.node, ENV_VAR_SOURCES, true),
        "EnvFromSource" => check_one_of(ctx, ctx.node, &["configMapRef", "secretRef"], true),
        "Probe" => check_one_of(
            ctx,
            ctx.node,
            &["exec", "httpGet", "tcpSocket", "grpc"],
            true,
        ),
        "LifecycleHandler" => check_one_of(
            ctx,
            ctx.node,
            &["exec", "httpGet", "tcpSocket", "sleep"],
            true,
        ),
        "PodResourceClaim" => {
            check_one_of(
                ctx,
                ctx.node,
                &["resourceClaimName", "resourceClaimTemplateName"],
                true,
            );
        }
        "ExecAction" => check_exec_command(ctx),
        "SecurityContext" => check_privilege_escalation(ctx),
        "SeccompProfile" | "AppArmorProfile" => check_local_profile(ctx),
        "VolumeMount" => check_volume_mount(ctx),
        _ => {}
    }
}

/// Source: kubernetes `pkg/apis/core/validation/validation.go`, `validateEnvVarValueFrom`.
const ENV_VAR_SOURCES: &[&str] = &[
    "fieldRef",
    "resourceFieldRef",
    "configMapKeyRef",
    "secretKeyRef",
    "fileKeyRef",
];

/// Whether a value is a list without items, as if it were not set.
fn is_empty_list(node: &Node) -> bool {
    matches!(&node.value, Value::Sequence(items) if items.is_empty())
}

/// Exactly one of some fields, or at most one.
///
/// Source: kubernetes `pkg/apis/core/validation/validation.go`, `validateHandler`, `ValidateEnvFrom`,
/// `validateEnvVarValueFrom`, `validatePodResourceClaim`, `validateVolumeSource`.
pub(super) fn check_one_of(
    ctx: &mut ObjectContext<'_, '_>,
    node: &Node,
    fields: &[&str],
    is_required: bool,
) {
    let set: Vec<_> = fields
        .iter()
        .copied()
        .filter(|field| get_non_null(node, field).is_some_and(|value| !is_empty_list(value)))
        .collect();
    if let [_, second, ..] = set.as_slice() {
        let second = Step::from(*second);
        ctx.report(
            [second],
            |path| {
                let path = path.rsplit_once('.').map_or(path, |it| it.0);
                format!(
                    "`{path}` has {}, but only one of them is allowed",
                    quoted_conjunction(&set, "and")
                )
            },
            "remove all but one; in a patch, set the others to `null`",
        );
    }
    // A value that is filled in later can set one.
    let is_known = node
        .entries()
        .iter()
        .all(|entry| parse_value(&entry.value) != ParsedValue::Templated);
    if set.is_empty() && is_required && ctx.is_complete && is_known {
        ctx.report(
            [],
            |path| format!("`{path}` has none of {}", quoted_conjunction(fields, "and")),
            format!("add {}", quoted_conjunction(fields, "or")),
        );
    }
}

/// Source: kubernetes `pkg/apis/core/validation/validation.go`, `validateInitContainers`.
fn check_init_container(ctx: &mut ObjectContext<'_, '_>) {
    if ctx.key() != "initContainers" || get_non_null(ctx.node, "restartPolicy").is_some() {
        return;
    }
    for field in [
        "lifecycle",
        "livenessProbe",
        "readinessProbe",
        "startupProbe",
    ] {
        if get_non_null(ctx.node, field).is_some() {
            ctx.report(
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
fn check_image(ctx: &mut ObjectContext<'_, '_>) {
    let Some(ParsedValue::Text(image)) = get_non_null(ctx.node, "image").map(parse_value) else {
        return;
    };
    if image.is_empty() {
        ctx.report(
            [Step::from("image")],
            |path| format!("`{path}` is empty"),
            "write an image",
        );
    } else if image.contains(char::is_whitespace) {
        let meant = image.trim();
        let meant = (!meant.contains(char::is_whitespace) && !meant.is_empty()).then_some(meant);
        ctx.report(
            [Step::from("image")],
            |path| format!("`{path}` is `{image}`, but an image name cannot contain spaces"),
            match meant {
                Some(meant) => format!("write `{meant}`"),
                None => "write it without spaces".to_owned(),
            },
        );
        ctx.suggest(meant.map(str::to_owned));
    }
}

/// Source: kubernetes `pkg/apis/core/validation/validation.go`, `validateReadinessProbe`.
fn check_readiness_probe(ctx: &mut ObjectContext<'_, '_>) {
    let Some(probe) = get_non_null(ctx.node, "readinessProbe") else {
        return;
    };
    if get_non_null(probe, "terminationGracePeriodSeconds").is_some() {
        ctx.report(
            ["readinessProbe", "terminationGracePeriodSeconds"].map(Step::from),
            |path| format!("`{path}` is not allowed in a readiness probe"),
            "remove it",
        );
    }
}

/// The default termination grace period.
///
/// Source: kubernetes `pkg/apis/core/v1/defaults.go`, `SetDefaults_PodSpec`.
const DEFAULT_GRACE_SECONDS: i128 = 30;

/// Source: kubernetes `pkg/apis/core/validation/validation.go`, `validateSleepAction`.
fn check_sleep(ctx: &mut ObjectContext<'_, '_>) {
    let pod = ctx.enclosing_object("PodSpec");
    let own = pod.and_then(|pod| get_non_null(pod, "terminationGracePeriodSeconds"));
    let grace = match own.map(parse_value) {
        Some(ParsedValue::Integer(seconds)) => seconds,
        None if pod.is_some() && ctx.is_complete => DEFAULT_GRACE_SECONDS,
        _ => return,
    };
    let Some(seconds) = get_integer(ctx.node, "seconds") else {
        return;
    };
    if seconds < 0 || seconds > grace {
        ctx.report(
            [Step::from("seconds")],
            |path| {
                format!("`{path}` is {seconds}, but `terminationGracePeriodSeconds` of the pod is {grace}")
            },
            format!("write at most {grace}, or a longer `terminationGracePeriodSeconds`"),
        );
    }
}

/// Source: kubernetes `pkg/apis/core/validation/validation.go`, `validateResizePolicy`.
fn check_resize_policy(ctx: &mut ObjectContext<'_, '_>) {
    if let Some(name) =
        get_text(ctx.node, "resourceName").filter(|it| !["cpu", "memory"].contains(it))
    {
        ctx.report(
            [Step::from("resourceName")],
            |path| format!("`{path}` is `{name}`, but must be `cpu` or `memory`"),
            "write `cpu` or `memory`",
        );
    }
}

/// Source: kubernetes `pkg/apis/core/validation/validation.go`, `validateEnvVarValueFrom`.
fn check_env_var(ctx: &mut ObjectContext<'_, '_>) {
    let from = get_non_null(ctx.node, "valueFrom");
    let value = get_non_null(ctx.node, "value").filter(|it| it.text() != Some(""));
    if from.is_none() || value.is_none() {
        return;
    }
    let name = get_text(ctx.node, "name").unwrap_or_default();
    ctx.report(
        [Step::from("valueFrom")],
        |_| format!("variable `{name}` has both a `value` and a `valueFrom`"),
        "remove one of the two; in a patch, write `value: null` or `valueFrom: null`",
    );
}

/// Source: kubernetes `pkg/apis/core/validation/validation.go`, `validateExecAction`.
fn check_exec_command(ctx: &mut ObjectContext<'_, '_>) {
    if ctx.is_complete && indexed_items(ctx.node, "command").next().is_none() {
        ctx.report(
            [],
            |path| format!("`{path}` has no `command`"),
            "write its `command`, a list",
        );
    }
}

/// Source: kubernetes `pkg/apis/core/validation/validation.go`, `ValidateSecurityContext`.
fn check_privilege_escalation(ctx: &mut ObjectContext<'_, '_>) {
    if get_bool(ctx.node, "allowPrivilegeEscalation") != Some(false) {
        return;
    }
    let added = ctx.node.get("capabilities");
    let mut added = added.into_iter().flat_map(|it| indexed_items(it, "add"));
    let is_admin = added.any(|(_, name)| parse_value(name) == ParsedValue::Text("CAP_SYS_ADMIN"));
    let privilege = if get_bool(ctx.node, "privileged") == Some(true) {
        "`privileged: true`"
    } else if is_admin {
        "`CAP_SYS_ADMIN`"
    } else {
        return;
    };
    ctx.report(
        [Step::from("allowPrivilegeEscalation")],
        |path| format!("`{path}` is `false`, which cannot be combined with {privilege}"),
        "remove one of the two",
    );
}

/// Source: kubernetes `pkg/apis/core/validation/validation.go`, `validateSeccompProfileField`.
fn check_local_profile(ctx: &mut ObjectContext<'_, '_>) {
    let is_local = match get_text(ctx.node, "type") {
        Some(kind) => kind == "Localhost",
        None => return,
    };
    let has = get_non_null(ctx.node, "localhostProfile").is_some();
    if is_local && !has && ctx.is_complete {
        ctx.report(
            [Step::from("type")],
            |path| format!("`{path}` is `Localhost`, but `localhostProfile` is not set"),
            "write its `localhostProfile`, or `type: RuntimeDefault`",
        );
    } else if !is_local && has {
        ctx.report(
            [Step::from("localhostProfile")],
            |path| format!("`{path}` is only allowed with `type: Localhost`"),
            "remove it",
        );
    }
}

/// Source: kubernetes `pkg/apis/core/validation/validation.go`, `ValidateVolumeMounts`,
/// `validateLocalDescendingPath` and `validateMountPropagation`.
fn check_volume_mount(ctx: &mut ObjectContext<'_, '_>) {
    let both = ["subPath", "subPathExpr"].map(|key| get_text(ctx.node, key));
    if let [Some(_), Some(_)] = both {
        check_one_of(ctx, ctx.node, &["subPath", "subPathExpr"], false);
    }
    let is_outside = |path: &str| path.starts_with('/') || path.split('/').any(|part| part == "..");
    for (key, path) in ["subPath", "subPathExpr"].into_iter().zip(both) {
        if let Some(path) = path.filter(|path| is_outside(path)) {
            ctx.report(
                [Step::from(key)],
                |at| format!("`{at}` is `{path}`, which is not a valid path within the volume"),
                "write a relative path without `..`",
            );
        }
    }
    let container = ctx
        .enclosing_object("Container")
        .and_then(|it| it.get("securityContext"));
    let is_privileged = container.and_then(|it| get_bool(it, "privileged")) == Some(true);
    if get_text(ctx.node, "mountPropagation") == Some("Bidirectional")
        && !is_privileged
        && ctx.is_complete
    {
        ctx.report(
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
    let not_root = effective(&|context| get_bool(context, "runAsNonRoot").map(i128::from));
    let user = effective(&|context| get_integer(context, "runAsUser"));
    not_root == Some(1) && user == Some(0)
}
