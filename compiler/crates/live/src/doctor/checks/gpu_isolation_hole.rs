//! A pod without GPUs makes GPUs visible to itself.

use gpuc_syntax::diag::{Code, Correction, Severity};

use super::stack::{is_active, pod_ref};
use crate::doctor::check::{Check, Logs};
use crate::doctor::context::Context;
use crate::doctor::demand::PodDemand;
use crate::doctor::finding::{Finding, Layer};
use crate::objects::Pod;
use crate::state::Kind;

pub(super) static CHECK: Check = Check {
    code: Code {
        id: "GPUC7806",
        name: "gpu-isolation-hole",
        severity: Severity::Warning,
        summary: "a pod without GPUs makes GPUs visible to itself",
        checks: "Whether pods that request no GPU set `NVIDIA_VISIBLE_DEVICES` on nodes with GPUs. Pods of DaemonSets \
and of system namespaces are not considered.",
        reason: "If NVIDIA's runtime is the default of the node, the variable makes the GPUs visible, and the pod uses \
GPUs that the scheduler gave to others. Their programs run out of memory.",
        remedy: "Request GPUs instead of the variable. To prevent it, let NVIDIA's runtime ignore the variable in \
containers without privileges: `accept-nvidia-visible-devices-envvar-when-unprivileged = false`, with a device plugin \
that uses CDI or volume mounts.",
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
    metadata: {name: notebook-0, namespace: ml}
    spec:
      nodeName: gpu-1
      containers:
        - name: main
          image: "registry.example.com/notebook:1"
          env: [{name: NVIDIA_VISIBLE_DEVICES, value: all}]
    status: {phase: Running, conditions: [{type: Ready, status: "True"}]}
"#,
        correction: Correction::Replace("value: all", "value: void"),
    },
    layer: Layer::Run,
    is_symptom: false,
    needs: &[Kind::Node, Kind::Pod],
    needs_logs: Logs::None,
    run,
};

/// The variable that NVIDIA's runtime reads.
const VARIABLE: &str = "NVIDIA_VISIBLE_DEVICES";

/// Values that make no GPU visible.
///
/// Source: NVIDIA/nvidia-container-toolkit `internal/config/image/cuda_image.go`, 2026-11-28.
const NO_DEVICES: &[&str] = &["", "void", "none"];

/// Parts of the names of namespaces with components of the system.
const SYSTEM_NAMESPACES: &[&str] = &["kube-system", "gpu", "nvidia", "monitoring", "dcgm"];

fn run(ctx: &Context<'_>, findings: &mut Vec<Finding>) {
    for node in ctx.gpu_nodes() {
        for pod in ctx.pods_on(node.name()) {
            let is_running = is_active(pod) && pod.status.phase == "Running";
            if !is_running || is_system(pod) || PodDemand::new(pod).gpus().next().is_some() {
                continue;
            }
            if !pod.spec.resource_claims.is_empty() {
                continue;
            }
            let Some((container, value)) = find_variable(pod) else {
                continue;
            };
            let message = format!("the pod requests no GPU, but sets `{VARIABLE}` to `{value}`");
            findings.push(
                Finding::new(&CHECK.code, pod_ref(pod), message)
                    .field(
                        pod_ref(pod),
                        &format!("spec.containers[{container}].env[{VARIABLE}]"),
                        value,
                    )
                    .help(format!(
                        "request `nvidia.com/gpu` in the container, and remove `{VARIABLE}`"
                    ))
                    .command(format!(
                        "kubectl get pod --namespace {} {} -o yaml",
                        pod.metadata.namespace, pod.metadata.name
                    )),
            );
        }
    }
}

/// Whether a pod is a component of the system: it may see all GPUs.
fn is_system(pod: &Pod) -> bool {
    let owner = pod.metadata.controller();
    let namespace = pod.metadata.namespace.as_str();
    owner.is_some_and(|it| matches!(it.kind.as_str(), "DaemonSet" | "Node" | "ClusterPolicy"))
        || SYSTEM_NAMESPACES
            .iter()
            .any(|part| namespace.contains(part))
}

/// The container that makes GPUs visible, and the value of its variable.
fn find_variable(pod: &Pod) -> Option<(&str, &str)> {
    pod.spec.containers.iter().find_map(|container| {
        let variable = container.env.iter().find(|it| it.name == VARIABLE)?;
        let value = variable.value.as_deref()?;
        (!NO_DEVICES.contains(&value)).then_some((container.name.as_str(), value))
    })
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
    fn components_of_the_system_may_see_all_gpus() {
        for (from, to) in [
            ("namespace: ml", "namespace: gpu-operator"),
            (
                "namespace: ml}",
                "namespace: ml, ownerReferences: [{kind: DaemonSet, name: exporter, controller: true}]}",
            ),
        ] {
            let (codes, text) = check(from, to);
            assert!(codes.is_empty(), "{text}");
        }
    }

    #[test]
    fn pods_with_gpus_and_pods_that_ended_are_not_reported() {
        for (from, to) in [
            (
                "env:",
                r#"resources: {limits: {nvidia.com/gpu: "1"}}, env:"#,
            ),
            ("phase: Running", "phase: Succeeded"),
            ("value: all", "other: all"),
        ] {
            let to = to.replace(", env:", "\n          env:");
            let (codes, text) = check(from, &to);
            assert!(codes.is_empty(), "{text}");
        }
    }
}
