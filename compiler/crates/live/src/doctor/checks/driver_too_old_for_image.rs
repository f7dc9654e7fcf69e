//! The driver of a node is too old for the image of a container.

use std::sync::LazyLock;

use gpuc_syntax::diag::{Code, Correction, Severity};
use regex::Regex;

use super::stack::{find_line, is_active, logs_command, pod_ref};
use crate::doctor::check::{Check, Logs};
use crate::doctor::context::Context;
use crate::doctor::finding::{Evidence, Finding, Layer};
use crate::objects::{ObjectRef, Pod};
use crate::state::Kind;

pub(super) static CHECK: Check = Check {
    code: Code {
        id: "GPUC7207",
        name: "driver-too-old-for-image",
        severity: Severity::Error,
        summary: "the driver of a node is too old for the image of a container",
        checks: "Whether containers fail because their image needs a newer CUDA version than the driver supports. Some \
images declare the version, so that the container does not start; others fail when they use the GPU.",
        reason: "The pod holds its GPUs, and restarts again and again.",
        remedy: "Update the driver of the nodes, for example with `stack.driverVersion`, or use an image for an older \
CUDA version. Drivers support all earlier CUDA versions.",
        bad: r#"--- # objects.yaml
apiVersion: v1
kind: List
items:
  - apiVersion: v1
    kind: Node
    metadata:
      name: gpu-1
      labels:
        nvidia.com/gpu.present: "true"
        nvidia.com/cuda.driver-version.full: 535.183.06
        nvidia.com/cuda.runtime-version.full: "12.2"
    status:
      capacity: {nvidia.com/gpu: "8"}
      allocatable: {nvidia.com/gpu: "8"}
      conditions: [{type: Ready, status: "True"}]
  - apiVersion: v1
    kind: Pod
    metadata: {name: train-0, namespace: ml}
    spec:
      nodeName: gpu-1
      containers: [{name: main, image: "nvcr.io/nvidia/pytorch:26.06-py3", resources: {limits: {nvidia.com/gpu: "1"}}}]
    status:
      phase: Running
      containerStatuses:
        - name: main
          state: {waiting: {reason: CrashLoopBackOff, message: "back-off 5m0s restarting failed container"}}
          lastState:
            terminated:
              reason: StartError
              exitCode: 128
              message: "nvidia-container-cli: requirement error: unsatisfied condition: cuda>=13.0"
"#,
        correction: Correction::Replace(
            r#"        - name: main
          state: {waiting: {reason: CrashLoopBackOff, message: "back-off 5m0s restarting failed container"}}
          lastState:
            terminated:
              reason: StartError
              exitCode: 128
              message: "nvidia-container-cli: requirement error: unsatisfied condition: cuda>=13.0"
"#,
            "        - {name: main, ready: true, restartCount: 0}\n",
        ),
    },
    layer: Layer::Start,
    is_symptom: false,
    needs: &[Kind::Pod],
    needs_logs: Logs::Workloads,
    run,
};

/// The condition that a container toolkit reports as unsatisfied: `cuda>=12.4`, or `cuda>=12.4 (cuda=12.2)`.
///
/// Source: NVIDIA/libnvidia-container `src/cli/dsl.c`; NVIDIA/nvidia-container-toolkit
/// `internal/requirements/requirements.go`, 2026-11-28.
static CONDITION: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"unsatisfied condition: cuda\s*>=\s*([0-9]+(?:\.[0-9]+)*)").ok());

/// Texts of programs that find an old driver.
///
/// Source: NVIDIA's CUDA runtime (`cudaGetErrorString`); pytorch/pytorch `torch/csrc/cuda/Module.cpp`, 2026-11-28.
const LOG_TEXTS: &[&str] = &[
    "CUDA driver version is insufficient for CUDA runtime version",
    "The NVIDIA driver on your system is too old",
];

/// The label with the version of the driver.
const VERSION_LABEL: &str = "nvidia.com/cuda.driver-version.full";

fn run(ctx: &Context<'_>, findings: &mut Vec<Finding>) {
    for pod in &ctx.state.pods.items {
        if pod.spec.node_name.is_empty() || !is_active(pod) || pod.is_ready() {
            continue;
        }
        let Some((required, evidence)) = find_requirement(ctx, pod) else {
            continue;
        };
        let message = match &required {
            Some(version) => format!(
                "the image requires a driver for CUDA {version} or later, but the node has an older one"
            ),
            None => "the image requires a newer driver than the node has".to_owned(),
        };
        let mut finding = Finding::new(&CHECK.code, pod_ref(pod), message).evidence(evidence);
        let node = ctx.node(&pod.spec.node_name);
        let label = node.and_then(|it| it.node.metadata.label(VERSION_LABEL));
        if let Some(version) = label {
            let object = ObjectRef::node(&pod.spec.node_name);
            let path = format!("metadata.labels[\"{VERSION_LABEL}\"]");
            finding = finding.field(object, &path, version);
        }
        let pool = node.and_then(|it| it.pool);
        let version = pool.and_then(|pool| pool.driver_version.as_ref());
        findings.push(
            finding
                .input(version.map(|it| it.span))
                .help("update the driver of the node, or use an image for an older CUDA version")
                .command(logs_command(pod)),
        );
    }
}

/// The CUDA version that an image requires, if it is known, and the evidence.
fn find_requirement(ctx: &Context<'_>, pod: &Pod) -> Option<(Option<String>, Evidence)> {
    let version = |line: &str| {
        let captures = CONDITION.as_ref()?.captures(line)?;
        Some(captures.get(1)?.as_str().to_owned())
    };
    if let Some(evidence) = find_line(ctx, pod, |line| version(line).is_some()) {
        let (Evidence::Field { value: line, .. } | Evidence::Log { line, .. }) = &evidence else {
            return None;
        };
        return Some((version(line), evidence));
    }
    let is_known = |line: &str| LOG_TEXTS.iter().any(|text| line.contains(text));
    Some((None, find_line(ctx, pod, is_known)?))
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::codes;
    use super::{CHECK, LOG_TEXTS};

    fn check(from: &str, to: &str, log: &str) -> (Vec<&'static str>, String) {
        let (_, objects) = CHECK.code.bad.split_once('\n').unwrap();
        codes(&format!("{}{log}", objects.replace(from, to)))
    }

    const MESSAGE: &str =
        "nvidia-container-cli: requirement error: unsatisfied condition: cuda>=13.0";

    #[test]
    fn both_forms_of_the_toolkit_name_the_version() {
        let (_, text) = check("", "", "");
        assert!(text.contains("CUDA 13.0 or later"), "{text}");
        let (codes, text) = check(MESSAGE, "unsatisfied condition: cuda>=12.4 (cuda=12.2)", "");
        assert_eq!(codes, [CHECK.code.id]);
        assert!(text.contains("CUDA 12.4 or later"), "{text}");
    }

    #[test]
    fn logs_of_programs_count_while_the_pod_fails() {
        for line in LOG_TEXTS {
            let log = format!("--- # logs/ml/train-0/main.previous.log\nRuntimeError: {line}\n");
            let (codes, text) = check(MESSAGE, "exit", &log);
            assert_eq!(codes, [CHECK.code.id], "{text}");
        }
        let log = "--- # logs/ml/train-0/main.previous.log\nRuntimeError: out of memory\n";
        let (codes, text) = check(MESSAGE, "exit", log);
        assert_eq!(codes, ["GPUC7910"], "{text}");
    }

    #[test]
    fn requirements_of_other_kinds_are_not_about_the_driver() {
        let (codes, text) = check("cuda>=13.0", "arch>=9.0", "");
        assert_eq!(codes, ["GPUC7910"], "{text}");
    }
}
