//! The only nodes that a pending pod fits on are cordoned.

use std::sync::Arc;

use gpuc_syntax::diag::{Code, Correction, Severity};

use super::pods::{may_wait, report_pod};
use crate::doctor::check::{Check, Logs};
use crate::doctor::context::Context;
use crate::doctor::finding::{Finding, Layer};
use crate::doctor::verdict::{Verdict, stuck_pods};
use crate::state::Kind;

pub(super) static CHECK: Check = Check {
    code: Code {
        id: "GPUC7508",
        name: "nodes-cordoned",
        severity: Severity::Warning,
        summary: "the only nodes that a pending pod fits on are cordoned",
        checks: "Whether some node that is not cordoned fits each pod that requests GPUs and is pending for more \
than 10 minutes.",
        reason: "The scheduler places no pods on a cordoned node. Nodes often stay cordoned after maintenance or \
after the upgrade of a driver that did not finish.",
        remedy: "Find out who cordoned the nodes and whether the maintenance is over, then run `kubectl uncordon`.",
        bad: r#"--- # objects.yaml
apiVersion: v1
kind: List
items:
  - apiVersion: v1
    kind: Node
    metadata: {name: gpu-1, labels: {nvidia.com/gpu.present: "true"}}
    spec: {unschedulable: true, taints: [{key: node.kubernetes.io/unschedulable, effect: NoSchedule}]}
    status:
      capacity: {cpu: "64", pods: "110", nvidia.com/gpu: "8"}
      allocatable: {cpu: "64", pods: "110", nvidia.com/gpu: "8"}
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
          message: "0/1 nodes are available: 1 node(s) were unschedulable."
"#,
        correction: Correction::Replace(
            "spec: {unschedulable: true, taints: [{key: node.kubernetes.io/unschedulable, effect: NoSchedule}]}",
            "spec: {unschedulable: false}",
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
        let Verdict::Cordoned { nodes } = &pending.obstacles.verdict else {
            continue;
        };
        let Some(node) = nodes.first() else {
            continue;
        };
        if may_wait(ctx, pending) {
            continue;
        }
        let (count, verb) = match nodes.len() {
            1 => ("the only node".to_owned(), "is"),
            count => (format!("all {count} nodes"), "are"),
        };
        let message = format!("{count} with GPUs that the pod fits on {verb} cordoned");
        let mut finding = report_pod(ctx, &CHECK, pending, message)
            .depends_on(Arc::clone(nodes))
            .field(node.clone(), "spec.unschedulable", "true")
            .help("when the maintenance of the nodes is over, run `kubectl uncordon` for each of them")
            .command(format!("kubectl describe node {}", node.name));
        let labels = ctx.state.node(&node.name).map(|it| &it.metadata.labels);
        // The GPU Operator cordons nodes while it replaces the driver.
        let upgrade = labels.and_then(|it| it.get(UPGRADE_STATE));
        if let Some(state) = upgrade.filter(|it| !matches!(it.as_str(), "" | "upgrade-done")) {
            finding = finding.field(
                node.clone(),
                &format!("metadata.labels[\"{UPGRADE_STATE}\"]"),
                state,
            );
        }
        findings.push(finding);
    }
}

/// The label with the state of a node's driver upgrade.
///
/// Source: NVIDIA/gpu-operator, driver upgrades, 2026-11-28.
const UPGRADE_STATE: &str = "nvidia.com/gpu-driver-upgrade-state";

#[cfg(test)]
mod tests {
    use crate::doctor::testing::{codes, pending_pod};

    fn node(name: &str, cordoned: bool, taint: &str) -> String {
        format!(
            r#"{{"kind": "Node", "apiVersion": "v1",
              "metadata": {{"name": "{name}", "labels": {{"nvidia.com/gpu-driver-upgrade-state": "drain-required"}}}},
              "spec": {{"unschedulable": {cordoned}, "taints": [{taint}]}},
              "status": {{"capacity": {{"nvidia.com/gpu": "2"}},
                "allocatable": {{"pods": "9", "nvidia.com/gpu": "2"}},
                "conditions": [
                  {{"type": "Ready", "status": "True", "lastHeartbeatTime": "2026-11-28T12:00:00Z"}}]}}}}"#
        )
    }

    fn list(items: &[String]) -> String {
        let items = items.join(",");
        format!(r#"{{"kind": "List", "apiVersion": "v1", "items": [{items}]}}"#)
    }

    #[test]
    fn maintenance_may_take_ten_minutes() {
        for (time, expected) in [("11:00:00", 1), ("11:55:00", 0)] {
            let pod = pending_pod("nvidia.com/gpu", time);
            let (found, text) = codes(&list(&[node("a", true, ""), pod]));
            assert_eq!(found.len(), expected, "{text}");
            assert_eq!(text.contains("= drain-required"), expected > 0, "{text}");
        }
    }

    #[test]
    fn other_nodes_count_first() {
        let pod = pending_pod("nvidia.com/gpu", "11:00:00");
        let tainted = node("b", false, r#"{"key": "team", "effect": "NoSchedule"}"#);
        let (found, text) = codes(&list(&[node("a", true, ""), tainted, pod.clone()]));
        assert_eq!(found, ["GPUC7508"], "{text}");
        let (found, text) = codes(&list(&[node("a", true, ""), node("b", false, ""), pod]));
        assert!(found.is_empty(), "{text}");
    }
}
