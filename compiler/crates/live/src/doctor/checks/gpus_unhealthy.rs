//! Some GPUs of a node are not allocatable.

use gpuc_syntax::diag::{Code, Correction, Severity};

use crate::doctor::check::Check;
use crate::doctor::context::Context;
use crate::doctor::finding::{Finding, Layer};
use crate::objects::ObjectRef;
use crate::state::Kind;

pub(super) static CHECK: Check = Check {
    code: Code {
        id: "GPUC7401",
        name: "gpus-unhealthy",
        severity: Severity::Error,
        summary: "some GPUs of a node are unhealthy",
        checks: "Whether the allocatable amount of each resource of NVIDIA equals its capacity on ready nodes. The \
kubelet subtracts devices that the device plugin reports as unhealthy.",
        reason: "Pods get only the healthy GPUs. NVIDIA's device plugin marks a GPU as unhealthy after some XID errors \
and never as healthy again, so that the GPU is lost until the plugin restarts.",
        remedy: "Read the log of the device plugin for the GPU and the XID. Restart the application, reset the GPU or \
replace the node, as the XID requires. gpuc-runtime marks GPUs as healthy again when they work; its events are \
`GPUUnhealthy` and `GPURecovered`.",
        bad: r#"--- # objects.yaml
apiVersion: v1
kind: List
items:
  - apiVersion: v1
    kind: Node
    metadata: {name: gpu-1, labels: {nvidia.com/gpu.present: "true"}}
    status:
      capacity: {nvidia.com/gpu: "8"}
      allocatable: {nvidia.com/gpu: "7"}
      conditions: [{type: Ready, status: "True"}]
"#,
        correction: Correction::Replace(
            r#"allocatable: {nvidia.com/gpu: "7"}"#,
            r#"allocatable: {nvidia.com/gpu: "8"}"#,
        ),
    },
    layer: Layer::Health,
    is_symptom: true,
    needs: &[Kind::Node],
    needs_logs: false,
    run,
};

fn run(ctx: &Context<'_>, findings: &mut Vec<Finding>) {
    for node in ctx.nodes.iter().filter(|node| node.node.is_ready()) {
        for (resource, capacity, allocatable) in node.offered() {
            if allocatable >= capacity {
                continue;
            }
            let unhealthy = capacity - allocatable;
            let verb = if unhealthy == 1 { "is" } else { "are" };
            let message = format!("{unhealthy} of {capacity} `{resource}` {verb} unhealthy");
            let mut finding = Finding::new(&CHECK.code, node.object(), message)
                .field(
                    node.object(),
                    &format!("status.allocatable[\"{resource}\"]"),
                    allocatable.to_string(),
                )
                .input(node.pool_span())
                .help("read which GPU failed in the log of the device plugin, then reset the GPU or replace the node");
            let pods: Vec<ObjectRef> = (node.advertisers.iter())
                .map(|(pod, _)| ObjectRef::of_kind("Pod", &pod.metadata))
                .collect();
            if let Some(condition) = node.node.condition("GPUsHealthy") {
                finding = finding.field(
                    node.object(),
                    "status.conditions[GPUsHealthy].message",
                    &condition.message,
                );
            }
            if let Some((pod, _)) = node.advertisers.first() {
                finding = finding.command(format!(
                    "kubectl logs --namespace {} {}",
                    pod.metadata.namespace, pod.metadata.name
                ));
            }
            findings.push(finding.depends_on(pods));
        }
    }
}
