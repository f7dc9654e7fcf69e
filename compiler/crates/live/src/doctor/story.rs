//! The story of one pod: requested, admitted, scheduled, allocated, started, and where it stops.

use super::context::Context;
use super::demand::PodDemand;
use crate::objects::{ObjectRef, Pod};

/// A step on the way of a pod to its GPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The name: `requested`, `admitted`, `scheduled`, `allocated`, `started` or `ready`.
    pub name: &'static str,
    /// Whether the pod has taken the step.
    pub outcome: Outcome,
    /// What is known about the step.
    pub text: String,
}

/// Whether a pod has taken a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It has.
    Done,
    /// It stopped here.
    Stopped,
    /// An earlier step comes first.
    Later,
}

impl Outcome {
    /// The word in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Stopped => "stopped",
            Self::Later => "later",
        }
    }
}

/// The steps of a pod, in order. At most one is [`Outcome::Stopped`].
pub fn story(ctx: &Context<'_>, pod: &Pod) -> Vec<Step> {
    let checks = [
        ("requested", requested(pod)),
        ("admitted", admitted(pod)),
        ("scheduled", scheduled(ctx, pod)),
        ("allocated", allocated(pod)),
        ("started", started(pod)),
        ("ready", ready(pod)),
    ];
    let mut has_stopped = false;
    checks
        .into_iter()
        .map(|(name, (is_done, text))| {
            let outcome = if has_stopped {
                Outcome::Later
            } else if is_done {
                Outcome::Done
            } else {
                has_stopped = true;
                Outcome::Stopped
            };
            let text = if outcome == Outcome::Later {
                String::new()
            } else {
                text
            };
            Step {
                name,
                outcome,
                text,
            }
        })
        .collect()
}

type Check = (bool, String);

fn requested(pod: &Pod) -> Check {
    let demand = PodDemand::new(pod);
    let gpus: Vec<String> = demand
        .gpus()
        .map(|(name, count)| format!("{count} × `{name}`"))
        .collect();
    let claims = pod.spec.resource_claims.len();
    match (gpus.is_empty(), claims) {
        (false, _) => (true, gpus.join(", ")),
        (true, 0) => (
            false,
            "the pod requests no GPU: `resources.limits` has no resource of NVIDIA".to_owned(),
        ),
        (true, claims) => (true, format!("{claims} ResourceClaims")),
    }
}

fn admitted(pod: &Pod) -> Check {
    let gates: Vec<String> = (pod.spec.scheduling_gates.iter())
        .map(|gate| format!("`{}`", gate.name))
        .collect();
    if gates.is_empty() {
        return (true, "no scheduling gates".to_owned());
    }
    let is_kueue = gates.iter().any(|gate| gate.contains("kueue.x-k8s.io"));
    let who = if is_kueue {
        "Kueue has not admitted the pod"
    } else {
        "a controller has not removed its gates"
    };
    (false, format!("{who}: {}", gates.join(", ")))
}

fn scheduled(ctx: &Context<'_>, pod: &Pod) -> Check {
    if !pod.spec.node_name.is_empty() {
        return (true, format!("on node `{}`", pod.spec.node_name));
    }
    let pending = ctx.pending_pods().iter().find(|it| {
        let (own, other) = (&pod.metadata, &it.pod.metadata);
        (&own.namespace, &own.name) == (&other.namespace, &other.name)
    });
    let mut parts = Vec::new();
    if let Some(pending) = pending {
        let nodes = pending.obstacles.nodes.len();
        for (misfit, count) in pending.obstacles.histogram().into_iter().take(4) {
            let text = super::checks::misfit_text(misfit);
            parts.push(format!(
                "on {count} of {nodes} nodes with GPUs, pods like it {text}"
            ));
        }
    }
    if parts.is_empty() {
        let condition = pod.condition("PodScheduled");
        parts.extend(condition.map(|it| it.message.clone()));
    }
    if parts.is_empty() {
        parts.push("the scheduler has not placed the pod".to_owned());
    }
    (false, parts.join("; "))
}

fn allocated(pod: &Pod) -> Check {
    let is_rejected = pod.status.phase == "Failed"
        && (pod.status.reason == "UnexpectedAdmissionError"
            || pod.status.reason.starts_with("OutOf"));
    if is_rejected {
        return (
            false,
            format!("the kubelet rejected the pod: {}", pod.status.message),
        );
    }
    (true, "the kubelet accepted the pod".to_owned())
}

fn started(pod: &Pod) -> Check {
    for status in pod.container_statuses() {
        let name = &status.name;
        if let Some(waiting) = &status.state.waiting {
            let message = waiting.message.trim();
            let detail = if message.is_empty() {
                String::new()
            } else {
                format!(": {message}")
            };
            let reason = match waiting.reason.as_str() {
                "" => "waiting",
                reason => reason,
            };
            return (false, format!("container `{name}`: `{reason}`{detail}"));
        }
        if let Some(ended) = status
            .state
            .terminated
            .as_ref()
            .filter(|it| it.exit_code != 0)
        {
            let text = format!(
                "container `{name}` ended with exit code {} (`{}`)",
                ended.exit_code, ended.reason
            );
            return (false, text);
        }
    }
    if pod.container_statuses().next().is_none() {
        return (
            false,
            "the kubelet has not created the containers".to_owned(),
        );
    }
    (true, "all containers have started".to_owned())
}

fn ready(pod: &Pod) -> Check {
    if pod.is_ready() {
        return (true, "the pod is ready".to_owned());
    }
    if pod.status.phase == "Succeeded" {
        return (true, "the pod has completed".to_owned());
    }
    let condition = pod.condition("Ready");
    let message = condition.map_or("", |it| it.message.as_str());
    (false, format!("the pod is not ready: {message}"))
}

/// A reference to a pod by `NAMESPACE/NAME`, or by its name in the namespace `default`.
pub fn parse_pod(text: &str) -> ObjectRef {
    match text.split_once('/') {
        Some((namespace, name)) => ObjectRef::new("Pod", namespace, name),
        None => ObjectRef::new("Pod", "default", text),
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::REGISTRY;
    use super::*;
    use crate::read::read_files;

    /// The steps of the pod `ml/a` with these fields, next to a node with GPUs: the outcome of each, and the text of
    /// the step at which it stopped.
    fn outcomes(fields: &str) -> (String, String) {
        let objects = format!(
            r#"{{"kind": "List", "apiVersion": "v1", "items": [
            {{"kind": "Node", "apiVersion": "v1", "metadata": {{"name": "gpu-1"}}, "spec": {{"taints": [
                {{"key": "team", "value": "x", "effect": "NoSchedule"}}]}}, "status": {{
                "capacity": {{"pods": "9", "nvidia.com/gpu": "8"}},
                "allocatable": {{"pods": "9", "nvidia.com/gpu": "8"}}}}}},
            {{"kind": "Pod", "apiVersion": "v1", "metadata": {{"name": "a", "namespace": "ml"}}, {fields}}}]}}"#
        );
        let load = |_: &str| Ok(objects.clone().into_bytes());
        let (state, problems) = read_files(&["a.json".to_owned()], &load);
        assert_eq!(problems, []);
        let ctx = Context::new(&state, None, &REGISTRY);
        let steps = story(&ctx, &state.pods.items[0]);
        let names: Vec<_> = steps.iter().map(|step| step.outcome.as_str()).collect();
        let stopped = steps.iter().find(|step| step.outcome == Outcome::Stopped);
        let text = stopped.map_or_else(String::new, |step| format!("{}: {}", step.name, step.text));
        (names.join(" "), text)
    }

    const GPU: &str =
        r#""containers": [{"name": "c", "resources": {"limits": {"nvidia.com/gpu": "1"}}}]"#;

    #[test]
    fn a_pod_stops_at_the_first_step_that_it_has_not_taken() {
        for (fields, steps, text) in [
            (
                r#""spec": {"containers": [{"name": "c"}]}"#.to_owned(),
                "stopped later later later later later",
                "requested: the pod requests no GPU",
            ),
            (
                format!(
                    r#""spec": {{{GPU}, "schedulingGates": [{{"name": "kueue.x-k8s.io/admission"}}]}}"#
                ),
                "done stopped later later later later",
                "admitted: Kueue has not admitted the pod: `kueue.x-k8s.io/admission`",
            ),
            (
                format!(r#""spec": {{{GPU}}}"#),
                "done done stopped later later later",
                "scheduled: on 1 of 1 nodes with GPUs, pods like it do not tolerate the taint `team=x:NoSchedule`",
            ),
            (
                format!(
                    r#""spec": {{{GPU}, "nodeName": "gpu-1"}}, "status": {{"phase": "Failed",
                    "reason": "UnexpectedAdmissionError", "message": "Allocate failed"}}"#
                ),
                "done done done stopped later later",
                "allocated: the kubelet rejected the pod: Allocate failed",
            ),
            (
                format!(
                    r#""spec": {{{GPU}, "nodeName": "gpu-1"}}, "status": {{"phase": "Pending", "containerStatuses": [
                    {{"name": "c", "state": {{"waiting": {{"reason": "ImagePullBackOff", "message": "no image"}}}}}}]}}"#
                ),
                "done done done done stopped later",
                "started: container `c`: `ImagePullBackOff`: no image",
            ),
            (
                format!(
                    r#""spec": {{{GPU}, "nodeName": "gpu-1"}}, "status": {{"phase": "Running",
                    "conditions": [{{"type": "Ready", "status": "True"}}],
                    "containerStatuses": [{{"name": "c", "state": {{"running": {{}}}}}}]}}"#
                ),
                "done done done done done done",
                "",
            ),
        ] {
            let (found, stopped) = outcomes(&fields);
            assert_eq!(found, steps, "{fields}");
            assert!(stopped.starts_with(text), "{stopped}");
        }
    }
}
