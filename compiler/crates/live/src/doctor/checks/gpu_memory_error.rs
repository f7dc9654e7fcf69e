//! The memory of a GPU has uncorrectable errors.

use gpuc_syntax::diag::{Code, Correction, Severity};

use super::stack::{find_line, is_active, logs_command, pod_ref, uses_gpus};
use super::xid::{find_xid, xid_help};
use crate::doctor::check::{Check, Logs};
use crate::doctor::context::{Context, NodeFacts};
use crate::doctor::finding::{Evidence, Finding, Layer};
use crate::objects::{Event, Pod};
use crate::state::Kind;

pub(super) static CHECK: Check = Check {
    code: Code {
        id: "GPUC7405",
        name: "gpu-memory-error",
        severity: Severity::Error,
        summary: "the memory of a GPU has uncorrectable errors",
        checks: "Whether events of the last hour about nodes name an Xid of the GPU's memory (48, 63, 64, 92, 94, 95), \
and whether logs of running pods contain CUDA's error `uncorrectable ECC error encountered`.",
        reason: "The memory of a GPU detects errors that it cannot correct. The driver ends the application, and \
replaces the row of the memory after a reset (row remapping). Until then, and if no row is left, other applications fail \
in the same way.",
        remedy: "After Xid 94, the error is contained: restart the application, and reset the GPU in the next \
maintenance. After Xid 48, 63 or 95, drain the node and reset the GPU. After Xid 64, or if \
`DCGM_FI_DEV_ROW_REMAP_FAILURE` is 1, replace the machine.",
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
    kind: Event
    metadata: {name: gpu-1.1, namespace: default}
    involvedObject: {kind: Node, name: gpu-1}
    type: Warning
    reason: NvidiaXID94Warning
    message: detected Xid 94 on GPU-1
"#,
        correction: Correction::Replace(
            "reason: NvidiaXID94Warning
    message: detected Xid 94 on GPU-1",
            "reason: NvidiaXID43Warning
    message: detected Xid 43 on GPU-1",
        ),
    },
    layer: Layer::Health,
    is_symptom: true,
    needs: &[Kind::Node, Kind::Pod, Kind::Event],
    needs_logs: Logs::Workloads,
    run,
};

/// The Xids of the GPU's memory.
///
/// Source: NVIDIA's catalog of Xids, <https://docs.nvidia.com/deploy/xid-errors/analyzing-xid-catalog.html>,
/// 2026-11-28.
const XIDS: &[u32] = &[48, 63, 64, 92, 94, 95];

/// Words before an Xid in reasons and messages of events about nodes.
///
/// Source: aws/eks-node-monitoring-agent `pkg/reasons` (`NvidiaXID%dWarning`, `NvidiaXID%dError`);
/// GoogleCloudPlatform/container-engine-accelerators `pkg/gpu/nvidia/health_check` (`Caught XID error, XID=%d`); gpuc
/// `runtime/src/health/xid.rs` (`Xid 48 (…)`), 2026-11-28.
const WORDS: &[&str] = &["NvidiaXID", "XID=", "Xid "];

/// CUDA's text for the error.
///
/// Source: NVIDIA's CUDA runtime API, `cudaErrorECCUncorrectable`, 2026-11-28.
const CUDA: &str = "uncorrectable ECC error encountered";

fn run(ctx: &Context<'_>, findings: &mut Vec<Finding>) {
    for node in ctx.gpu_nodes().filter(|node| node.node.is_ready()) {
        if let Some((event, xid)) = latest_event(ctx, node) {
            let message = format!("the memory of a GPU of the node has errors: Xid {xid}");
            findings.push(
                Finding::new(&CHECK.code, node.object(), message)
                    .evidence(Evidence::event(event))
                    .input(node.pool_span())
                    .help(xid_help(xid))
                    .command(format!("kubectl describe node {}", node.name())),
            );
        }
        let pods = ctx.pods_on(node.name()).iter();
        let pods = pods.filter(|pod| is_active(pod) && uses_gpus(pod));
        findings.extend(pods.filter_map(|pod| check_log(ctx, node, pod)));
    }
}

/// The latest event of the last hour about errors of the memory, and the Xid.
fn latest_event<'s>(ctx: &Context<'s>, node: &NodeFacts<'_>) -> Option<(&'s Event, u32)> {
    let object = node.object();
    let mut events = ctx.events(&object).iter().copied();
    events.find_map(|event| {
        let xid = find_xid(&event.reason, WORDS).or_else(|| find_xid(&event.message, WORDS))?;
        let is_meant = XIDS.contains(&xid) && ctx.is_recent(event.last_seen());
        is_meant.then_some((event, xid))
    })
}

/// A pod whose log contains the error of CUDA.
fn check_log(ctx: &Context<'_>, node: &NodeFacts<'_>, pod: &Pod) -> Option<Finding> {
    let evidence = find_line(ctx, pod, |line| line.contains(CUDA))?;
    let message = "a GPU that the pod uses has an uncorrectable error of its memory";
    Some(
        Finding::new(&CHECK.code, pod_ref(pod), message)
            .evidence(evidence)
            .depends_on([node.object()])
            .help("restart the pod; if the error comes again, drain the node and reset the GPU")
            .command(logs_command(pod)),
    )
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::codes;
    use super::CHECK;

    fn check(from: &str, to: &str) -> (Vec<&'static str>, String) {
        let (_, objects) = CHECK.code.bad.split_once('\n').unwrap();
        codes(&objects.replace(from, to))
    }

    #[test]
    fn events_of_other_clouds_and_times_are_judged() {
        let eks = "reason: NvidiaXID94Warning\n    message: detected Xid 94 on GPU-1";
        for (event, expected) in [
            (
                "reason: XIDError\n    message: Caught XID error, XID=95",
                "Xid 95",
            ),
            (
                "reason: GPUUnhealthy\n    message: 'GPU-1: Xid 64 (no spare row)'",
                "Xid 64",
            ),
        ] {
            let (found, text) = check(eks, event);
            assert_eq!(found, [CHECK.code.id], "{text}");
            assert!(text.contains(expected), "{text}");
        }
        for (time, expected) in [("11:50", 1), ("10:50", 0)] {
            let last = format!("{eks}\n    lastTimestamp: \"2026-11-28T{time}:00Z\"");
            let now = r#"  - {apiVersion: v1, kind: Event, metadata: {name: e}, lastTimestamp: "2026-11-28T12:00:00Z"}"#;
            let (_, objects) = CHECK.code.bad.split_once('\n').unwrap();
            let (found, text) = codes(&format!("{}{now}", objects.replace(eks, &last)));
            assert_eq!(found.len(), expected, "{text}");
        }
    }

    #[test]
    fn logs_of_running_pods_count_and_the_event_explains_them() {
        let pod = |ready: &str| {
            format!(
                r#"  - apiVersion: v1
    kind: Pod
    metadata: {{name: train-0, namespace: ml}}
    spec:
      nodeName: gpu-1
      containers: [{{name: main, resources: {{limits: {{nvidia.com/gpu: "8"}}}}}}]
    status: {{phase: {ready}}}
--- # logs/ml/train-0/main.log
RuntimeError: CUDA error: uncorrectable ECC error encountered
"#
            )
        };
        let (_, objects) = CHECK.code.bad.split_once('\n').unwrap();
        let other = objects.replace("94", "43");
        let (found, text) = codes(&format!("{other}{}", pod("Running")));
        assert_eq!(found, [CHECK.code.id], "{text}");
        let (found, text) = codes(&format!("{other}{}", pod("Succeeded")));
        assert!(found.is_empty(), "{text}");
        let (found, text) = codes(&format!("{objects}{}", pod("Running")));
        assert_eq!(found, [CHECK.code.id, CHECK.code.id], "{text}");
    }
}
