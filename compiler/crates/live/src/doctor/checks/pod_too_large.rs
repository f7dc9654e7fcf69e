//! A pending pod requests more than any node can have.

use gpuc_syntax::diag::{Code, Correction, Severity};

use super::pods::{amount_text, report_pod, request_path};
use crate::doctor::check::{Check, Logs};
use crate::doctor::context::Context;
use crate::doctor::finding::{Finding, Layer};
use crate::doctor::verdict::{Verdict, stuck_pods};
use crate::objects::ObjectRef;
use crate::state::Kind;

pub(super) static CHECK: Check = Check {
    code: Code {
        id: "GPUC7502",
        name: "pod-too-large",
        severity: Severity::Error,
        summary: "a pending pod requests more than any node can have",
        checks: "Whether some node that a pending pod may use has as much of each resource as the pod requests, \
even if the node is empty.",
        reason: "A pod runs on one node. It stays pending indefinitely if no node is large enough, and a cluster \
autoscaler does not create larger nodes than its node groups have.",
        remedy: "Request less, or distribute the work over several pods. The requests of all containers count \
together: two containers that request one GPU each need two GPUs.",
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
      containers:
        - {name: main, image: "registry.example.com/train:1", resources: {limits: {nvidia.com/gpu: "16"}}}
    status:
      phase: Pending
      conditions:
        - type: PodScheduled
          status: "False"
          reason: Unschedulable
          message: "0/1 nodes are available: 1 Insufficient nvidia.com/gpu."
"#,
        correction: Correction::Replace(
            r#"limits: {nvidia.com/gpu: "16"}"#,
            r#"limits: {nvidia.com/gpu: "8"}"#,
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
        let Verdict::TooLarge { resource, largest } = &pending.obstacles.verdict else {
            continue;
        };
        let requests = &pending.obstacles.demand.requests;
        let requested = requests.get(resource).copied().unwrap_or_default();
        let requested = amount_text(resource, requested);
        let largest = amount_text(resource, *largest);
        let message = format!(
            "the pod requests {requested} `{resource}`, but no node that it may use has more than {largest}"
        );
        let object = ObjectRef::of_kind("Pod", &pending.pod.metadata);
        let help = format!(
            "request at most {largest} `{resource}` in all containers of a pod together, or add larger nodes"
        );
        findings.push(
            report_pod(ctx, &CHECK, pending, message)
                .field(object, &request_path(resource), requested)
                .help(help),
        );
    }
}

#[cfg(test)]
mod tests {
    use crate::doctor::testing::codes;

    fn cluster(containers: &str) -> String {
        format!(
            r#"{{"kind": "List", "apiVersion": "v1", "items": [
              {{"kind": "Node", "apiVersion": "v1", "metadata": {{"name": "gpu-1"}},
                "status": {{"capacity": {{"nvidia.com/gpu": "2"}},
                  "allocatable": {{"pods": "9", "cpu": "4", "memory": "8Gi", "nvidia.com/gpu": "2"}},
                  "conditions": [{{"type": "Ready", "status": "True"}}]}}}},
              {{"kind": "Pod", "apiVersion": "v1", "metadata": {{"name": "train-0", "namespace": "ml"}},
                "spec": {{"containers": [{containers}]}}, "status": {{"phase": "Pending"}}}}
            ]}}"#
        )
    }

    #[test]
    fn requests_of_containers_are_added() {
        let one = r#"{"resources": {"limits": {"nvidia.com/gpu": "2"}}}"#;
        assert!(codes(&cluster(one)).0.is_empty());
        let (found, text) = codes(&cluster(&format!("{one}, {one}")));
        assert_eq!(found, ["GPUC7502"], "{text}");
        assert!(text.contains("requests 4 `nvidia.com/gpu`"), "{text}");
    }

    #[test]
    fn other_resources_can_be_too_large() {
        for (amount, expected) in [
            (
                r#""cpu": "4500m""#,
                "4500m `cpu`, but no node that it may use has more than 4",
            ),
            (r#""memory": "9Gi""#, "9216Mi `memory`"),
        ] {
            let container = format!(
                r#"{{"resources": {{"requests": {{{amount}}}, "limits": {{"nvidia.com/gpu": "1"}}}}}}"#
            );
            let (found, text) = codes(&cluster(&container));
            assert_eq!(found, ["GPUC7502"], "{text}");
            assert!(text.contains(expected), "{text}");
        }
    }

    #[test]
    fn unhealthy_gpus_explain_the_pod() {
        let one = r#"{"resources": {"limits": {"nvidia.com/gpu": "2"}}}"#;
        let objects = cluster(one).replace(
            r#""8Gi", "nvidia.com/gpu": "2""#,
            r#""8Gi", "nvidia.com/gpu": "1""#,
        );
        let (found, text) = codes(&objects);
        assert_eq!(found, ["GPUC7401"], "{text}");
        assert!(text.contains("Pod ml/train-0 waits for it"), "{text}");
    }
}
