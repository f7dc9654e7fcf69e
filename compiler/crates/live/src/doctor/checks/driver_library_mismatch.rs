//! The driver's libraries do not match its loaded kernel module.

use gpuc_syntax::diag::{Code, Correction, Severity};

use super::stack::{find_line, is_active, uses_gpus};
use crate::doctor::check::{Check, Logs};
use crate::doctor::context::Context;
use crate::doctor::finding::{Finding, Layer};
use crate::state::Kind;

pub(super) static CHECK: Check = Check {
    code: Code {
        id: "GPUC7208",
        name: "driver-library-mismatch",
        severity: Severity::Error,
        summary: "the driver's libraries do not match its loaded kernel module",
        checks: "Whether containers on a node fail because the driver's libraries and its kernel module have different \
versions.",
        reason: "A package manager updated the driver on the node while the old kernel module stays loaded. Running \
programs go on, but no new container with GPUs starts.",
        remedy: "Drain and reboot the node. Exclude the driver's packages from unattended updates.",
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
              reason: RunContainerError
              message: "nvidia-container-cli: initialization error: nvml error: driver/library version mismatch"
"#,
        correction: Correction::Replace(
            r#"            waiting:
              reason: RunContainerError
              message: "nvidia-container-cli: initialization error: nvml error: driver/library version mismatch"
"#,
            "            waiting: {reason: ContainerCreating}\n",
        ),
    },
    layer: Layer::Driver,
    is_symptom: false,
    needs: &[Kind::Node, Kind::Pod],
    needs_logs: Logs::Stack,
    run,
};

/// The text of NVML for this error, in lower case.
///
/// Source: NVIDIA's NVML (`nvmlErrorString`); NVIDIA/k8s-device-plugin issue 1431, 2026-11-28.
const TEXT: &str = "driver/library version mismatch";

fn run(ctx: &Context<'_>, findings: &mut Vec<Finding>) {
    for node in ctx.nodes.iter().filter(|node| node.node.is_ready()) {
        let pods = ctx.pods_on(node.name()).iter();
        let mut failing = pods.filter(|pod| is_active(pod) && !pod.is_ready());
        let has_text = |line: &str| line.to_ascii_lowercase().contains(TEXT);
        let found = failing.find_map(|pod| {
            let evidence = find_line(ctx, pod, has_text)?;
            uses_gpus(pod).then_some(evidence)
        });
        let Some(evidence) = found else {
            continue;
        };
        let message = "the driver's libraries do not match its loaded kernel module";
        findings.push(
            Finding::new(&CHECK.code, node.object(), message)
                .evidence(evidence)
                .input(node.pool.map(|pool| pool.driver.span))
                .help("drain and reboot the node")
                .command(format!(
                    "kubectl get pods --all-namespaces --field-selector spec.nodeName={}",
                    node.name()
                )),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::codes;
    use super::CHECK;

    #[test]
    fn logs_of_failing_pods_count() {
        let (_, objects) = CHECK.code.bad.split_once('\n').unwrap();
        let objects = objects.replace("driver/library version mismatch", "other");
        let log = "--- # logs/ml/train-0/main.log\nFailed to initialize NVML: Driver/library version mismatch\n";
        let (codes, text) = codes(&format!("{objects}{log}"));
        assert_eq!(codes, [CHECK.code.id], "{text}");
        let (codes, text) = super::super::super::testing::codes(&objects);
        assert_eq!(codes, ["GPUC7910"], "{text}");
    }

    #[test]
    fn pods_that_ended_before_the_reboot_do_not_count() {
        let (_, objects) = CHECK.code.bad.split_once('\n').unwrap();
        let (codes, text) = codes(&objects.replace("phase: Pending", "phase: Failed"));
        assert!(codes.is_empty(), "{text}");
    }
}
