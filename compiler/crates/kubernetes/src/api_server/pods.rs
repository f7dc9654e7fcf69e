//! Pod-level settings, and constraints of the enclosing object.

use gpuc_syntax::diag::phrases::quoted_conjunction;
use gpuc_syntax::node::Node;

use super::ObjectContext;
use super::containers::{check_one_of, runs_as_root};
use super::field_path::Step;
use super::scalar::{ParsedValue, get_bool, get_non_null, get_text, indexed_items, parse_value};
use super::types::{ValueType, fields_of_type, is_custom_type};

pub(super) fn validate(ctx: &mut ObjectContext<'_, '_>) {
    match ctx.type_name {
        "PodSpec" => {
            check_has_containers(ctx);
            check_restart_policy(ctx);
            check_active_deadline(ctx);
            check_dns_policy(ctx);
            check_users(ctx);
            check_ephemeral_containers(ctx);
            check_pod_resources(ctx);
        }
        "Volume" => check_volume_sources(ctx),
        _ => {}
    }
}

/// Source: kubernetes `pkg/apis/core/validation/validation.go`, `validateContainers`.
fn check_has_containers(ctx: &mut ObjectContext<'_, '_>) {
    let containers =
        get_non_null(ctx.node, "containers").filter(|it| parse_value(it) == ParsedValue::List);
    if containers.is_some_and(|it| it.items().is_empty()) {
        ctx.report(
            [Step::from("containers")],
            |path| format!("`{path}` is empty, but a pod must have a container"),
            "write a container, with its `name` and `image`",
        );
    }
}

/// Source: kubernetes `pkg/apis/core/validation/validation.go`, `ValidatePodTemplateSpec` and `ValidatePodCreate`.
fn check_ephemeral_containers(ctx: &mut ObjectContext<'_, '_>) {
    if indexed_items(ctx.node, "ephemeralContainers")
        .next()
        .is_some()
    {
        ctx.report(
            [Step::from("ephemeralContainers")],
            |path| format!("`{path}` are only allowed in running pods; `kubectl debug` adds them"),
            "move them to `containers` or `initContainers`, or remove them",
        );
    }
}

/// Pod-level resources and overhead.
///
/// Sources: kubernetes `pkg/apis/core/validation/validation.go`, `validatePodResources`;
/// `plugin/pkg/admission/runtimeclass/admission.go`, `validateOverhead` (from memory).
fn check_pod_resources(ctx: &mut ObjectContext<'_, '_>) {
    let own = ctx.node.get("resources");
    for list in ["limits", "requests"] {
        let entries = own
            .and_then(|it| it.get(list))
            .map_or(&[][..], Node::entries);
        let is_unsupported = |name: &str| {
            !["cpu", "memory"].contains(&name)
                && !name.starts_with("hugepages-")
                && !name.contains("{{")
        };
        for entry in entries.iter().filter(|entry| is_unsupported(&entry.key)) {
            ctx.report(
                ["resources", list, &entry.key].map(Step::from),
                |path| format!("`{path}`: only a container can request it"),
                "move it to the container's `resources`",
            );
        }
    }
    let has_class = get_non_null(ctx.node, "runtimeClassName").is_some();
    if get_non_null(ctx.node, "overhead").is_some() && !has_class && ctx.is_complete {
        ctx.report(
            [Step::from("overhead")],
            |path| format!("`{path}` is only allowed with a RuntimeClass, but the pod has none"),
            "remove it",
        );
    }
}

/// Kinds with long-running pods, and kinds whose pods run to completion.
const LONG_RUNNING_TYPES: &[&str] = &[
    "DeploymentSpec",
    "StatefulSetSpec",
    "DaemonSetSpec",
    "ReplicaSetSpec",
    "leaderworkerset.x-k8s.io/v1/LeaderWorkerSet.spec",
];

/// Other values are reported by the enumeration rule.
const RESTART_POLICIES: &[&str] = &["Always", "OnFailure", "Never"];

/// Sources: kubernetes `pkg/apis/apps/validation/validation.go`, `ValidatePodTemplateSpecForReplicaSet`,
/// `ValidateStatefulSetSpec`, `ValidateDaemonSetSpec`; `pkg/apis/batch/validation/validation.go`, `validateJobSpec`;
/// kubernetes-sigs/jobset `pkg/webhooks/jobset_webhook.go`, `Default` (from memory).
fn check_restart_policy(ctx: &mut ObjectContext<'_, '_>) {
    let long_running = LONG_RUNNING_TYPES
        .iter()
        .find(|name| ctx.enclosing_object(name).is_some());
    let is_job = ctx.enclosing_object("JobSpec").is_some();
    let is_own = ctx.ancestors.first().is_none_or(|it| !is_custom_type(it.0));
    let allowed: &[&str] = match (long_running, is_job) {
        (Some(_), _) => &["Always"],
        (None, true) => &["OnFailure", "Never"],
        (None, false) => return,
    };
    let owner = match long_running {
        Some(name) => {
            let name = name.rsplit('/').next().unwrap_or(name);
            format!(
                "a {}",
                name.trim_end_matches(".spec").trim_end_matches("Spec")
            )
        }
        None => "a Job".to_owned(),
    };
    match get_text(ctx.node, "restartPolicy") {
        Some(policy) if RESTART_POLICIES.contains(&policy) && !allowed.contains(&policy) => {
            let allowed = quoted_conjunction(allowed, "or");
            ctx.report(
                [Step::from("restartPolicy")],
                |path| format!("`{path}` is `{policy}`, but must be {allowed} in {owner}"),
                format!("write {allowed}"),
            );
        }
        // The default is `Always`, in a JobSet `OnFailure`.
        None if is_job
            && is_own
            && ctx.is_complete
            && get_non_null(ctx.node, "restartPolicy").is_none() =>
        {
            ctx.report(
                [],
                |path| format!("`{path}` has no `restartPolicy`, but it is required in {owner}"),
                "write `restartPolicy: Never` or `restartPolicy: OnFailure`",
            );
        }
        _ => {}
    }
}

fn check_active_deadline(ctx: &mut ObjectContext<'_, '_>) {
    let is_long_running = LONG_RUNNING_TYPES
        .iter()
        .any(|name| ctx.enclosing_object(name).is_some());
    if is_long_running && get_non_null(ctx.node, "activeDeadlineSeconds").is_some() {
        ctx.report(
            [Step::from("activeDeadlineSeconds")],
            |path| format!("`{path}` is only allowed in pods that run to completion"),
            "remove it",
        );
    }
}

/// Source: kubernetes `pkg/apis/core/validation/validation.go`, `validatePodDNSConfig`.
fn check_dns_policy(ctx: &mut ObjectContext<'_, '_>) {
    let config = get_non_null(ctx.node, "dnsConfig");
    let has = config.is_some_and(|it| indexed_items(it, "nameservers").next().is_some());
    if get_text(ctx.node, "dnsPolicy") == Some("None") && !has && ctx.is_complete {
        ctx.report(
            [Step::from("dnsPolicy")],
            |path| format!("`{path}` is `None`, but `dnsConfig` has no name server"),
            "write `dnsConfig: {nameservers: [...]}`, or another `dnsPolicy`",
        );
    }
}

/// The API server accepts such a container, but the kubelet does not start it.
///
/// Source: kubernetes `pkg/kubelet/kuberuntime/security_context.go`, `verifyRunAsNonRoot` (from memory).
fn check_users(ctx: &mut ObjectContext<'_, '_>) {
    for list in ["containers", "initContainers"] {
        for (index, container) in indexed_items(ctx.node, list) {
            if !runs_as_root(ctx.node, container) {
                continue;
            }
            let own = container.get("securityContext");
            let is_own = own.is_some_and(|it| {
                it.get("runAsUser").is_some() || it.get("runAsNonRoot").is_some()
            });
            let mut below: Vec<Step> = Vec::new();
            if is_own {
                below.extend([list.into(), index.into()]);
            }
            below.push("securityContext".into());
            let parent = if is_own {
                own
            } else {
                ctx.node.get("securityContext")
            };
            let has_user = parent.is_some_and(|it| it.get("runAsUser").is_some());
            below.push(
                if has_user {
                    "runAsUser"
                } else {
                    "runAsNonRoot"
                }
                .into(),
            );
            ctx.report(
                below,
                |path| format!("`{path}`: user 0 is root, but `runAsNonRoot` is `true`, so no container can start"),
                "write another `runAsUser`, or `runAsNonRoot: false`",
            );
            if !is_own {
                return;
            }
        }
    }
    let host_fields = ["hostNetwork", "hostPID", "hostIPC"];
    let shared = host_fields
        .into_iter()
        .find(|key| get_bool(ctx.node, key) == Some(true));
    if let Some(shared) = shared.filter(|_| get_bool(ctx.node, "hostUsers") == Some(false)) {
        ctx.report(
            [Step::from(shared)],
            |path| format!("`{path}` cannot be combined with `hostUsers: false`"),
            "remove one of the two",
        );
    }
}

/// A volume has at most one source; without a source, it is an `emptyDir`.
///
/// Source: kubernetes `pkg/apis/core/validation/validation.go`, `validateVolumeSource`; `pkg/apis/core/v1/defaults.go`,
/// `SetDefaults_Volume`.
fn check_volume_sources(ctx: &mut ObjectContext<'_, '_>) {
    let sources = fields_of_type("Volume").iter();
    let sources = sources.filter(|field| matches!(field.value_type, ValueType::Object(_)));
    let sources: Vec<_> = sources.map(|field| field.name).collect();
    check_one_of(ctx, ctx.node, &sources, false);
}
