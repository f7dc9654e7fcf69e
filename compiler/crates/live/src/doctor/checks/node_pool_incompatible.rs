//! Karpenter creates no node for a pending pod with GPUs.

use gpuc_syntax::diag::{Code, Correction, Severity};

use super::pods::{PATIENCE_SECONDS, needs_nodes};
use super::scale_up_not_possible::explain_refusal;
use crate::doctor::check::{Check, Logs};
use crate::doctor::context::Context;
use crate::doctor::finding::{Evidence, Finding, Layer};
use crate::doctor::pending::PendingPod;
use crate::doctor::verdict::{Verdict, stuck_pods, waiting_seconds};
use crate::objects::ObjectRef;
use crate::state::Kind;

pub(super) static CHECK: Check = Check {
    code: Code {
        id: "GPUC7702",
        name: "node-pool-incompatible",
        severity: Severity::Error,
        summary: "Karpenter creates no node for a pending pod with GPUs",
        checks: "Whether the event `FailedScheduling` of Karpenter says that no NodePool fits a pending pod with \
GPUs, and the nodes of the cluster do not explain it.",
        reason: "Karpenter names the reason for every NodePool in one long message. One of them is the pool that \
should run the pod.",
        remedy: "Add the toleration of the NodePool to the pod, correct the labels that the pod requires, or allow \
larger machine types or more zones in the NodePool.",
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
    reason: FailedScheduling
    message: "Failed to schedule pod, did not tolerate taint
      (taint=nvidia.com/gpu=true:NoSchedule)"
    reportingComponent: karpenter
"#,
        correction: Correction::Replace(
            r#"reason: FailedScheduling
    message: "Failed to schedule pod, did not tolerate taint
      (taint=nvidia.com/gpu=true:NoSchedule)""#,
            r#"reason: Nominated
    message: "Pod should schedule on: nodeclaim/gpu-x7k2p""#,
        ),
    },
    layer: Layer::Cloud,
    is_symptom: false,
    needs: &[Kind::Node, Kind::Pod, Kind::Event],
    needs_logs: Logs::None,
    run,
};

/// A part of Karpenter's message, the problem, and what to do.
type Signature = (&'static str, &'static str, &'static str);

/// The reasons of Karpenter: those of the pools that are nearest to the pod first.
///
/// Source: kubernetes-sigs/karpenter `pkg/controllers/provisioning/scheduling` (`nodeclaim.go`, `scheduler.go`), and
/// aws/karpenter-provider-aws issue 5527, 2026-11-28.
static SIGNATURES: &[Signature] = &[
    (
        "did not tolerate taint (taint=nvidia.com/gpu",
        "it does not tolerate the taint `nvidia.com/gpu` of a NodePool",
        "add to the pod's template: `tolerations: [{key: nvidia.com/gpu, operator: Exists}]`",
    ),
    (
        "did not tolerate nvidia.com/gpu",
        "it does not tolerate the taint `nvidia.com/gpu` of a NodePool",
        "add to the pod's template: `tolerations: [{key: nvidia.com/gpu, operator: Exists}]`",
    ),
    (
        "exceed limits for nodepool",
        "a NodePool has reached its limits",
        "raise `spec.limits` of the NodePool",
    ),
    (
        "required offering",
        "no machine type of a NodePool is offered in the zones and with the capacity type that the pod requires",
        "allow more zones, machine types or capacity types in the NodePool, or in the pod's node selector",
    ),
    (
        "enough resources",
        "no machine type of a NodePool is large enough",
        "request less, or allow larger machine types with GPUs in the NodePool",
    ),
    (
        "does not have known values",
        "it requires a label that no NodePool sets",
        "set the label in `spec.template.metadata.labels` of the NodePool, or remove it from the pod's node selector",
    ),
    (
        "incompatible requirements",
        "its node selector or affinity does not match the requirements of a NodePool",
        "correct the node selector in the pod's template, or the requirements of the NodePool",
    ),
    (
        "did not tolerate",
        "it does not tolerate the taints of the NodePools",
        "add the toleration of the NodePool to the pod's template",
    ),
];

fn run(ctx: &Context<'_>, findings: &mut Vec<Finding>) {
    for pending in ctx.pending_pods() {
        findings.extend(check_capacity(ctx, pending));
    }
    for pending in stuck_pods(ctx) {
        let object = ObjectRef::of_kind("Pod", &pending.pod.metadata);
        let mut events = ctx.events(&object).iter();
        let event = events.find(|event| {
            event.reason == "FailedScheduling"
                // The scheduler has events with this reason too.
                && ["Failed to schedule pod, ", "nodepool"].iter().any(|it| event.message.contains(it))
                && ctx.is_recent(event.last_seen())
        });
        let Some(event) = event else {
            continue;
        };
        let mut signatures = SIGNATURES.iter();
        let found = signatures.find(|(text, ..)| event.message.contains(text));
        let is_limit = event.message.contains("exceed limits for nodepool");
        if !is_cause(ctx, &pending.obstacles.verdict, is_limit) {
            continue;
        }
        let (problem, help) = match found {
            Some((_, problem, help)) => (*problem, *help),
            None => (
                "no NodePool fits it",
                "correct what the message names, in the pod's template or in the NodePool",
            ),
        };
        findings.push(
            Finding::new(
                &CHECK.code,
                object,
                format!("Karpenter creates no node for the pod: {problem}"),
            )
            .evidence(Evidence::event(event))
            .help(help)
            .command("kubectl get nodepools.karpenter.sh -o yaml"),
        );
    }
}

/// A pod for which Karpenter tries to create nodes that the cloud refuses. Karpenter deletes such a `NodeClaim` and
/// tries again, so that each attempt nominates the pod for another one.
///
/// Source: kubernetes-sigs/karpenter `pkg/controllers/nodeclaim/lifecycle/events.go` and
/// `pkg/controllers/provisioning/scheduling/events.go`, 2026-11-28.
fn check_capacity(ctx: &Context<'_>, pending: &PendingPod<'_>) -> Option<Finding> {
    let seconds = waiting_seconds(ctx, pending);
    if seconds.is_some_and(|it| it < PATIENCE_SECONDS) || !needs_nodes(&pending.obstacles.verdict) {
        return None;
    }
    let object = ObjectRef::of_kind("Pod", &pending.pod.metadata);
    let mut events = ctx.events(&object).iter();
    // The latest attempt counts.
    let nominated = events.find(|it| it.reason == "Nominated" && ctx.is_recent(it.last_seen()))?;
    let (_, rest) = nominated.message.split_once("nodeclaim/")?;
    let name = rest.split([',', ' ']).next().unwrap_or_default();
    let claim = ObjectRef::new("NodeClaim", "", name);
    let refused = ctx.recent_event(&claim, "InsufficientCapacityError")?;
    let (problem, help) = explain_refusal(&refused.message);
    Some(
        Finding::new(
            &CHECK.code,
            object,
            format!("Karpenter creates no node for the pod: {problem}"),
        )
        .evidence(Evidence::event(refused))
        .evidence(Evidence::event(nominated))
        .help(help)
        .command(
            "kubectl get events --all-namespaces --field-selector reason=InsufficientCapacityError",
        ),
    )
}

/// Whether the pod waits for a new node of Karpenter, and not for something that its own nodes explain.
fn is_cause(ctx: &Context<'_>, verdict: &Verdict, is_limit: bool) -> bool {
    match verdict {
        // Another resource name than that of the nodes is more likely than a missing node.
        Verdict::NotOffered { .. } => {
            let mut nodes = ctx.nodes.iter();
            !nodes.any(|it| it.offered().next().is_some())
        }
        // Nodes that Karpenter does not create are full, or its limits are reached: both are no fault.
        Verdict::InUse { nodes, .. } | Verdict::Fragmented { nodes, .. } => {
            !is_limit
                && nodes.iter().any(|node| {
                    let node = ctx.state.node(&node.name);
                    node.is_some_and(|it| it.metadata.label("karpenter.sh/nodepool").is_some())
                })
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use crate::doctor::testing::{HEALTHY_NODE, codes, event, list_objects, pending_pod};

    fn find(node: &str, message: &str) -> (Vec<&'static str>, String) {
        let pod = pending_pod("nvidia.com/gpu", "11:00:00");
        let karpenter = event("Pod", "train-0", "FailedScheduling", message, "11:50:00");
        // The scheduler uses the same reason.
        let scheduler = event(
            "Pod",
            "train-0",
            "FailedScheduling",
            "0/1 nodes",
            "11:55:00",
        );
        codes(&list_objects(&[node, &pod, &karpenter, &scheduler]))
    }

    const CPU_NODE: &str = r#"{"kind": "Node", "apiVersion": "v1", "metadata": {"name": "system-1"},
      "status": {"conditions": [{"type": "Ready", "status": "True", "lastHeartbeatTime": "2026-11-28T12:00:00Z"}]}}"#;

    #[test]
    fn messages_are_explained() {
        for (message, expected) in [
            (
                "incompatible with nodepool \"cpu\", no instance type has enough resources, requirements=x; \
                 incompatible with nodepool \"gpu\", did not tolerate nvidia.com/gpu=true:NoSchedule",
                "the taint `nvidia.com/gpu`",
            ),
            (
                "incompatible requirements, label \"gpu-model\" does not have known values",
                "a label that no NodePool sets",
            ),
            (
                "no instance type met the scheduling requirements or had a required offering, requirements=x",
                "is offered in the zones",
            ),
            (
                "all available instance types exceed limits for nodepool",
                "reached its limits",
            ),
            ("something new", "no NodePool fits it"),
        ] {
            let (found, text) = find(CPU_NODE, &format!("Failed to schedule pod, {message}"));
            assert_eq!(found, ["GPUC7702"], "{text}");
            assert!(text.contains(expected), "{text}");
        }
        let short = "all available instance types exceed limits for nodepool: gpu";
        assert_eq!(find(CPU_NODE, short).0, ["GPUC7702"]);
        let scheduler = "0/1 nodes are available: 1 Insufficient nvidia.com/gpu.";
        assert_eq!(find(CPU_NODE, scheduler).0, ["GPUC7501"]);
    }

    #[test]
    fn machines_that_the_cloud_refuses_are_found_although_karpenter_tries_again() {
        let nominated = |time: &str| {
            event(
                "Pod",
                "train-0",
                "Nominated",
                "Pod should schedule on: nodeclaim/gpu-x7k2p",
                time,
            )
        };
        let refused = event(
            "NodeClaim",
            "gpu-x7k2p",
            "InsufficientCapacityError",
            "NodeClaim gpu-x7k2p event: creating instance, insufficient capacity, with fleet error(s), \
             InsufficientInstanceCapacity: We currently do not have sufficient p5.48xlarge capacity",
            "11:58:00",
        )
        .replace(r#""kind": "NodeClaim", "namespace": "ml""#, r#""kind": "NodeClaim""#);
        let find = |created: &str, refused: &str, claim: &str| {
            let pod = pending_pod("nvidia.com/gpu", created);
            let nominated = nominated("11:57:30").replace("x7k2p", claim);
            codes(&list_objects(&[CPU_NODE, &pod, &nominated, refused]))
        };
        let (found, text) = find("11:00:00", &refused, "x7k2p");
        assert_eq!(found, ["GPUC7702"], "{text}");
        assert!(
            text.contains("the cloud has no machines of the type"),
            "{text}"
        );
        for (created, claim) in [("11:55:00", "x7k2p"), ("11:00:00", "other")] {
            let (found, text) = find(created, &refused, claim);
            assert!(found.is_empty(), "{text}");
        }
    }

    #[test]
    fn full_nodes_explain_the_pod() {
        let full = |labels: &str| {
            let node = HEALTHY_NODE.replace(r#""labels": {"#, &format!(r#""labels": {{{labels}"#));
            format!(
                r#"{node}, {{"kind": "Pod", "apiVersion": "v1", "metadata": {{"name": "other", "namespace": "ml"}},
                  "spec": {{"nodeName": "gpu-1",
                    "containers": [{{"resources": {{"limits": {{"nvidia.com/gpu": "2"}}}}}}]}},
                  "status": {{"phase": "Running"}}}}"#
            )
        };
        let own = full(r#""karpenter.sh/nodepool": "gpu", "#);
        let offering = "Failed to schedule pod, no instance type has the required offering";
        let limits =
            "Failed to schedule pod, all available instance types exceed limits for nodepool";
        for (node, message, expected) in [
            (&own, offering, "GPUC7702"),
            (&own, limits, "GPUC7505"),
            (&full(""), offering, "GPUC7505"),
        ] {
            let (found, text) = find(node, message);
            assert_eq!(found, [expected], "{text}");
        }
    }
}
