//! All GPUs that a pending pod can use are in use.

use std::sync::Arc;

use gpuc_syntax::diag::phrases::pluralize;
use gpuc_syntax::diag::{Code, Correction, Severity};

use super::pods::{may_wait, report_pod, request_path};
use crate::doctor::check::{Check, Logs};
use crate::doctor::context::Context;
use crate::doctor::demand::requests;
use crate::doctor::finding::{Evidence, Finding, Layer};
use crate::doctor::pending::Obstacles;
use crate::doctor::verdict::{Verdict, stuck_pods};
use crate::objects::ObjectRef;
use crate::state::Kind;

pub(super) static CHECK: Check = Check {
    code: Code {
        id: "GPUC7505",
        name: "pod-waits-for-gpus",
        severity: Severity::Warning,
        summary: "all GPUs that a pending pod can use are in use",
        checks: "Whether each pod that requests GPUs and is pending for more than 10 minutes waits only for GPUs \
that other pods use, or for nodes that are not ready. Pods for which an autoscaler creates a node are not \
reported.",
        reason: "The pod starts when another pod ends. If no pod ends soon, the cluster has too few GPUs, or pods \
hold GPUs that they do not use.",
        remedy: "The evidence names the pods that hold the most GPUs. End one of them, add nodes, or let Kueue \
decide which workloads run first.",
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
    metadata: {name: other-0, namespace: ml}
    spec:
      nodeName: gpu-1
      containers:
        - {name: main, image: "registry.example.com/train:1", resources: {limits: {nvidia.com/gpu: "8"}}}
    status:
      phase: Running
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
            r#"limits: {nvidia.com/gpu: "8"}"#,
            r#"limits: {nvidia.com/gpu: "7"}"#,
        ),
    },
    layer: Layer::Scheduling,
    is_symptom: true,
    needs: &[Kind::Node, Kind::Pod],
    needs_logs: Logs::None,
    run,
};

fn run(ctx: &Context<'_>, findings: &mut Vec<Finding>) {
    // Pods with the same requirements share their obstacles.
    let mut known: Vec<(&Arc<Obstacles>, Vec<Evidence>)> = Vec::new();
    for pending in stuck_pods(ctx).filter(|pending| !may_wait(ctx, pending)) {
        let obstacles = &pending.obstacles;
        match &obstacles.verdict {
            Verdict::InUse {
                resource,
                free,
                total,
                nodes,
            } => {
                let count = pluralize(nodes.len(), "node");
                let message = match free {
                    0 => format!(
                        "all {total} `{resource}` that the pod can use are in use, on {count}"
                    ),
                    free => format!(
                        "only {free} of {total} `{resource}` that the pod can use are free, on {count}, and it \
                         requests {}",
                        obstacles.demand.units(resource)
                    ),
                };
                if !known.iter().any(|(it, _)| Arc::ptr_eq(it, obstacles)) {
                    let holders = largest_holders(ctx, resource, nodes);
                    known.push((obstacles, holders));
                }
                let mut known = known.iter();
                let holders = known.find(|(it, _)| Arc::ptr_eq(it, obstacles));
                let object = ObjectRef::of_kind("Pod", &pending.pod.metadata);
                let refused = ctx.recent_event(&object, "NotTriggerScaleUp");
                let is_limited =
                    refused.is_some_and(|it| it.message.contains("max node group size reached"));
                let help = if is_limited {
                    "raise the maximum size of the node group (`nodes.max` of the pool), end one of the pods that hold \
                     GPUs, or wait until a pod ends"
                } else {
                    "end one of the pods that hold GPUs, add nodes, or wait until a pod ends"
                };
                let mut finding = report_pod(ctx, &CHECK, pending, message).help(help);
                if let Some((_, holders)) = holders {
                    finding.evidence.extend(holders.iter().cloned());
                }
                findings.push(finding);
            }
            Verdict::NotReady { nodes } => {
                let count = pluralize(nodes.len(), "node");
                let message =
                    format!("the pod waits for {count} with GPUs that are not ready for pods");
                findings.push(
                    report_pod(ctx, &CHECK, pending, message)
                        .depends_on(Arc::clone(nodes))
                        .help("read the conditions and taints of the nodes, and repair or replace them"),
                );
            }
            _ => {}
        }
    }
}

/// The number of pods in the evidence.
const MAX_HOLDERS: usize = 3;

/// The pods that hold the most units of a resource on these nodes.
fn largest_holders(ctx: &Context<'_>, resource: &str, nodes: &[ObjectRef]) -> Vec<Evidence> {
    let pods = nodes.iter().flat_map(|node| ctx.pods_on(&node.name));
    let pods = pods.filter(|pod| !pod.is_finished());
    let units = pods.filter_map(|pod| {
        let amount = requests(&pod.spec).get(resource)?.div_ceil(1000);
        (amount > 0).then_some((amount, *pod))
    });
    let mut holders: Vec<_> = units.collect();
    holders.sort_by_key(|(units, _)| std::cmp::Reverse(*units));
    let holders = holders.into_iter().take(MAX_HOLDERS);
    let evidence = holders.map(|(units, pod)| Evidence::Field {
        object: ObjectRef::of_kind("Pod", &pod.metadata),
        path: request_path(resource),
        value: units.to_string(),
    });
    evidence.collect()
}

#[cfg(test)]
mod tests {
    use crate::doctor::testing::{codes, pending_pod};

    /// A cluster at 12:00 with a full node, and more objects.
    fn cluster(node: &str, pod: &str, more: &str) -> String {
        format!(
            r#"{{"kind": "List", "apiVersion": "v1", "items": [
              {{"kind": "Node", "apiVersion": "v1", "metadata": {{"name": "gpu-1"}}, {node}
                "status": {{"capacity": {{"nvidia.com/gpu": "2"}},
                  "allocatable": {{"pods": "9", "nvidia.com/gpu": "2"}},
                  "conditions": [
                    {{"type": "Ready", "status": "True", "lastHeartbeatTime": "2026-11-28T12:00:00Z"}}]}}}},
              {{"kind": "Pod", "apiVersion": "v1", "metadata": {{"name": "other", "namespace": "ml"}},
                "spec": {{"nodeName": "gpu-1", {pod}
                  "containers": [{{"resources": {{"limits": {{"nvidia.com/gpu": "2"}}}}}}]}},
                "status": {{"phase": "Running"}}}}{more}
            ]}}"#
        )
    }

    fn waiting(time: &str) -> String {
        format!(",{}", pending_pod("nvidia.com/gpu", time))
    }

    #[test]
    fn the_largest_holder_is_named() {
        let (found, text) = codes(&cluster("", "", &waiting("11:49:00")));
        assert_eq!(found, ["GPUC7505"], "{text}");
        assert!(text.contains("all 2 `nvidia.com/gpu`"), "{text}");
        assert!(text.contains("Pod ml/other#spec.containers"), "{text}");
    }

    #[test]
    fn pods_that_wait_shortly_are_silent() {
        let (found, text) = codes(&cluster("", "", &waiting("11:51:00")));
        assert!(found.is_empty(), "{text}");
    }

    #[test]
    fn pods_for_which_others_are_evicted_are_silent() {
        let pod = waiting("11:00:00").replace(
            r#""phase": "Pending""#,
            r#""phase": "Pending", "nominatedNodeName": "gpu-1""#,
        );
        let (found, text) = codes(&cluster("", "", &pod));
        assert!(found.is_empty(), "{text}");
    }

    #[test]
    fn pods_that_are_deleted_gated_or_done_are_silent() {
        let deleted = waiting("11:00:00").replace(
            r#""namespace": "ml""#,
            r#""namespace": "ml", "deletionTimestamp": "2026-11-28T11:30:00Z""#,
        );
        let gated = waiting("11:00:00").replace(
            r#""spec": {"#,
            r#""spec": {"schedulingGates": [{"name": "kueue.x-k8s.io/admission"}], "#,
        );
        let failed = waiting("11:00:00").replace("Pending", "Failed");
        for pod in [deleted, gated, failed] {
            let (found, text) = codes(&cluster("", "", &pod));
            assert!(found.is_empty(), "{text}");
        }
    }

    #[test]
    fn nodes_that_are_not_ready_are_awaited() {
        let taint = r#""spec": {"taints": [{"key": "node.kubernetes.io/disk-pressure", "effect": "NoSchedule"}]},"#;
        let (found, text) = codes(&cluster(taint, "", &waiting("11:00:00")));
        assert_eq!(found, ["GPUC7505"], "{text}");
        let (found, text) = codes(&cluster(taint, "", &waiting("11:58:30")));
        assert!(found.is_empty(), "{text}");
    }

    #[test]
    fn gpus_of_pods_that_ended_are_free() {
        let objects = cluster("", "", &waiting("11:00:00")).replace("Running", "Succeeded");
        assert!(codes(&objects).0.is_empty());
    }
}
