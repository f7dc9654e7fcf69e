//! A node lacks the labels of its GPUs although a component that writes them runs.

use gpuc_syntax::diag::{Code, Correction, Severity};

use super::stack::{is_active, logs_command, pod_ref};
use crate::doctor::check::{Check, Logs};
use crate::doctor::context::{Context, NodeFacts};
use crate::doctor::finding::{Finding, Layer};
use crate::objects::Pod;
use crate::state::Kind;

pub(super) static CHECK: Check = Check {
    code: Code {
        id: "GPUC7309",
        name: "labels-missing",
        severity: Severity::Warning,
        summary: "a node lacks the labels of its GPUs",
        checks: "Whether nodes with GPUs have the label `nvidia.com/gpu.product` if GPU Feature Discovery runs on \
them, and a label for NVIDIA's PCI devices if Node Feature Discovery runs on them and the GPU Operator is installed.",
        reason: "Pods that select a GPU model by its label stay pending. Without the PCI label, the GPU Operator \
installs nothing on the node.",
        remedy: "GPU Feature Discovery writes a file, which the worker of Node Feature Discovery on the same node \
reads, or an object `NodeFeature`. The master of Node Feature Discovery turns both into labels. Read the logs of all \
three.",
        bad: r#"--- # objects.yaml
apiVersion: v1
kind: List
items:
  - apiVersion: v1
    kind: Node
    metadata: {name: gpu-1, labels: {node.kubernetes.io/instance-type: p5.48xlarge}}
    status:
      capacity: {nvidia.com/gpu: "8"}
      allocatable: {nvidia.com/gpu: "8"}
      conditions: [{type: Ready, status: "True", lastHeartbeatTime: "2026-11-28T12:30:00Z"}]
  - apiVersion: v1
    kind: Pod
    metadata:
      name: gpu-feature-discovery-x
      namespace: kube-system
      creationTimestamp: "2026-11-28T12:00:00Z"
    spec:
      nodeName: gpu-1
      containers: [{name: gpu-feature-discovery, image: "nvcr.io/nvidia/k8s-device-plugin:v0.20.0"}]
    status: {phase: Running, conditions: [{type: Ready, status: "True"}]}
"#,
        correction: Correction::Replace(
            "labels: {node.kubernetes.io/instance-type: p5.48xlarge}",
            "labels: {node.kubernetes.io/instance-type: p5.48xlarge, nvidia.com/gpu.product: NVIDIA-H100-80GB-HBM3}",
        ),
    },
    layer: Layer::Labels,
    is_symptom: true,
    needs: &[Kind::Node, Kind::Pod],
    needs_logs: Logs::None,
    run,
};

/// The seconds in which labels appear after a pod was created.
const START_SECONDS: u64 = 600;

/// The label with the model of the GPUs.
const PRODUCT_LABEL: &str = "nvidia.com/gpu.product";

fn run(ctx: &Context<'_>, findings: &mut Vec<Finding>) {
    let has_operator = !ctx.state.objects(Kind::ClusterPolicy).is_empty();
    for node in ctx.gpu_nodes().filter(|node| node.node.is_ready()) {
        let find = |runs: fn(&Pod) -> bool| {
            let mut pods = ctx.pods_on(node.name()).iter();
            pods.find(|pod| is_active(pod) && runs(pod)).copied()
        };
        let (worker, discovery) = (find(is_worker), find(is_discovery));
        let offers_any = node.offered().any(|(_, capacity, _)| capacity > 0);
        if let Some(pod) = worker.filter(|pod| is_settled(ctx, pod))
            && has_operator
            && !has_pci_label(node)
            && node.expected.as_ref().is_some_and(|it| it.gpus > 0)
        {
            let message =
                "the node has no label of Node Feature Discovery for NVIDIA's PCI devices";
            findings.push(
                Finding::new(&CHECK.code, node.object(), message)
                    .field(node.object(), &format!("metadata.labels[\"{PCI_LABEL}\"]"), "absent")
                    .field(pod_ref(pod), "status.phase", &pod.status.phase)
                    .help("read the log of the worker of Node Feature Discovery on the node, and that of its master")
                    .command(logs_command(pod)),
            );
        } else if let Some(pod) = discovery.filter(|pod| is_settled(ctx, pod))
            && offers_any
            && node.node.metadata.label(PRODUCT_LABEL).is_none()
        {
            let help = match worker {
                Some(_) => {
                    "read the logs of GPU Feature Discovery and of Node Feature Discovery's worker on the node"
                }
                None => {
                    "read the log of GPU Feature Discovery, and check that Node Feature Discovery runs: its worker \
is not on the node"
                }
            };
            let message = format!(
                "the node has no label `{PRODUCT_LABEL}` although GPU Feature Discovery runs on it"
            );
            findings.push(
                Finding::new(&CHECK.code, node.object(), message)
                    .field(
                        node.object(),
                        &format!("metadata.labels[\"{PRODUCT_LABEL}\"]"),
                        "absent",
                    )
                    .field(pod_ref(pod), "status.phase", &pod.status.phase)
                    .help(help)
                    .command(logs_command(pod)),
            );
        }
    }
}

/// Whether a pod is ready, and old enough to have done its work.
fn is_settled(ctx: &Context<'_>, pod: &Pod) -> bool {
    let age = ctx.age(pod.metadata.creation_timestamp);
    pod.is_ready() && age.is_some_and(|age| age > START_SECONDS)
}

/// A label that the GPU Operator searches for.
///
/// Source: NVIDIA/gpu-operator `controllers/state_manager.go` (`gpuNodeLabels`), 2026-11-28.
const PCI_LABEL: &str = "feature.node.kubernetes.io/pci-10de.present";

/// Whether a node has a label for a PCI device of NVIDIA, in any of the forms that can be configured.
fn has_pci_label(node: &NodeFacts<'_>) -> bool {
    let mut keys = node.node.metadata.labels.keys();
    keys.any(|key| key.starts_with("feature.node.kubernetes.io/pci-") && key.contains("10de"))
        || node.node.metadata.label("nvidia.com/gpu.present") == Some("true")
}

/// Whether a pod runs GPU Feature Discovery, which has the image of the device plugin.
///
/// Source: NVIDIA/k8s-device-plugin `deployments/helm/nvidia-device-plugin/templates/daemonset-gfd.yml`;
/// NVIDIA/gpu-operator `assets/gpu-feature-discovery/0500_daemonset.yaml`, 2026-11-28.
fn is_discovery(pod: &Pod) -> bool {
    let mut containers = pod.spec.containers.iter();
    containers.any(|it| {
        matches!(
            it.name.as_str(),
            "gpu-feature-discovery" | "gpu-feature-discovery-ctr" | "gfd"
        )
    })
}

/// Whether a pod runs the worker of Node Feature Discovery.
///
/// Source: kubernetes-sigs/node-feature-discovery `deployment/helm/node-feature-discovery/templates/worker.yaml`,
/// 2026-11-28.
fn is_worker(pod: &Pod) -> bool {
    let mut containers = pod.spec.containers.iter();
    containers.any(|it| it.image.contains("node-feature-discovery"))
        && pod.metadata.name.contains("worker")
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::codes;
    use super::CHECK;

    fn check(edit: impl Fn(&str) -> String) -> (Vec<&'static str>, String) {
        let (_, objects) = CHECK.code.bad.split_once('\n').unwrap();
        codes(&edit(objects))
    }

    #[test]
    fn labels_of_young_pods_are_not_missing() {
        let (codes, text) = check(|it| it.replace("T12:30:00Z", "T12:05:00Z"));
        assert!(codes.is_empty(), "{text}");
    }

    #[test]
    fn without_gpu_feature_discovery_no_label_is_expected() {
        let (codes, text) = check(|it| it.replace("name: gpu-feature-discovery,", "name: other,"));
        assert!(!codes.contains(&CHECK.code.id), "{text}");
    }

    #[test]
    fn the_operator_needs_the_label_of_pci_devices() {
        let worker = r#"  - apiVersion: v1
    kind: Pod
    metadata: {name: nfd-worker-x, namespace: gpu, creationTimestamp: "2026-11-28T12:00:00Z"}
    spec: {nodeName: gpu-1, containers: [{name: worker, image: "k8s.io/nfd/node-feature-discovery:v0.18.0"}]}
    status: {phase: Running, conditions: [{type: Ready, status: "True"}]}
  - {apiVersion: nvidia.com/v1, kind: ClusterPolicy, metadata: {name: policy}}
"#;
        let (codes, text) = check(|it| format!("{it}{worker}"));
        assert_eq!(codes, [CHECK.code.id]);
        assert!(text.contains("PCI devices"), "{text}");
    }
}
