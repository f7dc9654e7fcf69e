//! A pending pod requests a resource of NVIDIA that no node has.

use std::collections::BTreeSet;

use gpuc_syntax::diag::phrases::quoted_list;
use gpuc_syntax::diag::{Code, Correction, Severity};

use super::mig_configuration_failed::STATE_LABEL;
use super::pods::{PATIENCE_SECONDS, needs_mig_devices, report_pod, request_path};
use crate::doctor::check::{Check, Logs};
use crate::doctor::context::{Context, GPU, NodeFacts};
use crate::doctor::finding::{Finding, Layer};
use crate::doctor::pending::PendingPod;
use crate::doctor::verdict::{Verdict, stuck_pods, waiting_seconds};
use crate::objects::ObjectRef;
use crate::state::Kind;

pub(super) static CHECK: Check = Check {
    code: Code {
        id: "GPUC7501",
        name: "pod-resource-not-offered",
        severity: Severity::Error,
        summary: "a pending pod requests a resource of NVIDIA that no node has",
        checks: "Whether some node has each resource of NVIDIA that a pending pod requests, such as \
`nvidia.com/gpu` or `nvidia.com/mig-1g.10gb`, in `status.capacity`.",
        reason: "The names depend on the configuration of the device plugin: time-slicing and MPS can rename \
`nvidia.com/gpu` to `nvidia.com/gpu.shared`, and MIG with the strategy `mixed` offers `nvidia.com/mig-*` only. A \
pod that requests another name stays pending.",
        remedy: "Request a resource that the nodes offer, or change the configuration of the device plugin. If the \
nodes should offer the resource, another finding names the cause if gpuc finds it.",
        bad: r#"--- # objects.yaml
apiVersion: v1
kind: List
items:
  - apiVersion: v1
    kind: Node
    metadata: {name: gpu-1, labels: {nvidia.com/gpu.present: "true"}}
    status:
      capacity: {cpu: "64", pods: "110", nvidia.com/gpu.shared: "32"}
      allocatable: {cpu: "64", pods: "110", nvidia.com/gpu.shared: "32"}
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
"#,
        correction: Correction::Replace(
            r#"limits: {nvidia.com/gpu: "1"}"#,
            r#"limits: {nvidia.com/gpu.shared: "1"}"#,
        ),
    },
    layer: Layer::Scheduling,
    is_symptom: true,
    needs: &[Kind::Node, Kind::Pod],
    needs_logs: Logs::None,
    run,
};

fn run(ctx: &Context<'_>, findings: &mut Vec<Finding>) {
    for pending in stuck_pods(ctx).filter(|pending| !awaits_mig_devices(ctx, pending)) {
        let (resource, message, help) = match &pending.obstacles.verdict {
            Verdict::NotOffered { resource } if former_node(ctx, resource).is_some() => (
                resource,
                format!(
                    "the pod requests `{resource}`, which no node offers after a change of the MIG devices"
                ),
                format!(
                    "{}; the kubelet lists `{resource}` with 0 until it restarts, which is harmless",
                    explain(ctx, resource)
                ),
            ),
            Verdict::NotOffered { resource } => (
                resource,
                format!("the pod requests `{resource}`, which no node offers"),
                explain(ctx, resource),
            ),
            Verdict::GpusMissing { resource } => (
                resource,
                format!("the nodes that the pod fits on do not offer all of their `{resource}`"),
                "find out why the device plugin does not advertise all GPUs of these nodes"
                    .to_owned(),
            ),
            _ => continue,
        };
        let object = ObjectRef::of_kind("Pod", &pending.pod.metadata);
        let units = pending.obstacles.demand.units(resource).to_string();
        let mut finding = report_pod(ctx, &CHECK, pending, message)
            .field(object, &request_path(resource), units)
            .help(help);
        if let Some(node) = former_node(ctx, resource) {
            let path = format!("status.capacity[\"{resource}\"]");
            finding = finding.field(node.object(), &path, "0");
        }
        if let Some((node, name, capacity)) = similar(ctx, resource).next() {
            let path = format!("status.capacity[\"{name}\"]");
            finding = finding.field(node.object(), &path, capacity.to_string());
        }
        findings.push(finding);
    }
}

/// The resources of NVIDIA that nodes offer, without the resource itself.
fn similar<'c, 's>(
    ctx: &'c Context<'s>,
    resource: &str,
) -> impl Iterator<Item = (&'c NodeFacts<'s>, &'s str, u64)> {
    let offered = ctx.nodes.iter().flat_map(|node| {
        let offered = node.offered();
        offered.map(move |(name, capacity, _)| (node, name, capacity))
    });
    offered.filter(move |(_, name, capacity)| *name != resource && *capacity > 0)
}

/// Whether the pod waits for MIG devices that are being created since a short time.
fn awaits_mig_devices(ctx: &Context<'_>, pending: &PendingPod<'_>) -> bool {
    let is_changing = |node: &NodeFacts<'_>| {
        let state = node.node.metadata.label(STATE_LABEL);
        matches!(state, Some("pending" | "rebooting"))
    };
    let obstacles = &pending.obstacles;
    let seconds = waiting_seconds(ctx, pending);
    seconds.is_some_and(|it| it < PATIENCE_SECONDS)
        && ctx.gpu_nodes().any(|node| {
            is_changing(node)
                && (needs_mig_devices(&obstacles.demand)
                    || obstacles.would_fit.contains(&node.object()))
        })
}

/// A node that lists a resource with 0, and offers its GPUs under another name.
///
/// Source: NVIDIA/k8s-device-plugin issues 240, 389 and 992, 2026-11-28.
fn former_node<'c, 's>(ctx: &'c Context<'s>, resource: &str) -> Option<&'c NodeFacts<'s>> {
    let is_gpu = |name: &str| name == GPU || name.starts_with("nvidia.com/mig-");
    ctx.gpu_nodes().find(|node| {
        let mut offered = node.offered();
        let lists =
            node.node.status.capacity.contains_key(resource) && node.capacity(resource) == 0;
        is_gpu(resource)
            && lists
            && offered.any(|(name, capacity, _)| name != resource && is_gpu(name) && capacity > 0)
    })
}

/// What to do, with the names that nodes offer.
fn explain(ctx: &Context<'_>, resource: &str) -> String {
    let names: BTreeSet<&str> = similar(ctx, resource).map(|(_, name, _)| name).collect();
    let names: Vec<&str> = names.into_iter().collect();
    if !names.is_empty() {
        return format!(
            "request one of the resources that nodes offer ({}), or advertise `{resource}`",
            quoted_list(&names, 4)
        );
    }
    if ctx.gpu_nodes().next().is_none() {
        return "add nodes with GPUs to the cluster, or let an autoscaler add them".to_owned();
    }
    format!("let the device plugin of a node advertise `{resource}`")
}

#[cfg(test)]
mod tests {
    use crate::doctor::testing::{codes, pending_pod as pod};

    const SHARED: &str = r#"{
        "kind": "Node", "apiVersion": "v1",
        "metadata": {"name": "gpu-1", "labels": {"nvidia.com/gpu.present": "true"}},
        "status": {"capacity": {"nvidia.com/gpu.shared": "8"},
          "allocatable": {"pods": "9", "nvidia.com/gpu.shared": "8"},
          "conditions": [{"type": "Ready", "status": "True", "lastHeartbeatTime": "2026-11-28T12:00:00Z"}]}
    }"#;

    fn list(items: &[&str]) -> String {
        format!(
            r#"{{"kind": "List", "apiVersion": "v1", "items": [{}]}}"#,
            items.join(",")
        )
    }

    #[test]
    fn similar_names_are_listed() {
        let (found, text) = codes(&list(&[SHARED, &pod("nvidia.com/gpu", "11:00:00")]));
        assert_eq!(found, ["GPUC7501"], "{text}");
        assert!(text.contains("`nvidia.com/gpu.shared`"), "{text}");
    }

    #[test]
    fn names_that_the_kubelet_keeps_after_a_change_are_explained() {
        let node = SHARED
            .replace(
                r#""capacity": {"nvidia.com/gpu.shared": "8"}"#,
                r#""capacity": {"nvidia.com/gpu": "0", "nvidia.com/mig-1g.10gb": "7"}"#,
            )
            .replace(
                r#""pods": "9", "nvidia.com/gpu.shared": "8""#,
                r#""pods": "9", "nvidia.com/gpu": "0", "nvidia.com/mig-1g.10gb": "7""#,
            );
        let (found, text) = codes(&list(&[&node, &pod("nvidia.com/gpu", "11:00:00")]));
        assert_eq!(found, ["GPUC7501"], "{text}");
        assert!(text.contains("after a change of the MIG devices"), "{text}");
        assert!(text.contains("nvidia.com/gpu\"] = 0"), "{text}");
        let (found, text) = codes(&list(&[&node]));
        assert!(found.is_empty(), "{text}");
    }

    #[test]
    fn clusters_without_gpus_need_nodes() {
        let node = r#"{"kind": "Node", "apiVersion": "v1", "metadata": {"name": "cpu-1"}}"#;
        let (found, text) = codes(&list(&[node, &pod("nvidia.com/gpu", "11:00:00")]));
        assert_eq!(found, ["GPUC7501"], "{text}");
        assert!(text.contains("add nodes with GPUs"), "{text}");
    }

    #[test]
    fn new_pods_are_silent() {
        let (found, text) = codes(&list(&[SHARED, &pod("nvidia.com/gpu", "11:59:00")]));
        assert!(found.is_empty(), "{text}");
    }

    #[test]
    fn unknown_nodes_are_no_evidence() {
        let (found, text) = codes(&list(&[&pod("nvidia.com/gpu", "11:00:00")]));
        assert!(found.is_empty(), "{text}");
    }

    #[test]
    fn nodes_that_an_autoscaler_creates_are_awaited() {
        for (reason, time, expected) in [
            ("TriggeredScaleUp", "11:50:00", 0),
            ("Nominated", "11:50:00", 0),
            ("Nominated", "11:10:00", 1),
            ("Scheduled", "11:50:00", 1),
        ] {
            let event = format!(
                r#"{{"kind": "Event", "apiVersion": "v1", "metadata": {{"name": "e", "namespace": "ml"}},
                  "involvedObject": {{"kind": "Pod", "namespace": "ml", "name": "train-0"}},
                  "reason": "{reason}", "lastTimestamp": "2026-11-28T{time}Z"}}"#
            );
            let pod = pod("nvidia.com/gpu", "11:00:00");
            let (found, text) = codes(&list(&[SHARED, &pod, &event]));
            assert_eq!(found.len(), expected, "{reason} {time}: {text}");
        }
    }

    #[test]
    fn nodes_that_lack_their_gpus_explain_the_pod() {
        let node = r#"{"kind": "Node", "apiVersion": "v1",
          "metadata": {"name": "gpu-2", "labels": {"node.kubernetes.io/instance-type": "p5.48xlarge"}},
          "status": {"capacity": {}, "allocatable": {"pods": "9"},
            "conditions": [{"type": "Ready", "status": "True"}]}}"#;
        let (found, text) = codes(&list(&[node, SHARED, &pod("nvidia.com/gpu", "11:00:00")]));
        assert_eq!(found, ["GPUC7301"], "{text}");
        assert!(text.contains("Pod ml/train-0 waits for it"), "{text}");
    }
}
