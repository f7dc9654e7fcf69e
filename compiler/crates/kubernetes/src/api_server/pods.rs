//! Pod-level settings, and constraints of the enclosing object.

use gpuc_syntax::diag::words::all;
use gpuc_syntax::node::Node;

use super::ObjectContext;
use super::containers::{one_of, runs_as_root};
use super::field_path::Step;
use super::scalar::{Read, get, items, read, switch, text};
use super::types::{Type, fields, is_custom};

pub(super) fn validate(ctx: &mut ObjectContext<'_, '_>) {
    match ctx.name {
        "PodSpec" => {
            some(ctx);
            restarts(ctx);
            deadline(ctx);
            names(ctx);
            users(ctx);
            ephemeral(ctx);
            whole(ctx);
        }
        "Volume" => volume(ctx),
        _ => {}
    }
}

/// Source: kubernetes `pkg/apis/core/validation/validation.go`, `validateContainers`.
fn some(ctx: &mut ObjectContext<'_, '_>) {
    let containers = get(ctx.node, "containers").filter(|it| read(it) == Read::List);
    if containers.is_some_and(|it| it.items().is_empty()) {
        ctx.refuse(
            [Step::from("containers")],
            |path| format!("`{path}` is empty, but a pod must have a container"),
            "write a container, with its `name` and `image`",
        );
    }
}

/// Source: kubernetes `pkg/apis/core/validation/validation.go`, `ValidatePodTemplateSpec` and `ValidatePodCreate`.
fn ephemeral(ctx: &mut ObjectContext<'_, '_>) {
    if items(ctx.node, "ephemeralContainers").next().is_some() {
        ctx.refuse(
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
fn whole(ctx: &mut ObjectContext<'_, '_>) {
    let own = ctx.node.get("resources");
    for list in ["limits", "requests"] {
        let entries = own
            .and_then(|it| it.get(list))
            .map_or(&[][..], Node::entries);
        let is_other = |name: &str| {
            !["cpu", "memory"].contains(&name)
                && !name.starts_with("hugepages-")
                && !name.contains("{{")
        };
        for entry in entries.iter().filter(|entry| is_other(&entry.key)) {
            ctx.refuse(
                ["resources", list, &entry.key].map(Step::from),
                |path| format!("`{path}`: only a container can request it"),
                "move it to the container's `resources`",
            );
        }
    }
    let has_class = get(ctx.node, "runtimeClassName").is_some();
    if get(ctx.node, "overhead").is_some() && !has_class && ctx.is_whole {
        ctx.refuse(
            [Step::from("overhead")],
            |path| format!("`{path}` is only allowed with a RuntimeClass, but the pod has none"),
            "remove it",
        );
    }
}

/// Kinds with long-running pods, and kinds whose pods run to completion.
const LASTING: &[&str] = &[
    "DeploymentSpec",
    "StatefulSetSpec",
    "DaemonSetSpec",
    "ReplicaSetSpec",
    "leaderworkerset.x-k8s.io/v1/LeaderWorkerSet.spec",
];

/// Other values are reported by the enumeration rule.
const POLICIES: &[&str] = &["Always", "OnFailure", "Never"];

/// Sources: kubernetes `pkg/apis/apps/validation/validation.go`, `ValidatePodTemplateSpecForReplicaSet`,
/// `ValidateStatefulSetSpec`, `ValidateDaemonSetSpec`; `pkg/apis/batch/validation/validation.go`, `validateJobSpec`;
/// kubernetes-sigs/jobset `pkg/webhooks/jobset_webhook.go`, `Default` (from memory).
fn restarts(ctx: &mut ObjectContext<'_, '_>) {
    let lasting = LASTING.iter().find(|name| ctx.enclosing(name).is_some());
    let is_job = ctx.enclosing("JobSpec").is_some();
    let is_own = ctx.above.first().is_none_or(|it| !is_custom(it.0));
    let allowed: &[&str] = match (lasting, is_job) {
        (Some(_), _) => &["Always"],
        (None, true) => &["OnFailure", "Never"],
        (None, false) => return,
    };
    let what = match lasting {
        Some(name) => {
            let name = name.rsplit('/').next().unwrap_or(name);
            format!(
                "a {}",
                name.trim_end_matches(".spec").trim_end_matches("Spec")
            )
        }
        None => "a Job".to_owned(),
    };
    match text(ctx.node, "restartPolicy") {
        Some(policy) if POLICIES.contains(&policy) && !allowed.contains(&policy) => {
            let allowed = all(allowed, "or");
            ctx.refuse(
                [Step::from("restartPolicy")],
                |path| format!("`{path}` is `{policy}`, but must be {allowed} in {what}"),
                format!("write {allowed}"),
            );
        }
        // The default is `Always`, in a JobSet `OnFailure`.
        None if is_job && is_own && ctx.is_whole && get(ctx.node, "restartPolicy").is_none() => {
            ctx.refuse(
                [],
                |path| format!("`{path}` has no `restartPolicy`, but it is required in {what}"),
                "write `restartPolicy: Never` or `restartPolicy: OnFailure`",
            );
        }
        _ => {}
    }
}

fn deadline(ctx: &mut ObjectContext<'_, '_>) {
    let is_lasting = LASTING.iter().any(|name| ctx.enclosing(name).is_some());
    if is_lasting && get(ctx.node, "activeDeadlineSeconds").is_some() {
        ctx.refuse(
            [Step::from("activeDeadlineSeconds")],
            |path| format!("`{path}` is only allowed in pods that run to completion"),
            "remove it",
        );
    }
}

/// Source: kubernetes `pkg/apis/core/validation/validation.go`, `validatePodDNSConfig`.
fn names(ctx: &mut ObjectContext<'_, '_>) {
    let config = get(ctx.node, "dnsConfig");
    let has = config.is_some_and(|it| items(it, "nameservers").next().is_some());
    if text(ctx.node, "dnsPolicy") == Some("None") && !has && ctx.is_whole {
        ctx.refuse(
            [Step::from("dnsPolicy")],
            |path| format!("`{path}` is `None`, but `dnsConfig` has no name server"),
            "write `dnsConfig: {nameservers: [...]}`, or another `dnsPolicy`",
        );
    }
}

/// The API server accepts such a container, but the kubelet does not start it.
///
/// Source: kubernetes `pkg/kubelet/kuberuntime/security_context.go`, `verifyRunAsNonRoot` (from memory).
fn users(ctx: &mut ObjectContext<'_, '_>) {
    for list in ["containers", "initContainers"] {
        for (index, container) in items(ctx.node, list) {
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
            let holder = if is_own {
                own
            } else {
                ctx.node.get("securityContext")
            };
            let has_user = holder.is_some_and(|it| it.get("runAsUser").is_some());
            below.push(
                if has_user {
                    "runAsUser"
                } else {
                    "runAsNonRoot"
                }
                .into(),
            );
            ctx.refuse(
                below,
                |path| format!("`{path}`: user 0 is root, but `runAsNonRoot` is `true`, so no container can start"),
                "write another `runAsUser`, or `runAsNonRoot: false`",
            );
            if !is_own {
                return;
            }
        }
    }
    let shares = ["hostNetwork", "hostPID", "hostIPC"];
    let shared = shares
        .into_iter()
        .find(|key| switch(ctx.node, key) == Some(true));
    if let Some(shared) = shared.filter(|_| switch(ctx.node, "hostUsers") == Some(false)) {
        ctx.refuse(
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
fn volume(ctx: &mut ObjectContext<'_, '_>) {
    let sources = fields("Volume").iter();
    let sources = sources.filter(|field| matches!(field.holds, Type::Object(_)));
    let sources: Vec<_> = sources.map(|field| field.name).collect();
    one_of(ctx, ctx.node, &sources, false);
}
