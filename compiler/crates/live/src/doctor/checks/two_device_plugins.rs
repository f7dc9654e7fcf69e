//! Two device plugins advertise the GPUs of a node.

use std::collections::BTreeMap;

use gpuc_syntax::diag::{Code, Correction, Severity};

use super::stack::{is_active, pod_ref};
use crate::doctor::advertiser::Advertiser;
use crate::doctor::check::{Check, Logs};
use crate::doctor::context::{Context, NodeFacts};
use crate::doctor::finding::{Finding, Layer};
use crate::objects::Pod;
use crate::state::Kind;

pub(super) static CHECK: Check = Check {
    code: Code {
        id: "GPUC7304",
        name: "two-device-plugins",
        severity: Severity::Error,
        summary: "two device plugins run on a node",
        checks: "Whether the pods of only one DaemonSet advertise the GPUs of each node. Bottlerocket for NVIDIA GPUs \
contains a device plugin, so that no pod must run one there.",
        reason: "Both plugins register the same resource, and the kubelet uses the one that registered last. The \
number of GPUs changes when one of them restarts, and two pods can get the same GPU.",
        remedy: "Keep one device plugin. On GKE, the label `gke-no-default-nvidia-gpu-device-plugin: \"true\"` on the \
nodes of a pool keeps GKE's device plugin away. On Bottlerocket, set `stack.devicePlugin: cloud`.",
        bad: r#"--- # objects.yaml
apiVersion: v1
kind: List
items:
  - apiVersion: v1
    kind: Node
    metadata: {name: gpu-1, labels: {node.kubernetes.io/instance-type: p5.48xlarge}}
    status:
      capacity: {cpu: "192", nvidia.com/gpu: "8"}
      allocatable: {cpu: "192", nvidia.com/gpu: "8"}
      conditions: [{type: Ready, status: "True"}]
  - apiVersion: v1
    kind: Pod
    metadata:
      name: gpuc-runtime-x
      namespace: gpuc-system
      ownerReferences: [{apiVersion: apps/v1, kind: DaemonSet, name: gpuc-runtime, controller: true}]
    spec:
      nodeName: gpu-1
      containers: [{name: runtime, image: "registry.example.com/gpuc-runtime:0.1.0"}]
    status: {phase: Running, conditions: [{type: Ready, status: "True"}]}
  - apiVersion: v1
    kind: Pod
    metadata:
      name: nvidia-device-plugin-x
      namespace: kube-system
      ownerReferences: [{apiVersion: apps/v1, kind: DaemonSet, name: nvidia-device-plugin, controller: true}]
    spec:
      nodeName: gpu-1
      containers: [{name: plugin, image: "nvcr.io/nvidia/k8s-device-plugin:v0.20.0"}]
    status: {phase: Running, conditions: [{type: Ready, status: "True"}]}
"#,
        correction: Correction::Replace(
            r#"status: {phase: Running, conditions: [{type: Ready, status: "True"}]}
  - apiVersion: v1
    kind: Pod
    metadata:
      name: nvidia-device-plugin-x
      namespace: kube-system
      ownerReferences: [{apiVersion: apps/v1, kind: DaemonSet, name: nvidia-device-plugin, controller: true}]
    spec:
      nodeName: gpu-1
      containers: [{name: plugin, image: "nvcr.io/nvidia/k8s-device-plugin:v0.20.0"}]
    status: {phase: Running, conditions: [{type: Ready, status: "True"}]}
"#,
            r#"status: {phase: Running, conditions: [{type: Ready, status: "True"}]}
"#,
        ),
    },
    layer: Layer::Advertiser,
    is_symptom: false,
    needs: &[Kind::Node, Kind::Pod],
    needs_logs: Logs::None,
    run,
};

fn run(ctx: &Context<'_>, findings: &mut Vec<Finding>) {
    for node in &ctx.nodes {
        // A pod per owner: during a rollout, a DaemonSet may have two pods on a node.
        let mut owners: BTreeMap<(&str, &str), (&Pod, Advertiser)> = BTreeMap::new();
        for (pod, advertiser) in &node.advertisers {
            // The DRA driver registers no extended resource with the kubelet.
            if is_active(pod) && pod.is_ready() && *advertiser != Advertiser::Dra {
                let owner = pod.metadata.controller();
                let owner = owner.map_or(pod.metadata.name.as_str(), |it| it.name.as_str());
                owners.insert((&pod.metadata.namespace, owner), (pod, *advertiser));
            }
        }
        let mut owners = owners.into_iter();
        match (owners.next(), owners.next()) {
            (Some(first), Some(second)) => findings.push(report_two(node, first, second)),
            (Some(((namespace, owner), (pod, _))), None) if has_own_plugin(node) => {
                let message = format!(
                    "the device plugin of Bottlerocket and the pod of `{namespace}/{owner}` run on the node"
                );
                let os_image = &node.node.status.node_info.os_image;
                findings.push(
                    Finding::new(&CHECK.code, node.object(), message)
                        .field(node.object(), "status.nodeInfo.osImage", os_image)
                        .field(pod_ref(pod), "spec.nodeName", node.name())
                        .input(node.pool_span())
                        .help(format!(
                            "exclude the nodes with Bottlerocket from the DaemonSet `{namespace}/{owner}`"
                        ))
                        .command(format!(
                            "kubectl get daemonset --namespace {namespace} {owner} -o yaml"
                        )),
                );
            }
            _ => {}
        }
    }
}

/// Whether the operating system of a node contains a device plugin: Bottlerocket's variants for NVIDIA GPUs, such as
/// `Bottlerocket OS 1.50.0 (aws-k8s-1.34-nvidia)`.
///
/// Source: bottlerocket-os/bottlerocket issue 4309, 2026-11-28.
fn has_own_plugin(node: &NodeFacts<'_>) -> bool {
    let os_image = &node.node.status.node_info.os_image;
    os_image.starts_with("Bottlerocket") && os_image.contains("nvidia")
}

/// The namespace and name of an owner, and one of its pods.
type OwnedPod<'s> = ((&'s str, &'s str), (&'s Pod, Advertiser));

fn report_two(node: &NodeFacts<'_>, first: OwnedPod<'_>, second: OwnedPod<'_>) -> Finding {
    let name = |((namespace, owner), (_, advertiser)): &OwnedPod<'_>| {
        format!("{} (`{namespace}/{owner}`)", advertiser.as_str())
    };
    let message = format!(
        "two device plugins run on the node: {} and {}",
        name(&first),
        name(&second)
    );
    let is_gke = [&first, &second]
        .iter()
        .any(|(_, (_, advertiser))| *advertiser == Advertiser::Gke);
    let help = if is_gke {
        "remove the DaemonSet of the other device plugin, or create the node pool with the label \
`gke-no-default-nvidia-gpu-device-plugin: \"true\"` to keep GKE's away"
    } else {
        "remove one of the two DaemonSets, or give them node selectors that exclude each other"
    };
    Finding::new(&CHECK.code, node.object(), message)
        .field(pod_ref(first.1.0), "spec.nodeName", node.name())
        .field(pod_ref(second.1.0), "spec.nodeName", node.name())
        .input(node.pool_span())
        .help(help)
        .command(format!(
            "kubectl get pods --all-namespaces --field-selector spec.nodeName={}",
            node.name()
        ))
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::codes;
    use super::CHECK;

    fn pod(name: &str, owner: &str, image: &str, extra: &str) -> String {
        format!(
            r#"
  - apiVersion: v1
    kind: Pod
    metadata:
      name: {name}
      namespace: kube-system
      ownerReferences: [{{kind: DaemonSet, name: {owner}, controller: true}}]
      {extra}
    spec: {{nodeName: gpu-1, containers: [{{name: gpu, image: {image}}}]}}
    status: {{phase: Running, conditions: [{{type: Ready, status: "True"}}]}}"#
        )
    }

    fn cluster(os_image: &str, pods: &[String]) -> String {
        format!(
            r#"apiVersion: v1
kind: List
items:
  - apiVersion: v1
    kind: Node
    metadata: {{name: gpu-1, labels: {{nvidia.com/gpu.present: "true"}}}}
    status:
      capacity: {{nvidia.com/gpu: "8"}}
      allocatable: {{nvidia.com/gpu: "8"}}
      conditions: [{{type: Ready, status: "True"}}]
      nodeInfo: {{osImage: "{os_image}"}}{}
"#,
            pods.concat()
        )
    }

    #[test]
    fn a_rollout_and_a_dra_driver_are_no_second_plugin() {
        let old = pod("a", "plugin", "k8s-device-plugin:1", "");
        let new = pod("b", "plugin", "k8s-device-plugin:2", "");
        let dra = pod("c", "dra", "dra-driver-nvidia-gpu:1", "");
        let going = r#"deletionTimestamp: "2026-11-28T12:00:00Z""#;
        let going = pod("d", "runtime", "gpuc-runtime:1", going);
        let (codes, text) = codes(&cluster("Ubuntu 24.04", &[old, new, dra, going]));
        assert!(codes.is_empty(), "{text}");
    }

    #[test]
    fn a_plugin_on_bottlerocket_for_gpus_is_the_second_one() {
        let plugin = || vec![pod("a", "plugin", "k8s-device-plugin:1", "")];
        let os = "Bottlerocket OS 1.50.0 (aws-k8s-1.34-nvidia)";
        assert_eq!(codes(&cluster(os, &plugin())).0, [CHECK.code.id]);
        let os = "Bottlerocket OS 1.50.0 (aws-k8s-1.34)";
        assert!(codes(&cluster(os, &plugin())).0.is_empty());
    }

    #[test]
    fn the_plugin_of_gke_has_its_own_help() {
        let gke = pod(
            "a",
            "nvidia-gpu-device-plugin",
            "nvidia-gpu-device-plugin:1",
            "",
        );
        let other = pod("b", "plugin", "k8s-device-plugin:2", "");
        let (codes, text) = codes(&cluster("Ubuntu", &[gke, other]));
        assert_eq!(codes, [CHECK.code.id]);
        assert!(text.contains("gke-no-default"), "{text}");
    }
}
