//! The pod that configures the container runtime of a node for GPUs fails.

use gpuc_syntax::diag::{Code, Correction, Severity};

use super::stack::{failure_command, failure_of, has_name, is_active, pod_ref};
use crate::doctor::check::{Check, Logs};
use crate::doctor::context::Context;
use crate::doctor::finding::{Finding, Layer};
use crate::state::Kind;

pub(super) static CHECK: Check = Check {
    code: Code {
        id: "GPUC7211",
        name: "container-toolkit-not-running",
        severity: Severity::Error,
        summary: "the pod of NVIDIA's container toolkit fails on a node",
        checks: "Whether the pods of NVIDIA's container toolkit, which the GPU Operator installs, run on each ready \
node.",
        reason: "The toolkit adds the handler `nvidia` to the container runtime. Without it, the kubelet creates no \
pod with the RuntimeClass `nvidia`: neither the device plugin nor the exporter nor the validator starts.",
        remedy: "Read the log of the container before its last restart. The toolkit must find the configuration of \
the container runtime: K3s, RKE2 and MicroK8s use their own paths, which `toolkit.env` of the GPU Operator's chart \
sets.",
        bad: r#"--- # objects.yaml
apiVersion: v1
kind: List
items:
  - apiVersion: v1
    kind: Node
    metadata: {name: gpu-1, labels: {nvidia.com/gpu.present: "true"}}
    status:
      capacity: {cpu: "64", nvidia.com/gpu: "8"}
      allocatable: {cpu: "64", nvidia.com/gpu: "8"}
      conditions: [{type: Ready, status: "True"}]
  - apiVersion: v1
    kind: Pod
    metadata: {name: nvidia-container-toolkit-daemonset-x, namespace: gpu-operator}
    spec:
      nodeName: gpu-1
      containers: [{name: nvidia-container-toolkit-ctr, image: "nvcr.io/nvidia/k8s/container-toolkit:v1.19.0"}]
    status:
      phase: Running
      conditions: [{type: Ready, status: "False"}]
      containerStatuses:
        - name: nvidia-container-toolkit-ctr
          ready: false
          restartCount: 12
          state: {waiting: {reason: CrashLoopBackOff, message: "back-off 5m0s restarting failed container"}}
"#,
        correction: Correction::Replace(
            r#"conditions: [{type: Ready, status: "False"}]
      containerStatuses:
        - name: nvidia-container-toolkit-ctr
          ready: false
          restartCount: 12
          state: {waiting: {reason: CrashLoopBackOff, message: "back-off 5m0s restarting failed container"}}
"#,
            r#"conditions: [{type: Ready, status: "True"}]
"#,
        ),
    },
    layer: Layer::Toolkit,
    is_symptom: false,
    needs: &[Kind::Node, Kind::Pod],
    needs_logs: Logs::None,
    run,
};

fn run(ctx: &Context<'_>, findings: &mut Vec<Finding>) {
    for node in ctx.nodes.iter().filter(|node| node.node.is_ready()) {
        for pod in ctx.pods_on(node.name()) {
            let is_toolkit = has_name(pod, &["nvidia-container-toolkit-daemonset"]);
            if !is_toolkit || !is_active(pod) || pod.is_ready() {
                continue;
            }
            let Some(failure) = failure_of(pod) else {
                continue;
            };
            let message = format!(
                "the container toolkit does not run on the node: `{}`",
                failure.reason
            );
            findings.push(
                Finding::new(&CHECK.code, node.object(), message)
                    .field(pod_ref(pod), &failure.field, failure.value.clone())
                    // Without a driver, the toolkit cannot run.
                    .depends_on([node.object()])
                    .help("read the log of the container before its last restart, and correct what it names")
                    .command(failure_command(pod, &failure)),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{codes, diagnose_objects};
    use super::CHECK;

    #[test]
    fn pods_that_wait_for_the_driver_are_silent() {
        let (_, objects) = CHECK.code.bad.split_once('\n').unwrap();
        let objects = objects.replace("CrashLoopBackOff", "PodInitializing");
        assert_eq!(codes(&objects).0, [""; 0]);
    }

    /// The sandboxes that the runtime refuses are consequences.
    #[test]
    fn the_toolkit_explains_unknown_handlers() {
        let (_, objects) = CHECK.code.bad.split_once('\n').unwrap();
        let validator = r#"  - apiVersion: v1
    kind: Pod
    metadata: {name: nvidia-dcgm-exporter-x, namespace: gpu-operator}
    spec: {nodeName: gpu-1, containers: [{name: a, image: "a:1"}]}
    status: {phase: Pending}
  - apiVersion: v1
    kind: Event
    metadata: {name: e, namespace: gpu-operator}
    involvedObject: {kind: Pod, namespace: gpu-operator, name: nvidia-dcgm-exporter-x}
    reason: FailedCreatePodSandBox
    message: "Failed to create pod sandbox: no runtime for \"nvidia\" is configured"
"#;
        let (diagnosis, text) = diagnose_objects("", &(objects.to_owned() + validator));
        let [cause] = &diagnosis.causes[..] else {
            panic!("{text}")
        };
        assert_eq!(cause.finding.code.id, "GPUC7211");
        assert_eq!(cause.consequences[0].code.id, "GPUC7205", "{text}");
    }
}
