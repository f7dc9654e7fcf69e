//! `NVSentinel` left a node cordoned after its GPUs recovered.

use gpuc_syntax::diag::{Code, Correction, Severity};

use super::node_condition_reports_fault::find_fault;
use crate::doctor::check::{Check, Logs};
use crate::doctor::context::{Context, NodeFacts};
use crate::doctor::finding::{Finding, Layer};
use crate::state::Kind;

pub(super) static CHECK: Check = Check {
    code: Code {
        id: "GPUC7404",
        name: "cordon-left-behind",
        severity: Severity::Warning,
        summary: "a node stays cordoned by NVSentinel although its GPUs are healthy",
        checks: "Whether nodes that NVSentinel cordoned are schedulable again when none of their conditions reports a \
fault of GPUs for 30 minutes.",
        reason: "The node costs as much as before, and no pod starts on it.",
        remedy: "Check the GPUs of the node, then uncordon it with `kubectl uncordon`.",
        bad: r#"--- # objects.yaml
apiVersion: v1
kind: List
items:
  - apiVersion: v1
    kind: Node
    metadata:
      name: gpu-1
      labels: {nvidia.com/gpu.present: "true", k8saas.nvidia.com/cordon-by: NVSentinel}
    spec: {unschedulable: true}
    status:
      capacity: {nvidia.com/gpu: "8"}
      allocatable: {nvidia.com/gpu: "8"}
      conditions:
        - {type: Ready, status: "True", lastHeartbeatTime: "2026-11-28T12:00:00Z"}
        - type: SysLogsXIDError
          status: "False"
          reason: SysLogsXIDErrorIsHealthy
          lastTransitionTime: "2026-11-28T09:00:00Z"
"#,
        correction: Correction::Replace("{unschedulable: true}", "{unschedulable: false}"),
    },
    layer: Layer::Health,
    is_symptom: true,
    needs: &[Kind::Node],
    needs_logs: Logs::None,
    run,
};

/// The label of the component that cordoned a node.
///
/// Source: NVIDIA/NVSentinel issue 458, 2026-11-28.
const LABEL: &str = "k8saas.nvidia.com/cordon-by";

/// The seconds in which `NVSentinel` makes a node schedulable that has recovered.
const RECOVERY_SECONDS: u64 = 1800;

fn run(ctx: &Context<'_>, findings: &mut Vec<Finding>) {
    for node in ctx.gpu_nodes().filter(|node| node.node.is_ready()) {
        let is_cordoned = node.node.spec.unschedulable
            && node.node.metadata.label(LABEL) == Some("NVSentinel")
            && node.node.metadata.deletion_timestamp.is_none();
        if !is_cordoned || !has_recovered(ctx, node) {
            continue;
        }
        let message = "the node stays cordoned by NVSentinel, but none of its conditions reports a fault of GPUs";
        findings.push(
            Finding::new(&CHECK.code, node.object(), message)
                .field(node.object(), "spec.unschedulable", "true")
                .field(
                    node.object(),
                    &format!("metadata.labels[\"{LABEL}\"]"),
                    "NVSentinel",
                )
                .input(node.pool_span())
                .help("check the GPUs of the node, then run `kubectl uncordon` for it")
                .command(format!("kubectl describe node {}", node.name())),
        );
    }
}

/// Whether the conditions of a node about GPUs have reported no fault for some time. `false` if there are none.
fn has_recovered(ctx: &Context<'_>, node: &NodeFacts<'_>) -> bool {
    let conditions = &node.node.status.conditions;
    let mut healthy = conditions
        .iter()
        .filter(|it| it.reason.ends_with("IsHealthy"))
        .peekable();
    let is_known = healthy.peek().is_some();
    let is_settled = healthy.all(|condition| {
        let age = ctx.age(condition.last_transition_time);
        age.is_some_and(|age| age > RECOVERY_SECONDS)
    });
    is_known && is_settled && conditions.iter().all(|it| find_fault(node, it).is_none())
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::codes;
    use super::CHECK;

    #[test]
    fn nodes_that_recovered_lately_or_have_faults_stay_cordoned() {
        let (_, objects) = CHECK.code.bad.split_once('\n').unwrap();
        for (from, to) in [
            ("T09:00:00Z", "T11:50:00Z"),
            ("NVSentinel}", "admin}"),
            ("lastTransitionTime", "unknownTime"),
            ("SysLogsXIDErrorIsHealthy", "Other"),
        ] {
            let (codes, text) = codes(&objects.replace(from, to));
            assert!(codes.is_empty(), "{text}");
        }
        let fault = objects
            .replace("IsHealthy", "IsNotHealthy")
            .replace(r#"status: "False""#, r#"status: "True""#);
        let (codes, text) = codes(&fault);
        assert_eq!(codes, ["GPUC7402"], "{text}");
    }
}
