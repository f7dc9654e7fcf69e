//! What a pod says as a whole, and what the object around it allows.

use super::Here;
use super::containers::{one_of, runs_as_root};
use super::place::Step;
use super::read::{Read, get, items, read, switch, text};
use super::types::{Type, fields, is_custom};
use crate::diag::words::all;
use crate::node::Node;

pub(super) fn look(here: &mut Here<'_, '_>) {
    match here.name {
        "PodSpec" => {
            some(here);
            restarts(here);
            deadline(here);
            names(here);
            users(here);
            ephemeral(here);
            whole(here);
        }
        "Volume" => volume(here),
        _ => {}
    }
}

/// Source: kubernetes `pkg/apis/core/validation/validation.go`, `validateContainers`.
fn some(here: &mut Here<'_, '_>) {
    let containers = get(here.node, "containers").filter(|it| read(it) == Read::List);
    if containers.is_some_and(|it| it.items().is_empty()) {
        here.refuse(
            [Step::from("containers")],
            |path| format!("`{path}` is empty, and a pod has a container"),
            "write a container, with its `name` and `image`",
        );
    }
}

/// Source: kubernetes `pkg/apis/core/validation/validation.go`, `ValidatePodTemplateSpec` and `ValidatePodCreate`.
fn ephemeral(here: &mut Here<'_, '_>) {
    if items(here.node, "ephemeralContainers").next().is_some() {
        here.refuse(
            [Step::from("ephemeralContainers")],
            |path| {
                format!("`{path}` are for pods that run, and are added to them by `kubectl debug`")
            },
            "write them into `containers` or `initContainers`, or remove them",
        );
    }
}

/// What a pod asks for as a whole, and what is added to that.
///
/// Sources: kubernetes `pkg/apis/core/validation/validation.go`, `validatePodResources`;
/// `plugin/pkg/admission/runtimeclass/admission.go`, `validateOverhead` (from memory).
fn whole(here: &mut Here<'_, '_>) {
    let own = here.node.get("resources");
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
            here.refuse(
                ["resources", list, &entry.key].map(Step::from),
                |path| format!("`{path}`: only a container can ask for it"),
                "write it into the container's `resources`",
            );
        }
    }
    let has_class = get(here.node, "runtimeClassName").is_some();
    if get(here.node, "overhead").is_some() && !has_class && here.is_whole {
        here.refuse(
            [Step::from("overhead")],
            |path| format!("`{path}` is what a RuntimeClass says, and the pod has none"),
            "remove it",
        );
    }
}

/// Objects that keep their pods running, and those whose pods come to an end.
const LASTING: &[&str] = &[
    "DeploymentSpec",
    "StatefulSetSpec",
    "DaemonSetSpec",
    "ReplicaSetSpec",
    "leaderworkerset.x-k8s.io/v1/LeaderWorkerSet.spec",
];

/// Other words are refused as such.
const POLICIES: &[&str] = &["Always", "OnFailure", "Never"];

/// Sources: kubernetes `pkg/apis/apps/validation/validation.go`, `ValidatePodTemplateSpecForReplicaSet`,
/// `ValidateStatefulSetSpec`, `ValidateDaemonSetSpec`; `pkg/apis/batch/validation/validation.go`, `validateJobSpec`;
/// kubernetes-sigs/jobset `pkg/webhooks/jobset_webhook.go`, `Default` (from memory).
fn restarts(here: &mut Here<'_, '_>) {
    let lasting = LASTING.iter().find(|name| here.around(name).is_some());
    let is_job = here.around("JobSpec").is_some();
    let is_own = here.above.first().is_none_or(|it| !is_custom(it.0));
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
    match text(here.node, "restartPolicy") {
        Some(policy) if POLICIES.contains(&policy) && !allowed.contains(&policy) => {
            let allowed = all(allowed, "or");
            here.refuse(
                [Step::from("restartPolicy")],
                |path| format!("`{path}` is `{policy}`, and has to be {allowed} in {what}"),
                format!("write {allowed}"),
            );
        }
        // Nobody says anything: `Always`. A JobSet says `OnFailure` then.
        None if is_job && is_own && here.is_whole && get(here.node, "restartPolicy").is_none() => {
            here.refuse(
                [],
                |path| format!("`{path}` has no `restartPolicy`, and {what} needs one"),
                "write `restartPolicy: Never` or `restartPolicy: OnFailure`",
            );
        }
        _ => {}
    }
}

fn deadline(here: &mut Here<'_, '_>) {
    let is_lasting = LASTING.iter().any(|name| here.around(name).is_some());
    if is_lasting && get(here.node, "activeDeadlineSeconds").is_some() {
        here.refuse(
            [Step::from("activeDeadlineSeconds")],
            |path| format!("`{path}` is for pods that come to an end"),
            "remove it",
        );
    }
}

/// Source: kubernetes `pkg/apis/core/validation/validation.go`, `validatePodDNSConfig`.
fn names(here: &mut Here<'_, '_>) {
    let config = get(here.node, "dnsConfig");
    let has = config.is_some_and(|it| items(it, "nameservers").next().is_some());
    if text(here.node, "dnsPolicy") == Some("None") && !has && here.is_whole {
        here.refuse(
            [Step::from("dnsPolicy")],
            |path| format!("`{path}` is `None`, and no `dnsConfig` has a name server"),
            "write `dnsConfig: {nameservers: [...]}`, or another `dnsPolicy`",
        );
    }
}

/// The kubelet does not start such a container; the API server takes it.
///
/// Source: kubernetes `pkg/kubelet/kuberuntime/security_context.go`, `verifyRunAsNonRoot` (from memory).
fn users(here: &mut Here<'_, '_>) {
    for list in ["containers", "initContainers"] {
        for (index, container) in items(here.node, list) {
            if !runs_as_root(here.node, container) {
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
                here.node.get("securityContext")
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
            here.refuse(
                below,
                |path| format!("`{path}`: user 0 is root, and `runAsNonRoot` is `true`: no container starts"),
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
        .find(|key| switch(here.node, key) == Some(true));
    if let Some(shared) = shared.filter(|_| switch(here.node, "hostUsers") == Some(false)) {
        here.refuse(
            [Step::from(shared)],
            |path| format!("`{path}` cannot be with `hostUsers: false`"),
            "remove one of the two",
        );
    }
}

/// A volume is one thing; of none, it is an empty folder.
///
/// Source: kubernetes `pkg/apis/core/validation/validation.go`, `validateVolumeSource`; `pkg/apis/core/v1/defaults.go`,
/// `SetDefaults_Volume`.
fn volume(here: &mut Here<'_, '_>) {
    let sources = fields("Volume").iter();
    let sources = sources.filter(|field| matches!(field.holds, Type::Object(_)));
    let sources: Vec<_> = sources.map(|field| field.name).collect();
    one_of(here, here.node, &sources, false);
}
