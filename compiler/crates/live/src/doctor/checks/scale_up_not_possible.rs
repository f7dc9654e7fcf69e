//! The Cluster Autoscaler creates no node for a pending pod with GPUs.

use gpuc_syntax::diag::{Code, Correction, Severity};

use super::pods::needs_nodes;
use crate::doctor::check::{Check, Logs};
use crate::doctor::context::Context;
use crate::doctor::finding::{Evidence, Finding, Layer};
use crate::doctor::verdict::{Verdict, stuck_pods};
use crate::objects::{Event, ObjectRef};
use crate::state::Kind;

pub(super) static CHECK: Check = Check {
    code: Code {
        id: "GPUC7701",
        name: "scale-up-not-possible",
        severity: Severity::Error,
        summary: "the Cluster Autoscaler creates no node for a pending pod with GPUs",
        checks: "Whether the events `NotTriggerScaleUp` and `FailedScaleUp` say that the Cluster Autoscaler creates no node for a \
pending pod with GPUs, and the nodes of the cluster do not explain it.",
        reason: "The autoscaler simulates a node of each node group. For an empty group, it knows only what the \
cloud and the tags of the group say: without the tag of a resource, a label or a taint, the pod does not seem to \
fit. After a failed attempt, such as without capacity in the zone, it waits.",
        remedy: "For an empty group, set the tags `k8s.io/cluster-autoscaler/node-template/...`, or keep one node. \
For a backoff, read the ConfigMap `cluster-autoscaler-status` in `kube-system`: it names the error of the cloud. \
gpuc writes the tags of its pools.",
        bad: r#"--- # objects.yaml
apiVersion: v1
kind: List
items:
  - apiVersion: v1
    kind: Node
    metadata: {name: system-1}
    status:
      capacity: {cpu: "4", pods: "58"}
      allocatable: {cpu: "4", pods: "58"}
      conditions: [{type: Ready, status: "True"}]
  - apiVersion: v1
    kind: Pod
    metadata: {name: train-0, namespace: ml}
    spec:
      containers:
        - {name: main, image: "registry.example.com/train:1", resources: {limits: {nvidia.com/gpu: "1"}}}
    status:
      phase: Pending
      conditions:
        - type: PodScheduled
          status: "False"
          reason: Unschedulable
          message: "0/1 nodes are available: 1 Insufficient nvidia.com/gpu."
  - apiVersion: v1
    kind: Event
    metadata: {name: train-0.1, namespace: ml}
    involvedObject: {kind: Pod, namespace: ml, name: train-0}
    reason: NotTriggerScaleUp
    message: "pod didn't trigger scale-up: 2 Insufficient nvidia.com/gpu"
"#,
        correction: Correction::Replace(
            r#"reason: NotTriggerScaleUp
    message: "pod didn't trigger scale-up: 2 Insufficient nvidia.com/gpu""#,
            r#"reason: TriggeredScaleUp
    message: "pod triggered scale-up: [{gpu-group 0->1 (max: 4)}]""#,
        ),
    },
    layer: Layer::Cloud,
    is_symptom: false,
    needs: &[Kind::Node, Kind::Pod, Kind::Event],
    needs_logs: Logs::None,
    run,
};

/// A part of the autoscaler's message, the problem, and what to do.
type Signature = (&'static str, &'static str, &'static str);

/// Reasons that are about node groups, not about the pod.
///
/// Source: kubernetes-sigs/cluster-autoscaler `core/scaleup/orchestrator` (skipped reasons), 2026-11-28.
static GROUP_REASONS: &[Signature] = &[
    (
        "in backoff after failed scale-up",
        "a node group waits after failed attempts",
        "read the error of the cloud in the ConfigMap: raise the quota, or use a zone or machine type with capacity",
    ),
    (
        "not ready for scale-up",
        "a node group is not ready, because too many of its nodes are not ready",
        "repair or delete the nodes that are not ready",
    ),
];

/// Limits that administrators set.
static LIMITS: &[Signature] = &[
    (
        "max node group size reached",
        "a node group has its maximum size",
        "raise the maximum size of the node group, in `nodes.max` of the pool",
    ),
    (
        "max total nodes in cluster reached",
        "the cluster has its maximum number of nodes",
        "raise `--max-nodes-total` of the Cluster Autoscaler",
    ),
    (
        "max cluster ",
        "the cluster has its maximum amount of a resource",
        "raise the limits of resources of the Cluster Autoscaler",
    ),
];

/// What the clouds refuse.
///
/// Sources, from memory, 2026-11-28: cloud.google.com/kubernetes-engine/docs/troubleshooting (`GCE out of resources`,
/// `GCE quota exceeded`); the error codes `ZONE_RESOURCE_POOL_EXHAUSTED`, `InsufficientInstanceCapacity`,
/// `VcpuLimitExceeded`, `SkuNotAvailable`, `AllocationFailed` and `QuotaExceeded` of the clouds' APIs.
static REFUSALS: &[(&[&str], &str, &str)] = &[
    (
        &["quota", "limitexceeded"],
        "a quota of the cloud is exhausted",
        "raise the quota for the GPUs or the machine type in the cloud, in the region of the pool",
    ),
    (
        &[
            "out of resources",
            "stockout",
            "resource_pool_exhausted",
            "insufficientinstancecapacity",
            "insufficient capacity",
            "skunotavailable",
            "allocationfailed",
        ],
        "the cloud has no machines of the type",
        "use another zone or machine type, or reserve capacity; the autoscaler tries again by itself",
    ),
];

/// The latest event in which the Cluster Autoscaler says that the cloud creates no machine, the problem, and what to
/// do.
fn refusal<'s>(
    ctx: &Context<'s>,
    object: &ObjectRef,
) -> Option<(&'s Event, &'static str, &'static str)> {
    let event = ctx.recent_event(object, "FailedScaleUp")?;
    let (problem, help) = explain_refusal(&event.message);
    Some((event, problem, help))
}

/// Why the cloud creates no machine, and what to do, from its message.
pub(super) fn explain_refusal(message: &str) -> (&'static str, &'static str) {
    let message = message.to_ascii_lowercase();
    let mut refusals = REFUSALS.iter();
    let known = refusals.find(|(texts, ..)| texts.iter().any(|text| message.contains(text)));
    known.map_or(
        (
            "the cloud does not create the machine",
            "correct what the message of the event names",
        ),
        |(_, problem, help)| (*problem, *help),
    )
}

fn run(ctx: &Context<'_>, findings: &mut Vec<Finding>) {
    for pending in stuck_pods(ctx) {
        let object = ObjectRef::of_kind("Pod", &pending.pod.metadata);
        let verdict = &pending.obstacles.verdict;
        if let Some((event, problem, help)) = refusal(ctx, &object)
            && needs_nodes(verdict)
        {
            findings.push(
                Finding::new(
                    &CHECK.code,
                    object,
                    format!("the autoscaler creates no node for the pod: {problem}"),
                )
                .evidence(Evidence::event(event))
                .help(help)
                .command(format!(
                    "kubectl describe pod --namespace {} {}",
                    pending.pod.metadata.namespace, pending.pod.metadata.name
                )),
            );
            continue;
        }
        let Some(event) = ctx.recent_event(&object, "NotTriggerScaleUp") else {
            continue;
        };
        let Some((problem, help)) = explain(ctx, verdict, &event.message) else {
            continue;
        };
        findings.push(
            Finding::new(
                &CHECK.code,
                object,
                format!("the Cluster Autoscaler creates no node for the pod: {problem}"),
            )
            .evidence(Evidence::event(event))
            .help(help)
            .command(
                "kubectl get configmap --namespace kube-system cluster-autoscaler-status -o yaml",
            ),
        );
    }
}

/// The problem and what to do; `None` if the nodes of the cluster explain the pod.
fn explain(ctx: &Context<'_>, verdict: &Verdict, message: &str) -> Option<(String, &'static str)> {
    let find = |signatures: &'static [Signature]| {
        let mut signatures = signatures.iter();
        let (_, problem, help) = signatures.find(|(text, ..)| message.contains(text))?;
        Some(((*problem).to_owned(), *help))
    };
    match verdict {
        // More nodes would help: those that exist are full. Their limit is no fault.
        Verdict::InUse { .. } | Verdict::Fragmented { .. } | Verdict::NotReady { .. } => {
            find(GROUP_REASONS)
        }
        // Another resource name than that of the nodes is more likely than a missing node.
        Verdict::NotOffered { .. } if ctx.nodes.iter().any(|it| it.offered().next().is_some()) => {
            find(GROUP_REASONS)
        }
        Verdict::NotOffered { .. } => {
            find(GROUP_REASONS).or_else(|| find(LIMITS)).or_else(|| {
                let problem = match sorted_reasons(message).as_str() {
                    "" => "it knows no node group".to_owned(),
                    reasons => {
                        format!("it does not fit on a new node of any node group ({reasons})")
                    }
                };
                Some((
                    problem,
                    "add a node group with the GPUs; if it exists and is empty, set its tags \
                     `k8s.io/cluster-autoscaler/node-template/...` of resources, labels and taints, or keep one node",
                ))
            })
        }
        _ => None,
    }
}

/// The reasons of the scheduler, which the autoscaler writes in a random order.
fn sorted_reasons(message: &str) -> String {
    let reasons = message.split_once("scale-up:").map_or("", |(_, it)| it);
    let mut reasons: Vec<&str> = reasons.split(", ").map(str::trim).collect();
    reasons.sort_unstable();
    reasons.join(", ")
}

#[cfg(test)]
mod tests {
    use crate::doctor::testing::{HEALTHY_NODE, codes, event, list_objects, pending_pod};

    const CPU_NODE: &str = r#"{"kind": "Node", "apiVersion": "v1", "metadata": {"name": "system-1"},
      "status": {"conditions": [{"type": "Ready", "status": "True", "lastHeartbeatTime": "2026-11-28T12:00:00Z"}]}}"#;

    fn find(node: &str, message: &str, time: &str) -> (Vec<&'static str>, String) {
        let pod = pending_pod("nvidia.com/gpu", "11:00:00");
        let message = format!("pod didn't trigger scale-up: {message}");
        let event = event("Pod", "train-0", "NotTriggerScaleUp", &message, time);
        codes(&list_objects(&[node, &pod, &event]))
    }

    /// A node whose GPUs are in use.
    fn full_node() -> String {
        format!(
            r#"{HEALTHY_NODE}, {{"kind": "Pod", "apiVersion": "v1", "metadata": {{"name": "other", "namespace": "ml"}},
              "spec": {{"nodeName": "gpu-1", "containers": [{{"resources": {{"limits": {{"nvidia.com/gpu": "2"}}}}}}]}},
              "status": {{"phase": "Running"}}}}"#
        )
    }

    #[test]
    fn messages_are_explained() {
        for (message, expected) in [
            (
                "1 in backoff after failed scale-up, 2 Insufficient nvidia.com/gpu",
                "waits after failed",
            ),
            ("1 max node group size reached", "has its maximum size"),
            (
                "max total nodes in cluster reached",
                "maximum number of nodes",
            ),
            (
                "1 node(s) had untolerated taint(s)",
                "(1 node(s) had untolerated taint(s))",
            ),
            ("2 b, 1 a", "(1 a, 2 b)"),
            ("", "it knows no node group"),
        ] {
            let (found, text) = find(CPU_NODE, message, "11:50:00");
            assert_eq!(found, ["GPUC7701"], "{text}");
            assert!(text.contains(expected), "{text}");
            assert!(text.contains("explains: Pod ml/train-0"), "{text}");
        }
    }

    #[test]
    fn refusals_of_clouds_are_explained() {
        let full = full_node();
        for (reason, message, expected) in [
            (
                "FailedScaleUp",
                "Node scale up in zones us-central1-a associated with this pod failed: GCE out of resources. Pod is at \
                 risk of not being scheduled.",
                "the cloud has no machines of the type",
            ),
            (
                "FailedScaleUp",
                "Node scale up in zones us-central1-a associated with this pod failed: GCE quota exceeded. Pod is at \
                 risk of not being scheduled.",
                "a quota of the cloud is exhausted",
            ),
            (
                "FailedScaleUp",
                "Internal error",
                "does not create the machine",
            ),
        ] {
            for node in [CPU_NODE, &full] {
                let pod = pending_pod("nvidia.com/gpu", "11:00:00");
                let message = message.replace("\\\"", "\"");
                let event = event("Pod", "train-0", reason, &message, "11:50:00");
                // The autoscaler tries before it fails.
                let trigger =
                    super::tests::event("Pod", "train-0", "TriggeredScaleUp", "", "11:48:00");
                let (found, text) = codes(&list_objects(&[node, &pod, &event, &trigger]));
                assert_eq!(found, ["GPUC7701"], "{text}");
                assert!(text.contains(expected), "{text}");
                assert!(text.contains(&format!("event {reason}")), "{text}");
            }
        }
        let pod = pending_pod("nvidia.com/gpu", "11:00:00");
        let scheduler = event(
            "Pod",
            "train-0",
            "FailedScheduling",
            "0/1 nodes are available",
            "11:50:00",
        );
        let (found, text) = codes(&list_objects(&[CPU_NODE, &pod, &scheduler]));
        assert_eq!(found, ["GPUC7501"], "{text}");
    }

    #[test]
    fn old_events_do_not_count() {
        let (found, text) = find(CPU_NODE, "1 max node group size reached", "10:50:00");
        assert_eq!(found, ["GPUC7501"], "{text}");
    }

    #[test]
    fn limits_of_full_pools_are_no_fault() {
        let node = full_node();
        let (found, text) = find(&node, "1 max node group size reached", "11:50:00");
        assert_eq!(found, ["GPUC7505"], "{text}");
        assert!(text.contains("event NotTriggerScaleUp"), "{text}");
        assert!(
            text.contains("help: raise the maximum size of the node group"),
            "{text}"
        );
        let (found, _) = find(&node, "3 Insufficient nvidia.com/gpu", "11:50:00");
        assert_eq!(found, ["GPUC7505"]);
        let (found, _) = find(&node, "1 in backoff after failed scale-up", "11:50:00");
        assert_eq!(found, ["GPUC7701"]);
    }

    #[test]
    fn a_later_scale_up_is_awaited() {
        for (time, expected) in [("11:55:00", 0), ("11:46:00", 1)] {
            let pod = pending_pod("nvidia.com/gpu", "11:00:00");
            let refused = event("Pod", "train-0", "NotTriggerScaleUp", "", "11:50:00");
            let triggered = event("Pod", "train-0", "TriggeredScaleUp", "", time);
            let (found, text) = codes(&list_objects(&[CPU_NODE, &pod, &refused, &triggered]));
            assert_eq!(found.len(), expected, "{text}");
        }
    }
}
