//! The pods of the GPU stack: their failures, and signatures in their logs.

use crate::doctor::advertiser::advertiser_of;
use crate::doctor::context::{Context, NodeFacts};
use crate::doctor::demand::PodDemand;
use crate::doctor::finding::Evidence;
use crate::objects::{ContainerStatus, ObjectRef, Pod};

/// The failure of a container.
pub(super) struct Failure {
    /// The name of the container.
    pub(super) container: String,
    /// The reason, such as `CrashLoopBackOff`.
    pub(super) reason: String,
    /// The path of the field with the reason.
    pub(super) field: String,
    /// The value of the field.
    pub(super) value: String,
}

/// The first failure of a pod's containers; `None` for containers that run or are about to start.
pub(super) fn failure_of(pod: &Pod) -> Option<Failure> {
    let own = pod.status.container_statuses.iter();
    let initial = pod.status.init_container_statuses.iter();
    let initial = initial.filter_map(|it| container_failure("initContainerStatuses", it));
    let own = own.filter_map(|it| container_failure("containerStatuses", it));
    initial.chain(own).next()
}

fn container_failure(list: &str, status: &ContainerStatus) -> Option<Failure> {
    let name = &status.name;
    let failure = |reason: &str, path: &str, value: String| Failure {
        container: name.clone(),
        reason: reason.to_owned(),
        field: format!("status.{list}[{name}].{path}"),
        value,
    };
    let killed = status.last_state.terminated.as_ref();
    if let Some(killed) = killed.filter(|it| it.reason == "OOMKilled" && !status.ready) {
        let path = "lastState.terminated.reason";
        return Some(failure(&killed.reason, path, killed.reason.clone()));
    }
    let ended = status.state.terminated.as_ref();
    if let Some(ended) = ended.filter(|it| it.exit_code != 0) {
        let value = format!("{} (exit code {})", ended.reason, ended.exit_code);
        return Some(failure(&ended.reason, "state.terminated", value));
    }
    let waiting = status.state.waiting.as_ref()?;
    let is_starting = matches!(
        waiting.reason.as_str(),
        "" | "ContainerCreating" | "PodInitializing"
    );
    (!is_starting).then(|| {
        let path = "state.waiting.message";
        failure(&waiting.reason, path, waiting.message.clone())
    })
}

/// The next command for a failure of a container.
pub(super) fn failure_command(pod: &Pod, failure: &Failure) -> String {
    match failure.reason.as_str() {
        "OOMKilled" | "CrashLoopBackOff" | "Error" => {
            let container = &failure.container;
            format!("{} --container {container} --previous", logs_command(pod))
        }
        _ => describe_command(pod),
    }
}

/// The command that prints the log of a pod.
pub(super) fn logs_command(pod: &Pod) -> String {
    let (namespace, name) = (&pod.metadata.namespace, &pod.metadata.name);
    format!("kubectl logs --namespace {namespace} {name}")
}

/// The command that describes a pod.
pub(super) fn describe_command(pod: &Pod) -> String {
    let (namespace, name) = (&pod.metadata.namespace, &pod.metadata.name);
    format!("kubectl describe pod --namespace {namespace} {name}")
}

/// A reference to a pod.
pub(super) fn pod_ref(pod: &Pod) -> ObjectRef {
    ObjectRef::of_kind("Pod", &pod.metadata)
}

/// The pods that advertise the GPUs of a node.
pub(super) fn advertiser_refs(node: &NodeFacts<'_>) -> Vec<ObjectRef> {
    let pods = node.advertisers.iter();
    pods.map(|(pod, _)| pod_ref(pod)).collect()
}

/// Whether a pod counts: it has not ended, and it is not being deleted.
pub(super) fn is_active(pod: &Pod) -> bool {
    !pod.is_finished() && pod.metadata.deletion_timestamp.is_none()
}

/// Whether a pod, or the object that controls it, has a name that starts with one of these.
pub(super) fn has_name(pod: &Pod, prefixes: &[&str]) -> bool {
    let owner = pod.metadata.controller();
    let owner = owner.map_or("", |it| it.name.as_str());
    let starts =
        |prefix: &&str| pod.metadata.name.starts_with(*prefix) || owner.starts_with(*prefix);
    prefixes.iter().any(starts)
}

/// Whether a pod uses GPUs, or is a component of the GPU stack. Logs of others may quote those of such pods.
pub(super) fn uses_gpus(pod: &Pod) -> bool {
    PodDemand::new(pod).gpus().next().is_some()
        || !pod.spec.resource_claims.is_empty()
        || has_name(pod, &["nvidia-", "gpu-", "gpuc-", "dcgm-"])
        || advertiser_of(&pod.metadata, &pod.spec).is_some()
}

/// A text in logs and messages that names a fault.
pub(super) struct Signature {
    /// Parts of a line, in their order.
    pub(super) parts: &'static [&'static str],
    /// The fault, as the message of a finding.
    pub(super) message: &'static str,
    /// What to do.
    pub(super) help: &'static str,
}

impl Signature {
    /// Whether a line contains the parts.
    pub(super) fn matches(&self, line: &str) -> bool {
        let mut rest = line;
        self.parts.iter().all(|part| match rest.split_once(part) {
            Some((_, after)) => {
                rest = after;
                true
            }
            None => false,
        })
    }
}

/// The first signature of a table that occurs in the messages or logs of a pod, and the evidence. Logs from before the
/// last restart count only while the pod is not ready.
pub(super) fn find_signature<'t>(
    ctx: &Context<'_>,
    pod: &Pod,
    table: &'t [Signature],
) -> Option<(&'t Signature, Evidence)> {
    table.iter().find_map(|signature| {
        let evidence = find_line(ctx, pod, |line| signature.matches(line))?;
        Some((signature, evidence))
    })
}

/// The last line with a property in the messages or logs of a pod. Messages and logs from before the last restart count
/// only while the pod is not ready.
pub(super) fn find_line(
    ctx: &Context<'_>,
    pod: &Pod,
    matches: impl Fn(&str) -> bool,
) -> Option<Evidence> {
    let last = |text: &str| {
        text.lines()
            .rev()
            .find(|line| matches(line))
            .map(str::to_owned)
    };
    let is_ready = pod.is_ready();
    find_status_line(pod, &matches)
        .filter(|_| !is_ready)
        .or_else(|| {
            let mut logs = ctx
                .logs(pod)
                .iter()
                .filter(|log| !(log.is_previous && is_ready));
            logs.find_map(|log| {
                Some(Evidence::Log {
                    object: pod_ref(pod),
                    container: log.container.clone(),
                    line: last(&log.text)?,
                })
            })
        })
}

/// The last line with a property in the messages of a pod's containers that wait or have ended.
pub(super) fn find_status_line(pod: &Pod, matches: impl Fn(&str) -> bool) -> Option<Evidence> {
    let initial = pod.status.init_container_statuses.iter();
    let initial = initial.map(|it| ("initContainerStatuses", it));
    let own = pod.status.container_statuses.iter();
    let own = own.map(|it| ("containerStatuses", it));
    initial.chain(own).find_map(|(list, status)| {
        let (state, last) = (&status.state, &status.last_state);
        let waiting = state.waiting.as_ref().map(|it| it.message.as_str());
        let ended = state.terminated.as_ref().map(|it| it.message.as_str());
        let before = last.terminated.as_ref().map(|it| it.message.as_str());
        let texts = [
            ("state.waiting.message", waiting),
            ("state.terminated.message", ended),
            ("lastState.terminated.message", before),
        ];
        texts.into_iter().find_map(|(path, text)| {
            let line = text?.lines().rev().find(|line| matches(line))?;
            Some(Evidence::Field {
                object: pod_ref(pod),
                path: format!("status.{list}[{}].{path}", status.name),
                value: line.to_owned(),
            })
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_a_signature_occur_in_order() {
        let signature = Signature {
            parts: &["Xid=", "unhealthy"],
            message: "",
            help: "",
        };
        assert!(signature.matches("Xid=79 on Device=a; marking device as unhealthy."));
        assert!(!signature.matches("unhealthy: Xid=79"));
    }
}
