//! The kubelet rejected a pod with GPUs.

use std::collections::BTreeMap;

use gpuc_syntax::diag::{Code, Correction, Severity};

use crate::doctor::check::{Check, Logs};
use crate::doctor::context::Context;
use crate::doctor::demand::PodDemand;
use crate::doctor::finding::{Finding, Layer};
use crate::objects::{ObjectRef, Pod, Timestamp};
use crate::state::Kind;

pub(super) static CHECK: Check = Check {
    code: Code {
        id: "GPUC7510",
        name: "pod-rejected-by-kubelet",
        severity: Severity::Error,
        summary: "the kubelet rejected a pod with GPUs",
        checks: "Whether the kubelet rejected a pod with GPUs in the last hour, and no later pod of the same \
controller runs: the phase is `Failed` with the reason `UnexpectedAdmissionError` or `OutOf...`.",
        reason: "The scheduler and the kubelet do not agree on the GPUs of the node. A controller creates new pods \
without end, and each of them fails; a pod without a controller stays failed.",
        remedy: "The message of the pod names the reason. After the restart of a node or of the kubelet, pods can \
start before the device plugin has registered: delete the failed pods. If it happens again, restart the device \
plugin, then the kubelet of the node.",
        bad: r#"--- # objects.yaml
apiVersion: v1
kind: List
items:
  - apiVersion: v1
    kind: Node
    metadata: {name: gpu-1, labels: {nvidia.com/gpu.present: "true"}}
    status:
      capacity: {cpu: "64", pods: "110", nvidia.com/gpu: "8"}
      allocatable: {cpu: "64", pods: "110", nvidia.com/gpu: "8"}
      conditions: [{type: Ready, status: "True"}]
  - apiVersion: v1
    kind: Pod
    metadata: {name: train-0, namespace: ml}
    spec:
      nodeName: gpu-1
      containers:
        - {name: main, image: "registry.example.com/train:1", resources: {limits: {nvidia.com/gpu: "1"}}}
    status:
      phase: Failed
      reason: UnexpectedAdmissionError
      message: "Pod was rejected: Allocate failed due to requested number of devices
        unavailable for nvidia.com/gpu. Requested: 1, Available: 0, which is unexpected"
"#,
        correction: Correction::Replace(
            r#"phase: Failed
      reason: UnexpectedAdmissionError
      message: "Pod was rejected: Allocate failed due to requested number of devices
        unavailable for nvidia.com/gpu. Requested: 1, Available: 0, which is unexpected""#,
            "phase: Running",
        ),
    },
    layer: Layer::Scheduling,
    is_symptom: false,
    needs: &[Kind::Pod],
    needs_logs: Logs::None,
    run,
};

/// A part of the kubelet's message, the problem, and what to do.
type Signature = (&'static str, &'static str, &'static str);

const RESTART_PLUGIN: &str = "delete the failed pod; if its successor fails too, restart the device plugin and then \
the kubelet on the node";
const REPAIR_GPUS: &str =
    "read which GPU failed in the log of the device plugin, then reset the GPU or replace the node";

/// The messages of the kubelet and of device plugins, the most specific first.
///
/// Source: kubernetes `pkg/kubelet/cm/devicemanager/manager.go`, NVIDIA/k8s-device-plugin
/// `internal/plugin/server.go`, 2026-11-28.
static SIGNATURES: &[Signature] = &[
    (
        "GPU is lost",
        "a GPU of the node is lost, which blocks the device plugin",
        "cordon the node and restart it, then delete the failed pods",
    ),
    (
        "maximum request size for shared resources is 1",
        "it requests several units of a shared GPU",
        "request 1 in the pod's template: the units of a shared GPU are not separate GPUs",
    ),
    (
        "no healthy devices present",
        "the node has no healthy GPUs",
        REPAIR_GPUS,
    ),
    (
        "are no longer healthy",
        "the GPUs that the pod had are no longer healthy",
        REPAIR_GPUS,
    ),
    (
        "requested number of devices unavailable for",
        "the kubelet has fewer free GPUs than the scheduler assumes",
        RESTART_PLUGIN,
    ),
    (
        "cannot allocate unregistered device",
        "the device plugin was not registered",
        RESTART_PLUGIN,
    ),
    (
        "has been stopped",
        "the device plugin had stopped",
        RESTART_PLUGIN,
    ),
    (
        "changed request for resource",
        "its request of GPUs changed",
        "delete the failed pod, so that its controller creates another one",
    ),
    (
        "rpc error: code",
        "the device plugin refused to allocate the GPUs",
        "correct what the message names; the log of the device plugin has more details",
    ),
];

fn run(ctx: &Context<'_>, findings: &mut Vec<Finding>) {
    let rejected = ctx.state.pods.items.iter();
    let mut rejected = rejected
        .filter(|pod| pod.status.phase == "Failed")
        .peekable();
    if rejected.peek().is_none() {
        return;
    }
    let successors = latest_successors(&ctx.state.pods.items);
    for pod in rejected {
        let status = &pod.status;
        let is_rejected =
            status.reason == "UnexpectedAdmissionError" || status.reason.starts_with("OutOf");
        if !is_rejected || pod.metadata.deletion_timestamp.is_some() {
            continue;
        }
        let has_gpus =
            PodDemand::new(pod).gpus().next().is_some() || status.message.contains("nvidia.com/");
        let successor = controller(pod).and_then(|it| successors.get(&it).copied());
        let has_successor = successor.flatten() > pod.metadata.creation_timestamp;
        if !has_gpus || has_successor || !ctx.is_recent(rejection_time(pod)) {
            continue;
        }
        let (problem, help) = explain(pod);
        let object = ObjectRef::of_kind("Pod", &pod.metadata);
        let (namespace, name) = (&pod.metadata.namespace, &pod.metadata.name);
        let node = ObjectRef::node(&pod.spec.node_name);
        let mut facts = ctx.nodes.iter();
        let facts = facts.find(|it| it.name() == node.name);
        let advertisers = facts.into_iter().flat_map(|it| &it.advertisers);
        let advertisers = advertisers.map(|(pod, _)| ObjectRef::of_kind("Pod", &pod.metadata));
        let mut causes = vec![node];
        causes.extend(advertisers);
        findings.push(
            Finding::new(
                &CHECK.code,
                object.clone(),
                format!("the kubelet rejected the pod: {problem}"),
            )
            .field(object, "status.message", &status.message)
            .depends_on(causes)
            .help(help)
            .command(format!(
                "kubectl describe pod --namespace {namespace} {name}"
            )),
        );
    }
}

/// The latest time that is known of a rejected pod.
fn rejection_time(pod: &Pod) -> Option<Timestamp> {
    let conditions = pod.status.conditions.iter();
    let changed = conditions.filter_map(|it| it.last_transition_time).max();
    changed
        .max(pod.status.start_time)
        .max(pod.metadata.creation_timestamp)
}

/// The controller of a pod.
fn controller(pod: &Pod) -> Option<ObjectRef> {
    let owner = pod.metadata.controller()?;
    Some(ObjectRef::new(
        &owner.kind,
        &pod.metadata.namespace,
        &owner.name,
    ))
}

/// When the latest pod of each controller that works was created.
fn latest_successors(pods: &[Pod]) -> BTreeMap<ObjectRef, Option<Timestamp>> {
    let mut latest = BTreeMap::new();
    for pod in pods {
        let works = matches!(pod.status.phase.as_str(), "Running" | "Succeeded");
        if let Some(owner) = controller(pod).filter(|_| works) {
            let known = latest.entry(owner).or_default();
            *known = pod.metadata.creation_timestamp.max(*known);
        }
    }
    latest
}

/// The problem as the end of a sentence, and what to do.
fn explain(pod: &Pod) -> (String, &'static str) {
    if let Some(resource) = pod.status.reason.strip_prefix("OutOf") {
        return (
            format!("the node does not have enough free `{resource}`"),
            "delete the failed pod, and remove `spec.nodeName` from its template if it is set, so that the scheduler \
             selects the node",
        );
    }
    let mut signatures = SIGNATURES.iter();
    match signatures.find(|(text, ..)| pod.status.message.contains(text)) {
        Some((_, problem, help)) => ((*problem).to_owned(), help),
        None => (
            format!("`{}`", pod.status.reason),
            "correct what the message names, then delete the failed pod",
        ),
    }
}

#[cfg(test)]
mod tests {
    use crate::doctor::testing::{HEALTHY_NODE, codes, list_objects};

    fn rejected(name: &str, phase: &str, reason: &str, message: &str, time: &str) -> String {
        let message = serde_json::Value::from(message);
        format!(
            r#"{{"kind": "Pod", "apiVersion": "v1",
              "metadata": {{"name": "{name}", "namespace": "ml", "creationTimestamp": "2026-11-28T{time}Z",
                "ownerReferences": [{{"kind": "ReplicaSet", "name": "serve", "controller": true}}]}},
              "spec": {{"nodeName": "gpu-1", "containers": [{{"resources": {{"limits": {{"nvidia.com/gpu": "1"}}}}}}]}},
              "status": {{"phase": "{phase}", "reason": "{reason}", "message": {message}}}}}"#
        )
    }

    #[test]
    fn inner_messages_are_explained() {
        let admission = "UnexpectedAdmissionError";
        for (reason, message, expected) in [
            (
                admission,
                "Pod Allocate failed due to rpc error: code = Unknown desc = GetPreferredAllocation rpc failed: GPU is \
                 lost, which is unexpected",
                "GPU of the node is lost",
            ),
            (
                admission,
                "Allocate failed due to no healthy devices present; cannot allocate unhealthy devices nvidia.com/gpu",
                "no healthy GPUs",
            ),
            (
                admission,
                "Allocate failed due to rpc error: code = Unknown desc = maximum request size for shared resources is \
                 1; found 2",
                "several units of a shared GPU",
            ),
            (
                "OutOfnvidia.com/gpu",
                "Node didn't have enough resource: nvidia.com/gpu, requested: 1, used: 8, capacity: 8",
                "not have enough free `nvidia.com/gpu`",
            ),
            (admission, "", "`UnexpectedAdmissionError`"),
        ] {
            let pod = rejected("a", "Failed", reason, message, "11:30:00");
            let (found, text) = codes(&list_objects(&[HEALTHY_NODE, &pod]));
            assert_eq!(found, ["GPUC7510"], "{text}");
            assert!(text.contains(expected), "{text}");
        }
    }

    #[test]
    fn old_rejections_and_other_failures_are_silent() {
        for (reason, time) in [
            ("UnexpectedAdmissionError", "10:30:00"),
            ("NodeShutdown", "11:30:00"),
            ("Terminated", "11:30:00"),
            ("Evicted", "11:30:00"),
        ] {
            let pod = rejected("a", "Failed", reason, "", time);
            let (found, text) = codes(&list_objects(&[HEALTHY_NODE, &pod]));
            assert!(found.is_empty(), "{text}");
        }
    }

    #[test]
    fn pods_with_a_successor_are_silent() {
        let failed = rejected("a", "Failed", "UnexpectedAdmissionError", "", "11:30:00");
        for (phase, time, expected) in [
            ("Running", "11:31:00", 0),
            ("Running", "11:20:00", 1),
            ("Failed", "11:31:00", 1),
        ] {
            let other = rejected("b", phase, "", "", time);
            let (found, text) = codes(&list_objects(&[HEALTHY_NODE, &failed, &other]));
            assert_eq!(found.len(), expected, "{phase} {time}: {text}");
        }
    }

    #[test]
    fn faults_of_the_node_explain_the_pod() {
        let node = HEALTHY_NODE.replace(
            r#""allocatable": {"pods": "9", "nvidia.com/gpu": "2"}"#,
            r#""allocatable": {"pods": "9", "nvidia.com/gpu": "1"}"#,
        );
        let pod = rejected("a", "Failed", "UnexpectedAdmissionError", "", "11:30:00");
        let (found, text) = codes(&list_objects(&[&node, &pod]));
        assert_eq!(found, ["GPUC7401"], "{text}");
    }
}
