//! The container runtime of a node does not know the handler of a RuntimeClass.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use gpuc_syntax::diag::{Code, Correction, Severity};
use regex::Regex;

use super::stack::{is_active, pod_ref};
use crate::doctor::check::{Check, Logs};
use crate::doctor::context::Context;
use crate::doctor::finding::{Evidence, Finding, Layer};
use crate::objects::Pod;
use crate::state::Kind;

pub(super) static CHECK: Check = Check {
    code: Code {
        id: "GPUC7205",
        name: "runtime-handler-missing",
        severity: Severity::Error,
        summary: "the container runtime of a node does not know the handler of a RuntimeClass",
        checks: "Whether the container runtime of each node knows the handlers of the RuntimeClasses that its pods \
use.",
        reason: "The kubelet cannot create the sandbox of the pods, and retries indefinitely.",
        remedy: "NVIDIA's container toolkit adds the handler to the configuration of the container runtime and \
restarts it. Check that its pod is ready on the node, and that it edits the file which the runtime reads: K3s and \
RKE2 use their own paths. On AKS, the handler is `nvidia-container-runtime`: set `operator.runtimeClass` of the GPU \
Operator.",
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
    spec: {nodeName: gpu-1, runtimeClassName: nvidia, containers: [{name: main, image: train}]}
    status: {phase: Pending}
  - apiVersion: v1
    kind: Event
    metadata: {name: train-0.1, namespace: ml}
    involvedObject: {kind: Pod, namespace: ml, name: train-0}
    reason: FailedCreatePodSandBox
    message: >-
      Failed to create pod sandbox: rpc error: code = Unknown desc = failed to get sandbox runtime: no runtime for
      "nvidia" is configured
    type: Warning
    count: 9
    lastTimestamp: "2026-11-28T12:00:00Z"
"#,
        correction: Correction::Replace("status: {phase: Pending}", "status: {phase: Succeeded}"),
    },
    layer: Layer::Toolkit,
    is_symptom: true,
    needs: &[Kind::Pod, Kind::Event],
    needs_logs: Logs::None,
    run,
};

/// The message of containerd for an unknown handler.
///
/// Source: containerd `internal/cri/config/config.go`; NVIDIA/gpu-operator issues 413 and 730, 2026-11-28.
static MESSAGE: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r#"no runtime for \\?"([^"\\]+)\\?" is configured"#).ok());

/// The seconds in which NVIDIA's container toolkit is installed on a new node, with the driver.
const START_SECONDS: u64 = 1200;

fn run(ctx: &Context<'_>, findings: &mut Vec<Finding>) {
    for node in ctx.nodes.iter().filter(|node| node.node.is_ready()) {
        let mut known = BTreeSet::new();
        for pod in ctx.pods_on(node.name()) {
            // The toolkit configures the container runtime of new nodes.
            if !is_active(pod) || !is_waiting(pod) || ctx.is_new(node, START_SECONDS) {
                continue;
            }
            let Some(event) = ctx.event(&pod_ref(pod), "FailedCreatePodSandBox") else {
                continue;
            };
            let captures = MESSAGE.as_ref().and_then(|it| it.captures(&event.message));
            let Some(handler) = captures.as_ref().and_then(|it| it.get(1)) else {
                continue;
            };
            let handler = handler.as_str();
            if !known.insert(handler) {
                continue;
            }
            let runtime = &node.node.status.node_info.container_runtime_version;
            let mut finding = Finding::new(
                &CHECK.code,
                node.object(),
                format!("the container runtime does not know the handler `{handler}`"),
            )
            .evidence(Evidence::event(event));
            if !runtime.is_empty() {
                let path = "status.nodeInfo.containerRuntimeVersion";
                finding = finding.field(node.object(), path, runtime);
            }
            findings.push(
                finding
                    .help(
                        "run NVIDIA's container toolkit on the node: it adds the handler to the configuration of the \
container runtime",
                    )
                    .command(format!(
                        "kubectl get pods --all-namespaces --field-selector spec.nodeName={}",
                        node.name()
                    )),
            );
        }
    }
}

/// Whether no container of a pod has been created.
fn is_waiting(pod: &Pod) -> bool {
    let mut statuses = pod.container_statuses();
    pod.status.phase == "Pending"
        && statuses.all(|it| it.state.terminated.is_none() && !it.ready && it.restart_count == 0)
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::codes;
    use super::CHECK;

    #[test]
    fn pods_that_started_after_the_event_are_fine() {
        let (_, objects) = CHECK.code.bad.split_once('\n').unwrap();
        let running = r#"status: {phase: Running, conditions: [{type: Ready, status: "True"}]}"#;
        let (codes, text) = codes(&objects.replace("status: {phase: Pending}", running));
        assert!(codes.is_empty(), "{text}");
    }

    #[test]
    fn messages_with_escaped_quotes_are_read() {
        let (_, objects) = CHECK.code.bad.split_once('\n').unwrap();
        let (codes, text) = codes(&objects.replace(r#""nvidia" is"#, r#"\"nvidia\" is"#));
        assert_eq!(codes, [CHECK.code.id]);
        assert!(text.contains("the handler `nvidia`"), "{text}");
    }

    #[test]
    fn other_failures_of_sandboxes_are_not_about_handlers() {
        let (_, objects) = CHECK.code.bad.split_once('\n').unwrap();
        let (codes, text) = codes(&objects.replace("no runtime for", "no network for"));
        assert!(codes.is_empty(), "{text}");
    }
}
