//! A pod with GPUs does not run, and no other check says why.

use std::collections::BTreeSet;

use gpuc_syntax::diag::{Code, Correction, Severity};

use super::pods::PATIENCE_SECONDS;
use crate::doctor::check::{Check, Logs};
use crate::doctor::context::Context;
use crate::doctor::demand::PodDemand;
use crate::doctor::finding::{Evidence, Finding, Layer};
use crate::doctor::verdict::{Verdict, stuck_pods};
use crate::objects::{ContainerStatus, ObjectRef, Pod};
use crate::state::Kind;

pub(super) static CHECK: Check = Check {
    code: Code {
        id: "GPUC7910",
        name: "pod-not-running",
        severity: Severity::Warning,
        summary: "a pod with GPUs does not run",
        checks: "Whether a container of each pod with GPUs waits because its image cannot be pulled, its \
configuration is wrong, or it fails again and again, and whether a pod with GPUs is not scheduled for 10 minutes. Pods \
with resources such as `gpu` or `amd.com/gpu` that no node offers count too. A pod that another check is about has no \
finding of this one.",
        reason: "The pod holds its GPUs while it does not run, or it waits for something that is not a GPU. gpuc does \
not know more about the cause than the kubelet or the scheduler says.",
        remedy: "Correct what the message names. `kubectl describe pod` shows the events of the pod, and `kubectl logs \
--previous` the end of a container that failed.",
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
    metadata: {name: serve-0, namespace: ml}
    spec:
      nodeName: gpu-1
      containers:
        - {name: main, image: "registry.example.com/serve:9", resources: {limits: {nvidia.com/gpu: "1"}}}
    status:
      phase: Pending
      containerStatuses:
        - {name: main, state: {waiting: {reason: ImagePullBackOff, message: "Back-off pulling image"}}}
"#,
        correction: Correction::Replace(
            r#"phase: Pending
      containerStatuses:
        - {name: main, state: {waiting: {reason: ImagePullBackOff, message: "Back-off pulling image"}}}"#,
            "phase: Running
      containerStatuses:
        - {name: main, state: {running: {}}}",
        ),
    },
    // After all others, which explain it.
    layer: Layer::Monitoring,
    is_symptom: true,
    needs: &[Kind::Node, Kind::Pod],
    needs_logs: Logs::None,
    run,
};

/// Reasons of containers that do not start by themselves. Source: kubernetes `pkg/kubelet/images/types.go` and
/// `pkg/kubelet/kuberuntime/kuberuntime_container.go`, from memory, 2026-11-28.
const FAILURES: &[&str] = &[
    "CrashLoopBackOff",
    "CreateContainerConfigError",
    "CreateContainerError",
    "ErrImageNeverPull",
    "ErrImagePull",
    "ImageInspectError",
    "ImagePullBackOff",
    "InvalidImageName",
    "PostStartHookError",
    "RunContainerError",
];

/// The seconds in which the kubelet tries again.
const START_SECONDS: u64 = 120;

fn run(ctx: &Context<'_>, findings: &mut Vec<Finding>) {
    let known: BTreeSet<ObjectRef> = (findings.iter())
        .flat_map(|finding| finding.subjects.iter().cloned())
        .collect();
    let undecided: BTreeSet<(&str, &str)> = stuck_pods(ctx)
        .filter(|pending| pending.obstacles.verdict == Verdict::Unknown)
        .map(|pending| {
            let metadata = &pending.pod.metadata;
            (metadata.namespace.as_str(), metadata.name.as_str())
        })
        .collect();
    for pod in &ctx.state.pods.items {
        let object = ObjectRef::of_kind("Pod", &pod.metadata);
        let is_deleted = pod.metadata.deletion_timestamp.is_some();
        if is_deleted || pod.is_finished() || known.contains(&object) {
            continue;
        }
        let demand = PodDemand::new(pod);
        let misspelled = misspelled_resource(ctx, pod);
        let has_gpus = demand.gpus().next().is_some() || !pod.spec.resource_claims.is_empty();
        if !has_gpus && misspelled.is_none() {
            continue;
        }
        let key = (pod.metadata.namespace.as_str(), pod.metadata.name.as_str());
        let finding = if pod.is_unscheduled() {
            unscheduled(ctx, pod, misspelled, undecided.contains(&key))
        } else {
            failed(ctx, pod)
        };
        findings.extend(finding);
    }
}

/// A resource that looks like a GPU and that no node offers.
fn misspelled_resource(ctx: &Context<'_>, pod: &Pod) -> Option<String> {
    let is_offered = |name: &str| {
        let mut nodes = ctx.nodes.iter();
        nodes.any(|node| node.node.status.capacity.contains_key(name))
    };
    let resources = pod.containers().flat_map(|container| {
        let (limits, requests) = (&container.resources.limits, &container.resources.requests);
        limits.keys().chain(requests.keys())
    });
    let mut candidates = resources.filter(|name| {
        let lower = name.to_ascii_lowercase();
        let looks_like_gpu = lower.contains("gpu") || lower.contains("nvidia");
        looks_like_gpu && !lower.starts_with("nvidia.com/") && !is_offered(name)
    });
    candidates.next().cloned()
}

fn unscheduled(
    ctx: &Context<'_>,
    pod: &Pod,
    misspelled: Option<String>,
    is_undecided: bool,
) -> Option<Finding> {
    let condition = pod.condition("PodScheduled");
    let since = condition.and_then(|it| it.last_transition_time);
    let since = since.max(pod.metadata.creation_timestamp);
    let is_new = ctx.age(since).is_some_and(|age| age < PATIENCE_SECONDS);
    if is_new || !pod.spec.scheduling_gates.is_empty() {
        return None;
    }
    let (message, help) = match misspelled {
        Some(resource) => (
            format!("the pod requests `{resource}`, which no node offers"),
            "the resource of NVIDIA's GPUs is `nvidia.com/gpu`".to_owned(),
        ),
        None if is_undecided => {
            let message = condition.map_or("", |it| it.message.as_str());
            let reason = message.split("preemption:").next().unwrap_or_default();
            let reason = reason.trim().trim_end_matches('.');
            if !names_other_reason(reason) {
                return None;
            }
            (
                format!("the pod is not scheduled: {reason}"),
                "correct what the scheduler names".to_owned(),
            )
        }
        None => return None,
    };
    let finding = report(pod, message).help(help);
    Some(match Evidence::pod_condition(pod, "PodScheduled") {
        Some(evidence) => finding.evidence(evidence),
        None => finding,
    })
}

/// Whether a message of the scheduler names a reason that gpuc does not evaluate on the nodes itself. The message is as
/// old as the last attempt; gpuc knows the nodes as they are.
///
/// Source: kubernetes `pkg/scheduler/framework/plugins`, from memory, 2026-11-28.
fn names_other_reason(message: &str) -> bool {
    const EVALUATED: &[&str] = &[
        "Insufficient ",
        "Too many pods",
        "node affinity/selector",
        "untolerated taint",
        "were unschedulable",
    ];
    let reasons = message
        .split_once("available: ")
        .map_or(message, |(_, it)| it);
    let mut reasons = reasons.split(", ").filter(|it| !it.trim().is_empty());
    reasons.any(|reason| !EVALUATED.iter().any(|it| reason.contains(it)))
}

/// A pod on a node with a container that fails.
fn failed(ctx: &Context<'_>, pod: &Pod) -> Option<Finding> {
    let is_new = ctx
        .age(pod.metadata.creation_timestamp)
        .is_some_and(|age| age < START_SECONDS);
    if is_new {
        return None;
    }
    let is_failed = |status: &&ContainerStatus| {
        let waiting = status.state.waiting.as_ref();
        waiting.is_some_and(|it| FAILURES.contains(&it.reason.as_str()))
    };
    let status = pod.container_statuses().find(is_failed)?;
    let waiting = status.state.waiting.as_ref()?;
    let ended = status.last_state.terminated.as_ref();
    let reason = &waiting.reason;
    let (message, help) = match ended {
        Some(ended) if ended.reason == "OOMKilled" => (
            "a container exceeds its memory limit again and again (`OOMKilled`)".to_owned(),
            "raise the memory limit of the container, or use less memory",
        ),
        Some(ended) if reason == "CrashLoopBackOff" => (
            format!(
                "a container fails again and again, with exit code {}",
                ended.exit_code
            ),
            "read the end of its log",
        ),
        _ if reason == "CrashLoopBackOff" => (
            "a container fails again and again".to_owned(),
            "read the end of its log",
        ),
        _ => (
            format!("a container does not start (`{reason}`)"),
            "correct what the message names: the image and its registry, or the objects that the container uses",
        ),
    };
    let namespace = &pod.metadata.namespace;
    let name = &pod.metadata.name;
    let command = if reason == "CrashLoopBackOff" {
        let container = &status.name;
        format!("kubectl logs --namespace {namespace} {name} --container {container} --previous")
    } else {
        format!("kubectl describe pod --namespace {namespace} {name}")
    };
    let object = ObjectRef::of_kind("Pod", &pod.metadata);
    let path = format!("status.containerStatuses[{}].state.waiting", status.name);
    let value = format!("{reason}: {}", waiting.message);
    Some(
        report(pod, message)
            .field(object, &path, value.trim_end_matches([':', ' ']))
            .help(help)
            .command(command),
    )
}

/// A finding that the node of the pod explains.
fn report(pod: &Pod, message: String) -> Finding {
    let object = ObjectRef::of_kind("Pod", &pod.metadata);
    let node = Some(&pod.spec.node_name).filter(|name| !name.is_empty());
    let node = node.map(|name| ObjectRef::new("Node", "", name));
    Finding::new(&CHECK.code, object, message)
        .depends_on(Vec::from_iter(node))
        .command(format!(
            "kubectl describe pod --namespace {} {}",
            pod.metadata.namespace, pod.metadata.name
        ))
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{HEALTHY_NODE, codes, list_objects, pending_pod};
    use super::CHECK;

    /// A pod on the healthy node, with this status of its container.
    fn pod(status: &str, created: &str) -> String {
        format!(
            r#"{{"kind": "Pod", "apiVersion": "v1",
              "metadata": {{"name": "serve-0", "namespace": "ml", "creationTimestamp": "2026-11-28T{created}Z"}},
              "spec": {{"nodeName": "gpu-1",
                "containers": [{{"name": "main", "resources": {{"limits": {{"nvidia.com/gpu": "1"}}}}}}]}},
              "status": {{"phase": "Running", "containerStatuses": [{{"name": "main", {status}}}]}}}}"#
        )
    }

    fn waiting(reason: &str) -> String {
        format!(r#""state": {{"waiting": {{"reason": "{reason}", "message": "m"}}}}"#)
    }

    #[test]
    fn containers_that_fail_are_found() {
        let ended = r#""lastState": {"terminated": {"exitCode": 137, "reason": "OOMKilled"}}"#;
        let oom = format!("{}, {ended}", waiting("CrashLoopBackOff"));
        let exit = oom.replace("OOMKilled", "Error").replace("137", "3");
        for (status, expected) in [
            (
                waiting("ErrImagePull"),
                Some("does not start (`ErrImagePull`)"),
            ),
            (waiting("CrashLoopBackOff"), Some("fails again and again\n")),
            (oom, Some("exceeds its memory limit")),
            (exit, Some("with exit code 3")),
            (waiting("ContainerCreating"), None),
            (waiting("PodInitializing"), None),
            (r#""state": {"running": {}}"#.to_owned(), None),
        ] {
            let (found, text) = codes(&list_objects(&[HEALTHY_NODE, &pod(&status, "11:00:00")]));
            match expected {
                Some(expected) => {
                    assert_eq!(found, [CHECK.code.id], "{text}");
                    assert!(text.contains(expected), "{text}");
                }
                None => assert_eq!(found, [] as [&str; 0], "{text}"),
            }
        }
        let new = pod(&waiting("ErrImagePull"), "11:59:00");
        assert_eq!(
            codes(&list_objects(&[HEALTHY_NODE, &new])).0,
            [] as [&str; 0]
        );
    }

    #[test]
    fn resources_that_look_like_gpus_are_named() {
        for resource in ["gpu", "nvidia/gpu", "amd.com/gpu", "nvidia-gpu"] {
            let pending = pending_pod(resource, "11:00:00");
            let (found, text) = codes(&list_objects(&[HEALTHY_NODE, &pending]));
            assert_eq!(found, [CHECK.code.id], "{resource}: {text}");
            assert!(text.contains(&format!("requests `{resource}`")), "{text}");
            let new = pending_pod(resource, "11:58:00");
            assert_eq!(
                codes(&list_objects(&[HEALTHY_NODE, &new])).0,
                [] as [&str; 0]
            );
            // Another vendor's device plugin.
            let node = HEALTHY_NODE.replace(
                "{\"nvidia.com/gpu\": \"2\"}",
                &format!("{{\"{resource}\": \"2\"}}"),
            );
            let (found, text) = codes(&list_objects(&[&node, &pending]));
            assert!(!found.contains(&CHECK.code.id), "{text}");
        }
        let other = pending_pod("example.com/fpga", "11:00:00");
        assert_eq!(
            codes(&list_objects(&[HEALTHY_NODE, &other])).0,
            [] as [&str; 0]
        );
    }

    #[test]
    fn the_message_of_the_scheduler_is_quoted_if_nothing_else_is_known() {
        let condition = r#""conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable",
          "message": "0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims. preemption: 0/1."}]"#;
        let pending = pending_pod("nvidia.com/gpu", "11:00:00");
        let pending = pending.replace(
            r#""phase": "Pending""#,
            &format!(r#""phase": "Pending", {condition}"#),
        );
        let (found, text) = codes(&list_objects(&[HEALTHY_NODE, &pending]));
        assert_eq!(found, [CHECK.code.id], "{text}");
        assert!(
            text.contains("not scheduled: 0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims\n"),
            "{text}"
        );
        // gpuc evaluates these reasons itself, and the pod fits on the node now.
        let old = pending.replace(
            "pod has unbound immediate PersistentVolumeClaims",
            "1 Insufficient nvidia.com/gpu",
        );
        assert_eq!(
            codes(&list_objects(&[HEALTHY_NODE, &old])).0,
            [] as [&str; 0]
        );
        let gated = pending.replace(
            r#""spec": {"#,
            r#""spec": {"schedulingGates": [{"name": "a"}], "#,
        );
        assert_eq!(
            codes(&list_objects(&[HEALTHY_NODE, &gated])).0,
            [] as [&str; 0]
        );
    }

    #[test]
    fn a_node_with_a_fault_explains_its_pods() {
        let node = HEALTHY_NODE.replace(r#""status": "True""#, r#""status": "Unknown""#);
        let (found, text) = codes(&list_objects(&[
            &node,
            &pod(&waiting("ErrImagePull"), "11:00:00"),
        ]));
        assert_eq!(found, ["GPUC7101"], "{text}");
        assert!(text.contains("Pod ml/serve-0 waits for it"), "{text}");
    }
}
