//! Some GPUs of a node are not allocatable.

use gpuc_syntax::diag::{Code, Correction, Severity};

use crate::doctor::check::{Check, Logs};
use crate::doctor::context::{Context, NodeFacts, REGISTER_SECONDS};
use crate::doctor::finding::{Finding, Layer};
use crate::objects::{ObjectRef, Pod};
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
    needs_logs: Logs::None,
    run,
};

/// Whether the device plugin of a node is not running, or started a moment ago. Other checks report one that fails.
fn is_plugin_restarting(ctx: &Context<'_>, node: &NodeFacts<'_>) -> bool {
    let is_settled = |pod: &Pod| {
        let ready = pod.condition("Ready").filter(|it| it.is_true());
        let age = ready.map(|it| ctx.age(it.last_transition_time));
        // Its DaemonSet replaces a pod that is being deleted, whose condition remains until it is gone.
        let deleted = pod.metadata.deletion_timestamp;
        let is_replaced =
            deleted.is_some() && ctx.age(deleted).is_none_or(|age| age < REGISTER_SECONDS);
        !is_replaced && age.is_some_and(|age| age.is_none_or(|age| age > REGISTER_SECONDS))
    };
    let mut pods = node.advertisers.iter();
    let is_known = !ctx.advertisers.is_empty() || !node.advertisers.is_empty();
    is_known && !pods.any(|(pod, _)| is_settled(pod))
}

fn run(ctx: &Context<'_>, findings: &mut Vec<Finding>) {
    for node in ctx.nodes.iter().filter(|node| node.node.is_ready()) {
        for (resource, capacity, allocatable) in node.offered() {
            if allocatable >= capacity {
                continue;
            }
            // While no device plugin is registered, the kubelet keeps the capacity for some minutes.
            if allocatable == 0 && (ctx.is_plugin_new(node) || is_plugin_restarting(ctx, node)) {
                continue;
            }
            let unhealthy = capacity - allocatable;
            let verb = if unhealthy == 1 { "is" } else { "are" };
            let is_lost = allocatable == 0 && !node.advertisers.is_empty();
            let (message, help) = if is_lost {
                (
                    format!(
                        "none of the {capacity} `{resource}` is allocatable, although the device plugin is ready"
                    ),
                    "restart the pod of the device plugin: the kubelet may have restarted without it; then read its \
log",
                )
            } else {
                (
                    format!("{unhealthy} of {capacity} `{resource}` {verb} unhealthy"),
                    "read which GPU failed in the log of the device plugin, then reset the GPU or replace the node",
                )
            };
            let mut finding = Finding::new(&CHECK.code, node.object(), message)
                .field(
                    node.object(),
                    &format!("status.allocatable[\"{resource}\"]"),
                    allocatable.to_string(),
                )
                .input(node.pool_span())
                .help(help);
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
            let problems = node.reported_gpus(
                |gpu| gpu.problem.is_some(),
                |gpu| {
                    let problem = gpu.problem.as_deref().unwrap_or_default();
                    format!("{}: {problem}", gpu.uuid)
                },
            );
            for (path, value) in problems {
                finding = finding.field(node.object(), &path, value);
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

#[cfg(test)]
mod tests {
    use super::super::super::testing::codes;
    use super::CHECK;

    #[test]
    fn the_gpu_that_gpuc_runtime_reports_is_evidence() {
        let (_, objects) = CHECK.code.bad.split_once('\n').unwrap();
        let report = r#"{driver: "1", cuda: "12.8", gpus: [{index: 0, uuid: GPU-a}, {index: 3, uuid: GPU-d, problem: Xid 79}]}"#;
        let report: serde_json::Value = serde_saphyr::from_str(report).unwrap();
        let annotation = serde_json::to_string(&report).unwrap().replace('"', "\\\"");
        let labels = "labels: {nvidia.com/gpu.present: \"true\"}";
        let annotated = format!("{labels}, annotations: {{gpuc.dev/gpus: \"{annotation}\"}}");
        let (found, text) = codes(&objects.replace(labels, &annotated));
        assert_eq!(found, [CHECK.code.id], "{text}");
        let line = "Node gpu-1#metadata.annotations[\"gpuc.dev/gpus\"].gpus[3] = GPU-d: Xid 79";
        assert!(text.contains(line), "{text}");
        assert!(!text.contains("GPU-a"), "{text}");
        let broken = format!("{labels}, annotations: {{gpuc.dev/gpus: \"{{\"}}");
        let (found, text) = codes(&objects.replace(labels, &broken));
        assert_eq!(found, [CHECK.code.id], "{text}");
    }

    fn check(allocatable: &str, since: &str) -> (Vec<&'static str>, String) {
        check_with(allocatable, since, "")
    }

    fn check_with(allocatable: &str, since: &str, metadata: &str) -> (Vec<&'static str>, String) {
        codes(&format!(
            r#"apiVersion: v1
kind: List
items:
  - apiVersion: v1
    kind: Node
    metadata: {{name: gpu-1, labels: {{nvidia.com/gpu.present: "true"}}}}
    status:
      capacity: {{nvidia.com/gpu: "8"}}
      allocatable: {{nvidia.com/gpu: "{allocatable}"}}
      conditions: [{{type: Ready, status: "True", lastHeartbeatTime: "2026-11-28T12:10:00Z"}}]
  - apiVersion: v1
    kind: Pod
    metadata: {{name: plugin, namespace: kube-system{metadata}}}
    spec: {{nodeName: gpu-1, containers: [{{name: plugin, image: k8s-device-plugin}}]}}
    status: {{phase: Running, conditions: [{{type: Ready, status: "True", lastTransitionTime: "{since}"}}]}}
"#
        ))
    }

    #[test]
    fn device_plugins_of_the_operating_system_register_soon_after_the_kubelet() {
        let (_, objects) = CHECK.code.bad.split_once('\n').unwrap();
        let ready = r#"{type: Ready, status: "True"}"#;
        for (since, expected) in [("11:59:30", 0), ("11:50:00", 1)] {
            let restarted = format!(
                r#"{{type: Ready, status: "True", lastTransitionTime: "2026-11-28T{since}Z",
                  lastHeartbeatTime: "2026-11-28T12:00:00Z"}}"#
            );
            let (codes, text) = codes(
                &objects
                    .replace(ready, &restarted)
                    .replace(r#": "7""#, r#": "0""#),
            );
            assert_eq!(codes.len(), expected, "{text}");
        }
    }

    #[test]
    fn a_device_plugin_that_is_replaced_registers_soon() {
        for (deleted, expected) in [("12:09:50", 0), ("12:10:30", 0), ("12:00:00", 1)] {
            let (_, text) = check("0", "2026-11-28T11:00:00Z");
            assert!(
                text.contains("although the device plugin is ready"),
                "{text}"
            );
            let (codes, text) = check_with(
                "0",
                "2026-11-28T11:00:00Z",
                &format!(r#", deletionTimestamp: "2026-11-28T{deleted}Z""#),
            );
            assert_eq!(codes.len(), expected, "{text}");
        }
    }

    #[test]
    fn a_device_plugin_that_restarts_registers_soon() {
        let (codes, text) = check("0", "2026-11-28T12:09:30Z");
        assert!(codes.is_empty(), "{text}");
        let (codes, text) = check("0", "2026-11-28T12:00:00Z");
        assert_eq!(codes, [CHECK.code.id], "{text}");
        assert!(
            text.contains("restart the pod of the device plugin"),
            "{text}"
        );
        let (codes, text) = check("7", "2026-11-28T12:09:30Z");
        assert_eq!(codes, [CHECK.code.id], "{text}");
    }
}
