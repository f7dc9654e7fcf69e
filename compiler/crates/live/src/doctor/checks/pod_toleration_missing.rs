//! A pending pod does not tolerate the taints of the nodes with GPUs.

use gpuc_syntax::diag::{Code, Correction, Severity};

use super::messages::{taint_text, toleration_text};
use super::pods::report_pod;
use crate::doctor::check::{Check, Logs};
use crate::doctor::context::Context;
use crate::doctor::finding::{Finding, Layer};
use crate::doctor::verdict::{Verdict, stuck_pods};
use crate::state::Kind;

pub(super) static CHECK: Check = Check {
    code: Code {
        id: "GPUC7503",
        name: "pod-toleration-missing",
        severity: Severity::Error,
        summary: "a pending pod does not tolerate the taints of the nodes with GPUs",
        checks: "Whether each pending pod that requests GPUs tolerates the taints of the nodes that it fits on \
otherwise. gpuc computes this, because schedulers since Kubernetes 1.34 report `untolerated taint(s)` without the \
taint.",
        reason: "The pod stays pending although GPUs are free, and the scheduler's message does not name the taint.",
        remedy: "Add the toleration to the pod's template. If the value of the taint differs from the toleration's, \
use `operator: Exists`.",
        bad: r#"--- # objects.yaml
apiVersion: v1
kind: List
items:
  - apiVersion: v1
    kind: Node
    metadata: {name: gpu-1, labels: {nvidia.com/gpu.present: "true"}}
    spec: {taints: [{key: team, value: research, effect: NoSchedule}]}
    status:
      capacity: {pods: "110", nvidia.com/gpu: "8"}
      allocatable: {pods: "110", nvidia.com/gpu: "8"}
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
          message: "0/1 nodes are available: 1 node(s) had untolerated taint(s)."
"#,
        correction: Correction::Replace(
            "spec: {taints: [{key: team, value: research, effect: NoSchedule}]}",
            "spec: {taints: [{key: team, value: research, effect: PreferNoSchedule}]}",
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
        let Verdict::Tainted { taints, nodes } = &pending.obstacles.verdict else {
            continue;
        };
        let Some(node) = nodes.first() else {
            continue;
        };
        let names: Vec<_> = taints
            .iter()
            .map(|it| format!("`{}`", taint_text(it)))
            .collect();
        let tolerations: Vec<_> = taints.iter().map(toleration_text).collect();
        let word = if names.len() == 1 { "taint" } else { "taints" };
        let message = format!(
            "the pod fits on {} of {} nodes with GPUs, but does not tolerate their {word} {}",
            nodes.len(),
            pending.obstacles.nodes.len(),
            names.join(" and "),
        );
        let mut facts = ctx.nodes.iter();
        let pool = facts
            .find(|it| it.name() == node.name)
            .and_then(|it| it.pool);
        let span = pool.and_then(|pool| {
            let mut own = pool.taints.iter();
            own.find(|it| taints.iter().any(|taint| taint.key == it.key))
                .map(|it| it.span)
        });
        findings.push(
            report_pod(ctx, &CHECK, pending, message)
                .field(node.clone(), "spec.taints", names.join(", "))
                .input(span)
                .help(format!(
                    "add to the pod's template: `tolerations: [{}]`",
                    tolerations.join(", ")
                ))
                .command(format!(
                    "gpuc doctor --pod {}/{}",
                    pending.pod.metadata.namespace, pending.pod.metadata.name
                )),
        );
    }
}

#[cfg(test)]
mod tests {
    use crate::doctor::testing::{codes, pending_pod};

    fn cluster(taints: &str, used: &str) -> String {
        format!(
            r#"{{"kind": "List", "apiVersion": "v1", "items": [
              {{"kind": "Node", "apiVersion": "v1", "metadata": {{"name": "gpu-1"}},
                "spec": {{"taints": [{taints}]}},
                "status": {{"capacity": {{"nvidia.com/gpu": "2"}},
                  "allocatable": {{"pods": "9", "nvidia.com/gpu": "2"}},
                  "conditions": [{{"type": "Ready", "status": "True"}}]}}}},
              {{"kind": "Pod", "apiVersion": "v1", "metadata": {{"name": "other", "namespace": "ml"}},
                "spec": {{"nodeName": "gpu-1",
                  "containers": [{{"resources": {{"limits": {{"nvidia.com/gpu": "{used}"}}}}}}]}},
                "status": {{"phase": "Running"}}}},
              {}
            ]}}"#,
            pending_pod("nvidia.com/gpu", "11:00:00")
        )
    }

    #[test]
    fn a_taint_counts_although_the_gpus_are_in_use() {
        let taint = r#"{"key": "team", "value": "a", "effect": "NoExecute"}"#;
        for used in ["1", "2"] {
            let (found, text) = codes(&cluster(taint, used));
            assert_eq!(found, ["GPUC7503"], "{text}");
        }
    }

    #[test]
    fn soft_taints_are_ignored() {
        let taint = r#"{"key": "team", "effect": "PreferNoSchedule"}, {}, {"key": null}"#;
        let (found, text) = codes(&cluster(taint, "1"));
        // Taints without an effect are strange, but repel.
        assert_eq!(found, ["GPUC7503"], "{text}");
        let taint = r#"{"key": "team", "effect": "PreferNoSchedule"}"#;
        assert!(codes(&cluster(taint, "1")).0.is_empty());
        assert_eq!(codes(&cluster(taint, "2")).0, ["GPUC7505"]);
    }
}
