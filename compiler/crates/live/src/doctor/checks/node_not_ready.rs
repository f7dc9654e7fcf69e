//! A node with GPUs is not ready.

use gpuc_syntax::diag::{Code, Correction, Severity};

use crate::doctor::check::Check;
use crate::doctor::context::Context;
use crate::doctor::finding::{Finding, Layer};
use crate::state::Kind;

pub(super) static CHECK: Check = Check {
    code: Code {
        id: "GPUC7101",
        name: "node-not-ready",
        severity: Severity::Error,
        summary: "a node with GPUs is not ready",
        checks: "Whether the condition `Ready` of each node with GPUs is `True`.",
        reason: "The scheduler places no pods on a node that is not ready, and its pods are evicted after 5 minutes.",
        remedy: "Read the message of the condition. `Unknown` means that the kubelet does not report: the machine is \
stopped, has no network, or has no memory left. `False` names the component that does not work, such as the network \
plugin.",
        bad: r#"--- # objects.yaml
apiVersion: v1
kind: List
items:
  - apiVersion: v1
    kind: Node
    metadata: {name: gpu-1, labels: {nvidia.com/gpu.present: "true"}}
    status:
      capacity: {nvidia.com/gpu: "8"}
      allocatable: {nvidia.com/gpu: "8"}
      conditions:
        - {type: Ready, status: "False", reason: KubeletNotReady, message: "container runtime network not ready"}
"#,
        correction: Correction::Replace(
            r#"status: "False", reason: KubeletNotReady, message: "container runtime network not ready""#,
            r#"status: "True", reason: KubeletReady, message: "kubelet is posting ready status""#,
        ),
    },
    layer: Layer::Node,
    is_symptom: false,
    needs: &[Kind::Node],
    needs_logs: false,
    run,
};

fn run(ctx: &Context<'_>, findings: &mut Vec<Finding>) {
    for node in ctx.gpu_nodes() {
        let Some(ready) = node.node.condition("Ready").filter(|it| !it.is_true()) else {
            continue;
        };
        // A node that is being deleted is gone soon.
        if node.node.metadata.deletion_timestamp.is_some() {
            continue;
        }
        let message = match ready.status.as_str() {
            "Unknown" => "the kubelet does not report: the node is not ready".to_owned(),
            _ => format!("the node is not ready: `{}`", ready.reason),
        };
        let finding = Finding::new(&CHECK.code, node.object(), message)
            .field(
                node.object(),
                "status.conditions[Ready].message",
                &ready.message,
            )
            .help("repair or replace the node; the message names the component that does not work")
            .command(format!("kubectl describe node {}", node.name()));
        findings.push(match ready.last_transition_time {
            Some(since) => finding.field(
                node.object(),
                "status.conditions[Ready].lastTransitionTime",
                since.to_string(),
            ),
            None => finding,
        });
    }
}
