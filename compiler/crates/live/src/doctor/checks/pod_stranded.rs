//! GPUs are free, but another resource of their nodes is used up or absent.

use gpuc_syntax::diag::phrases::{pluralize, quoted_list};
use gpuc_syntax::diag::{Code, Correction, Severity};

use super::pods::{may_wait, report_pod};
use crate::doctor::check::{Check, Logs};
use crate::doctor::context::Context;
use crate::doctor::finding::{Finding, Layer};
use crate::doctor::verdict::{Verdict, stuck_pods};
use crate::state::Kind;

pub(super) static CHECK: Check = Check {
    code: Code {
        id: "GPUC7506",
        name: "pod-stranded",
        severity: Severity::Error,
        summary: "GPUs are free, but another resource of their nodes is used up or absent",
        checks: "Whether the nodes with free GPUs also have enough CPU, memory, huge pages, network devices such \
as `vpc.amazonaws.com/efa`, and pod slots for the pending pods that request GPUs.",
        reason: "The GPUs stay idle while pods wait for them. Often, pods without GPUs fill the CPUs of GPU nodes, \
or pods with one GPU request more than their share of the CPUs.",
        remedy: "Request less of the resource per GPU, keep pods without GPUs away with a taint, or raise the \
maximum number of pods. If nodes do not have a resource at all, start the device plugin that advertises it, or \
reserve the huge pages at boot.",
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
        - {name: main, image: "registry.example.com/train:1", resources: {limits: {cpu: "62"}}}
    status:
      phase: Running
  - apiVersion: v1
    kind: Pod
    metadata: {name: train-0, namespace: ml}
    spec:
      containers:
        - {name: main, image: "registry.example.com/train:1", resources: {limits: {nvidia.com/gpu: "1", cpu: "8"}}}
    status:
      phase: Pending
      conditions:
        - type: PodScheduled
          status: "False"
          reason: Unschedulable
          message: "0/1 nodes are available: 1 Insufficient cpu."
"#,
        correction: Correction::Replace(
            r#"limits: {nvidia.com/gpu: "1", cpu: "8"}"#,
            r#"limits: {nvidia.com/gpu: "1", cpu: "2"}"#,
        ),
    },
    layer: Layer::Scheduling,
    is_symptom: true,
    needs: &[Kind::Node, Kind::Pod],
    needs_logs: Logs::None,
    run,
};

fn run(ctx: &Context<'_>, findings: &mut Vec<Finding>) {
    for pending in stuck_pods(ctx) {
        let Verdict::Stranded {
            resources,
            is_absent,
            nodes,
        } = &pending.obstacles.verdict
        else {
            continue;
        };
        if !is_absent && may_wait(ctx, pending) {
            continue;
        }
        let (Some(node), Some(resource)) = (nodes.first(), resources.first()) else {
            continue;
        };
        let names = quoted_list(resources, 4);
        let count = pluralize(nodes.len(), "node");
        let message = if *is_absent {
            format!("GPUs are free on {count} that the pod can use, but no {names}")
        } else {
            format!("GPUs are free on {count} that the pod can use, but not enough {names}")
        };
        let status = ctx.state.node(&node.name).map(|it| &it.status);
        let allocatable = status.and_then(|it| it.allocatable.get(resource));
        let allocatable = allocatable.map_or("absent".to_owned(), ToString::to_string);
        let path = format!("status.allocatable[\"{resource}\"]");
        findings.push(
            report_pod(ctx, &CHECK, pending, message)
                .field(node.clone(), &path, allocatable)
                .help(advise(resource, *is_absent))
                .command(format!("kubectl describe node {}", node.name)),
        );
    }
}

/// What to do about a resource that lacks.
///
/// Source: awslabs/amazon-eks-ami issue 2367 (huge pages), 2026-11-28.
fn advise(resource: &str, is_absent: bool) -> String {
    if resource == "pods" {
        return "raise `maxPods` of the kubelet, or move pods without GPUs to other nodes"
            .to_owned();
    }
    if !is_absent {
        return format!(
            "request less `{resource}` per GPU, or move pods without GPUs to other nodes"
        );
    }
    if resource.starts_with("hugepages-") {
        return format!(
            "reserve `{resource}` when the nodes boot, or use a machine image that does, or remove the request"
        );
    }
    format!(
        "run the device plugin that advertises `{resource}` on the nodes, or remove the request"
    )
}

#[cfg(test)]
mod tests {
    use crate::doctor::testing::codes;

    fn cluster(allocatable: &str, pod: &str, time: &str) -> String {
        format!(
            r#"{{"kind": "List", "apiVersion": "v1", "items": [
              {{"kind": "Node", "apiVersion": "v1", "metadata": {{"name": "gpu-1"}},
                "status": {{"capacity": {{"nvidia.com/gpu": "2"}},
                  "allocatable": {{{allocatable}, "nvidia.com/gpu": "2"}},
                  "conditions": [
                    {{"type": "Ready", "status": "True", "lastHeartbeatTime": "2026-11-28T12:00:00Z"}}]}}}},
              {{"kind": "Pod", "apiVersion": "v1", "metadata": {{"name": "other", "namespace": "ml"}},
                "spec": {{"nodeName": "gpu-1",
                  "containers": [{{"resources": {{"requests": {{"memory": "6Gi", "cpu": "1"}}}}}}]}},
                "status": {{"phase": "Running"}}}},
              {{"kind": "Pod", "apiVersion": "v1", "metadata": {{"name": "train-0", "namespace": "ml",
                  "creationTimestamp": "2026-11-28T{time}Z"}},
                "spec": {{"containers": [{{"resources": {{"requests": {{{pod}, "nvidia.com/gpu": "1"}}}}}}]}},
                "status": {{"phase": "Pending"}}}}
            ]}}"#
        )
    }

    #[test]
    fn each_resource_has_its_advice() {
        for (allocatable, pod, expected) in [
            (
                r#""pods": "9", "memory": "8Gi""#,
                r#""memory": "4Gi""#,
                "request less `memory`",
            ),
            (r#""pods": "1""#, r#""x": "0""#, "raise `maxPods`"),
            (
                r#""pods": "9", "hugepages-2Mi": "0""#,
                r#""hugepages-2Mi": "1Gi""#,
                "reserve `hugepages-2Mi`",
            ),
            (
                r#""pods": "9""#,
                r#""vpc.amazonaws.com/efa": "1""#,
                "advertises `vpc.amazonaws.com/efa`",
            ),
        ] {
            let (found, text) = codes(&cluster(allocatable, pod, "11:00:00"));
            assert_eq!(found, ["GPUC7506"], "{text}");
            assert!(text.contains(expected), "{text}");
        }
    }

    #[test]
    fn pods_that_wait_shortly_may_get_what_others_free() {
        let node = r#""pods": "9", "memory": "8Gi""#;
        let (found, text) = codes(&cluster(node, r#""memory": "4Gi""#, "11:55:00"));
        assert!(found.is_empty(), "{text}");
        // An absent resource does not come by waiting.
        let (found, _) = codes(&cluster(node, r#""efa": "1""#, "11:55:00"));
        assert_eq!(found, ["GPUC7506"]);
    }
}
