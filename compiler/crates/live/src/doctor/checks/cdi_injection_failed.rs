//! The container runtime cannot inject GPUs into a container.

use gpuc_syntax::diag::{Code, Correction, Severity};

use super::stack::{Signature, describe_command, find_status_line, is_active, pod_ref};
use crate::doctor::check::{Check, Logs};
use crate::doctor::context::Context;
use crate::doctor::finding::{Evidence, Finding, Layer};
use crate::objects::{ObjectRef, Pod};
use crate::state::Kind;

pub(super) static CHECK: Check = Check {
    code: Code {
        id: "GPUC7206",
        name: "cdi-injection-failed",
        severity: Severity::Error,
        summary: "the container runtime cannot inject GPUs into a container",
        checks: "Whether containers fail to start because the container runtime does not find the devices that the \
device plugin names, in the specifications of the Container Device Interface (CDI).",
        reason: "The pod is scheduled and holds its GPUs, but its container never starts.",
        remedy: "The specifications are in `/var/run/cdi` and `/etc/cdi` on the node. Restart the component that \
writes them: the container toolkit, the device plugin or the DRA driver. With CDI in the container runtime, pods need \
no `runtimeClassName`. If the driver is in a container, set the driver root to `/run/nvidia/driver`.",
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
      conditions: [{type: Ready, status: "True"}]
  - apiVersion: v1
    kind: Pod
    metadata: {name: train-0, namespace: ml}
    spec:
      nodeName: gpu-1
      containers: [{name: main, image: train, resources: {limits: {nvidia.com/gpu: "1"}}}]
    status:
      phase: Pending
      containerStatuses:
        - name: main
          state:
            waiting:
              reason: CreateContainerError
              message: "failed to inject CDI devices: unresolvable CDI devices nvidia.com/gpu=GPU-1234"
"#,
        correction: Correction::Replace(
            r#"            waiting:
              reason: CreateContainerError
              message: "failed to inject CDI devices: unresolvable CDI devices nvidia.com/gpu=GPU-1234"
"#,
            "            waiting: {reason: ContainerCreating}\n",
        ),
    },
    layer: Layer::Toolkit,
    is_symptom: false,
    needs: &[Kind::Pod],
    needs_logs: Logs::None,
    run,
};

/// Parts of messages of the container runtime.
///
/// Source: cncf-tags/container-device-interface `pkg/cdi/cache.go`; containerd
/// `internal/cri/server/container_create.go`; NVIDIA/nvidia-container-toolkit issues 1239 and 1895;
/// NVIDIA/gpu-operator issue 1741, 2026-11-28.
const SIGNATURES: &[Signature] = &[
    Signature {
        parts: &["unresolvable CDI devices"],
        message: "the container runtime finds no specification for the devices of the container",
        help: "restart the component that writes CDI specifications on the node: the container toolkit, the device \
plugin or the DRA driver",
    },
    Signature {
        parts: &["failed to generate spec: lstat /dev/nvidiactl: no such file or directory"],
        message: "no CDI specification is generated: the device files of the driver are not in `/dev`",
        help: "set the driver root of the container toolkit and of the device plugin to `/run/nvidia/driver`",
    },
    Signature {
        parts: &["CDI device injection failed"],
        message: "the container runtime cannot inject the devices of the container",
        help: "enable CDI in the configuration of the container runtime, and restart it",
    },
    Signature {
        parts: &["failed to inject CDI devices"],
        message: "the container runtime cannot inject the devices of the container",
        help: "enable CDI in the configuration of the container runtime, and restart it",
    },
];

fn run(ctx: &Context<'_>, findings: &mut Vec<Finding>) {
    for pod in &ctx.state.pods.items {
        // Containers that run again have recovered.
        if !is_active(pod) || pod.is_ready() || pod.spec.node_name.is_empty() {
            continue;
        }
        let found = SIGNATURES
            .iter()
            .find_map(|signature| Some((signature, find_evidence(ctx, pod, signature)?)));
        if let Some((signature, evidence)) = found {
            findings.push(
                Finding::new(&CHECK.code, pod_ref(pod), signature.message)
                    .evidence(evidence)
                    .depends_on([ObjectRef::node(&pod.spec.node_name)])
                    .help(signature.help)
                    .command(describe_command(pod)),
            );
        }
    }
}

/// The message of a container or of an event with a signature.
fn find_evidence(ctx: &Context<'_>, pod: &Pod, signature: &Signature) -> Option<Evidence> {
    let matches = |line: &str| signature.matches(line);
    find_status_line(pod, matches).or_else(|| {
        let is_pending = pod.status.phase == "Pending";
        let mut events = ctx.events(&pod_ref(pod)).iter();
        let event = events.find(|event| is_pending && matches(&event.message))?;
        Some(Evidence::event(event))
    })
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::codes;
    use super::{CHECK, SIGNATURES};

    fn check(from: &str, to: &str) -> (Vec<&'static str>, String) {
        let (_, objects) = CHECK.code.bad.split_once('\n').unwrap();
        codes(&objects.replace(from, to))
    }

    #[test]
    fn every_signature_is_found() {
        let message =
            "failed to inject CDI devices: unresolvable CDI devices nvidia.com/gpu=GPU-1234";
        for signature in SIGNATURES {
            let (codes, text) = check(message, signature.parts[0]);
            assert_eq!(codes, [CHECK.code.id]);
            assert!(text.contains(signature.message), "{text}");
        }
    }

    #[test]
    fn ended_pods_and_other_errors_are_not_about_injection() {
        let (codes, text) = check("phase: Pending", "phase: Failed");
        assert!(codes.is_empty(), "{text}");
        let (codes, text) = check("unresolvable CDI devices", "x");
        assert_eq!(codes, [CHECK.code.id], "{text}");
        let (codes, text) = check("CDI", "other");
        assert_eq!(codes, ["GPUC7910"], "{text}");
    }

    #[test]
    fn the_failure_of_a_device_plugin_is_explained() {
        let plugin = r#"{name: main, image: "nvcr.io/nvidia/k8s-device-plugin:v0.20.0"}"#;
        let container = r#"{name: main, image: train, resources: {limits: {nvidia.com/gpu: "1"}}}"#;
        let (codes, text) = check(container, plugin);
        assert_eq!(codes, [CHECK.code.id], "{text}");
    }
}
