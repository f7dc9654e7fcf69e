//! Enough GPUs are free for a pending pod, but not on one node.

use gpuc_syntax::diag::phrases::pluralize;
use gpuc_syntax::diag::{Code, Correction, Severity};

use super::pods::{may_wait, report_pod, request_path};
use crate::doctor::check::{Check, Logs};
use crate::doctor::context::Context;
use crate::doctor::finding::{Finding, Layer};
use crate::doctor::verdict::{Verdict, stuck_pods};
use crate::objects::ObjectRef;
use crate::state::Kind;

pub(super) static CHECK: Check = Check {
    code: Code {
        id: "GPUC7507",
        name: "gpus-fragmented",
        severity: Severity::Warning,
        summary: "enough GPUs are free for a pending pod, but not on one node",
        checks: "Whether one node has enough free GPUs for each pod that is pending for more than 10 minutes, if \
the nodes that it can use have enough of them together.",
        reason: "A pod runs on one node. The scheduler does not move running pods, so that GPUs that are free on \
several nodes stay idle until pods end on the same node.",
        remedy: "End or move a pod on the node that has the most free GPUs, or distribute the work over several \
pods. The strategy `MostAllocated` of the scheduler, and topology-aware scheduling of Kueue, pack small pods \
together.",
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
    kind: Node
    metadata: {name: gpu-2, labels: {nvidia.com/gpu.present: "true"}}
    status:
      capacity: {cpu: "64", pods: "110", nvidia.com/gpu: "8"}
      allocatable: {cpu: "64", pods: "110", nvidia.com/gpu: "8"}
      conditions: [{type: Ready, status: "True"}]
  - apiVersion: v1
    kind: Pod
    metadata: {name: other-1, namespace: ml}
    spec:
      nodeName: gpu-1
      containers:
        - {name: main, image: "registry.example.com/train:1", resources: {limits: {nvidia.com/gpu: "6"}}}
    status:
      phase: Running
  - apiVersion: v1
    kind: Pod
    metadata: {name: other-2, namespace: ml}
    spec:
      nodeName: gpu-2
      containers:
        - {name: main, image: "registry.example.com/train:1", resources: {limits: {nvidia.com/gpu: "6"}}}
    status:
      phase: Running
  - apiVersion: v1
    kind: Pod
    metadata: {name: train-0, namespace: ml}
    spec:
      containers:
        - {name: main, image: "registry.example.com/train:1", resources: {limits: {nvidia.com/gpu: "4"}}}
    status:
      phase: Pending
      conditions:
        - type: PodScheduled
          status: "False"
          reason: Unschedulable
          message: "0/2 nodes are available: 2 Insufficient nvidia.com/gpu."
"#,
        correction: Correction::Replace(
            r#"limits: {nvidia.com/gpu: "4"}"#,
            r#"limits: {nvidia.com/gpu: "2"}"#,
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
        let Verdict::Fragmented {
            resource,
            free,
            largest,
            nodes,
        } = &pending.obstacles.verdict
        else {
            continue;
        };
        if may_wait(ctx, pending) {
            continue;
        }
        let requested = pending.obstacles.demand.units(resource);
        let message = format!(
            "the pod requests {requested} `{resource}`, and {free} are free on {}, but not more than {largest} on one \
             node",
            pluralize(nodes.len(), "node")
        );
        let object = ObjectRef::of_kind("Pod", &pending.pod.metadata);
        findings.push(
            report_pod(ctx, &CHECK, pending, message)
                .field(object, &request_path(resource), requested.to_string())
                .help("end or move pods on one of the nodes, or request fewer GPUs in each of several pods"),
        );
    }
}

#[cfg(test)]
mod tests {
    use crate::doctor::testing::codes;

    fn cluster(used: [u32; 2], requested: u32, time: &str) -> String {
        let nodes = [(1, used[0]), (2, used[1])].map(|(number, used)| {
            format!(
                r#"{{"kind": "Node", "apiVersion": "v1", "metadata": {{"name": "gpu-{number}"}},
                    "status": {{"capacity": {{"nvidia.com/gpu": "8"}},
                      "allocatable": {{"pods": "9", "nvidia.com/gpu": "8"}},
                      "conditions": [
                        {{"type": "Ready", "status": "True", "lastHeartbeatTime": "2026-11-28T12:00:00Z"}}]}}}},
                  {{"kind": "Pod", "apiVersion": "v1", "metadata": {{"name": "other-{number}"}},
                    "spec": {{"nodeName": "gpu-{number}",
                      "containers": [{{"resources": {{"limits": {{"nvidia.com/gpu": "{used}"}}}}}}]}},
                    "status": {{"phase": "Running"}}}}"#
            )
        });
        format!(
            r#"{{"kind": "List", "apiVersion": "v1", "items": [{},
              {{"kind": "Pod", "apiVersion": "v1",
                "metadata": {{"name": "train-0", "creationTimestamp": "2026-11-28T{time}Z"}},
                "spec": {{"containers": [{{"resources": {{"limits": {{"nvidia.com/gpu": {requested}}}}}}}]}},
                "status": {{"phase": "Pending"}}}}]}}"#,
            nodes.join(",")
        )
    }

    #[test]
    fn each_pod_has_one_reason() {
        for (used, requested, time, expected) in [
            ([6, 6], 4, "11:00:00", &["GPUC7507"][..]),
            ([6, 6], 4, "11:55:00", &[]),
            ([6, 6], 2, "11:00:00", &[]),
            ([6, 6], 5, "11:00:00", &["GPUC7505"]),
            ([8, 8], 1, "11:00:00", &["GPUC7505"]),
            ([4, 8], 4, "11:00:00", &[]),
            ([0, 0], 9, "11:00:00", &["GPUC7502"]),
        ] {
            let (found, text) = codes(&cluster(used, requested, time));
            assert_eq!(found, expected, "{used:?} {requested} {time}: {text}");
        }
    }
}
