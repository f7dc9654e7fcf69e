//! Whole clusters: healthy ones have no finding, and one fault has one cause.

use crate::doctor::Diagnosis;
use gpuc_model::Pool;

use super::super::testing::{codes, compile_cluster, diagnose_objects};

/// A node of the GPU Operator.
fn node(name: &str, extra_labels: &str, resources: &str, created: &str) -> String {
    format!(
        r#"
  - apiVersion: v1
    kind: Node
    metadata:
      name: {name}
      creationTimestamp: "{created}"
      labels:
        node.kubernetes.io/instance-type: p5.48xlarge
        nvidia.com/gpu.present: "true"
        feature.node.kubernetes.io/pci-10de.present: "true"
{extra_labels}
    spec: {{taints: [{{key: nvidia.com/gpu, value: present, effect: NoSchedule}}]}}
    status:
      capacity: {{cpu: "192", pods: "110"{resources}}}
      allocatable: {{cpu: "191", pods: "110"{resources}}}
      conditions:
        - type: Ready
          status: "True"
          lastTransitionTime: "{created}"
          lastHeartbeatTime: "2026-11-28T12:00:00Z"
        - {{type: AcceleratedHardwareReady, status: "True", reason: NvidiaAcceleratedHardwareIsReady}}"#
    )
}

/// A pod of a DaemonSet of the GPU Operator.
fn pod(daemon_set: &str, node: &str, image: &str, created: &str, status: &str) -> String {
    format!(
        r#"
  - apiVersion: v1
    kind: Pod
    metadata:
      name: {daemon_set}-{node}
      namespace: gpu-operator
      creationTimestamp: "{created}"
      ownerReferences: [{{apiVersion: apps/v1, kind: DaemonSet, name: {daemon_set}, controller: true}}]
    spec:
      nodeName: {node}
      tolerations: [{{key: nvidia.com/gpu, operator: Exists}}]
      containers: [{{name: {daemon_set}, image: "{image}", env: [{{name: NVIDIA_VISIBLE_DEVICES, value: all}}]}}]
    status: {{{status}}}"#
    )
}

const LABELS: &str = r#"        nvidia.com/gpu.product: NVIDIA-H100-80GB-HBM3
        nvidia.com/gpu.count: "8"
        nvidia.com/gpu.replicas: "1"
        nvidia.com/gpu.sharing-strategy: none
        nvidia.com/mig.config: all-disabled
        nvidia.com/mig.config.state: success
        nvidia.com/mig.strategy: single
        nvidia.com/gpu-driver-upgrade-state: upgrade-done
        nvidia.com/gpu.deploy.driver: "true""#;

const READY: &str = r#"phase: Running, conditions: [{type: Ready, status: "True"}]"#;
const OLD: &str = "2026-11-20T12:00:00Z";
const NEW: &str = "2026-11-28T11:56:00Z";

/// The components of the GPU Operator, with their images.
const COMPONENTS: &[(&str, &str)] = &[
    (
        "nvidia-driver-daemonset",
        "nvcr.io/nvidia/driver:580.1-ubuntu24.04",
    ),
    (
        "nvidia-container-toolkit-daemonset",
        "nvcr.io/nvidia/k8s/container-toolkit:v1.19.0",
    ),
    (
        "nvidia-operator-validator",
        "nvcr.io/nvidia/gpu-operator:v26.7.0",
    ),
    (
        "nvidia-device-plugin-daemonset",
        "nvcr.io/nvidia/k8s-device-plugin:v0.20.0",
    ),
    (
        "gpu-feature-discovery",
        "nvcr.io/nvidia/k8s-device-plugin:v0.20.0",
    ),
    (
        "nvidia-dcgm-exporter",
        "nvcr.io/nvidia/k8s/dcgm-exporter:4.5.3-4.8.2",
    ),
    (
        "nvidia-mig-manager",
        "nvcr.io/nvidia/cloud-native/k8s-mig-manager:v0.14.0",
    ),
];

fn cluster(items: &[String]) -> String {
    let daemon_sets = COMPONENTS.iter().map(|(name, image)| {
        format!(
            r#"
  - apiVersion: apps/v1
    kind: DaemonSet
    metadata: {{name: {name}, namespace: gpu-operator}}
    spec:
      template:
        metadata: {{labels: {{app: {name}}}}}
        spec:
          tolerations: [{{key: nvidia.com/gpu, operator: Exists}}]
          containers: [{{name: {name}, image: "{image}"}}]"#
        )
    });
    let system = r"
  - {apiVersion: v1, kind: Pod, metadata: {name: coredns, namespace: kube-system}, status: {phase: Running}}
  - {apiVersion: nvidia.com/v1, kind: ClusterPolicy, metadata: {name: cluster-policy}, status: {state: ready}}";
    format!(
        "apiVersion: v1\nkind: List\nitems:{}{system}{}\n",
        daemon_sets.collect::<String>(),
        items.concat()
    )
}

fn components(node: &str, created: &str, status: &str) -> Vec<String> {
    let components = COMPONENTS.iter();
    components
        .map(|(name, image)| pod(name, node, image, created, status))
        .collect()
}

#[test]
fn a_healthy_cluster_of_the_gpu_operator_has_no_finding() {
    let mut items = vec![node("gpu-1", LABELS, r#", nvidia.com/gpu: "8""#, OLD)];
    items.extend(components("gpu-1", OLD, READY));
    items.push(pod(
        "nvidia-cuda-validator",
        "gpu-1",
        "nvcr.io/nvidia/gpu-operator:v26.7.0",
        OLD,
        r#"phase: Succeeded, conditions: [{type: Ready, status: "False", reason: PodCompleted}]"#,
    ));
    let (codes, text) = codes(&cluster(&items));
    assert!(codes.is_empty(), "{text}");
}

#[test]
fn a_new_node_has_no_finding_while_its_components_start() {
    let mut items = vec![node("gpu-1", "", "", NEW)];
    let starting = r#"phase: Pending, conditions: [{type: Ready, status: "False"}],
      initContainerStatuses: [{name: driver-validation, state: {running: {}}}]"#;
    items.extend(components("gpu-1", NEW, starting));
    let (codes, text) = codes(&cluster(&items));
    assert!(codes.is_empty(), "{text}");
}

#[test]
fn a_driver_that_is_being_replaced_has_no_finding() {
    let labels = LABELS.replace(
        "upgrade-state: upgrade-done",
        "upgrade-state: pod-restart-required",
    );
    let paused =
        format!("{labels}\n        nvidia.com/gpu.deploy.device-plugin: paused-for-driver-upgrade");
    let mut items = vec![node("gpu-1", &paused, r#", nvidia.com/gpu: "0""#, OLD)];
    let starting = r#"phase: Running, conditions: [{type: Ready, status: "False"}]"#;
    items.push(pod(
        "nvidia-driver-daemonset",
        "gpu-1",
        "driver",
        NEW,
        starting,
    ));
    items.push(pod(
        "nvidia-dcgm-exporter",
        "gpu-1",
        "dcgm-exporter",
        OLD,
        READY,
    ));
    let (codes, text) = codes(&cluster(&items));
    assert!(codes.is_empty(), "{text}");
}

#[test]
fn mig_devices_of_the_mixed_strategy_have_no_finding() {
    let labels = LABELS
        .replace("mig.config: all-disabled", "mig.config: all-balanced")
        .replace("mig.strategy: single", "mig.strategy: mixed");
    let resources =
        r#", nvidia.com/gpu: "0", nvidia.com/mig-1g.10gb: "16", nvidia.com/mig-2g.20gb: "8""#;
    let mut items = vec![node("gpu-1", &labels, resources, OLD)];
    items.extend(components("gpu-1", OLD, READY));
    let (codes, text) = codes(&cluster(&items));
    assert!(codes.is_empty(), "{text}");
}

#[test]
fn a_failed_driver_is_the_only_cause_on_its_node() {
    let mut items = vec![node("gpu-1", "", "", OLD)];
    let waiting = r#"phase: Pending, conditions: [{type: Ready, status: "False"}],
      initContainerStatuses: [{name: driver-validation, state: {running: {}}}]"#;
    let failed = r#"phase: Running, conditions: [{type: Ready, status: "False"}],
      containerStatuses: [{name: nvidia-driver-daemonset, state: {waiting: {reason: CrashLoopBackOff}}}]"#;
    for (name, image) in COMPONENTS {
        let status = match *name {
            "nvidia-driver-daemonset" => failed,
            _ => waiting,
        };
        items.push(pod(name, "gpu-1", image, OLD, status));
    }
    items.push(
        r#"
  - apiVersion: v1
    kind: Pod
    metadata: {name: train-0, namespace: ml}
    spec:
      tolerations: [{key: nvidia.com/gpu, operator: Exists}]
      containers: [{name: main, image: train, resources: {limits: {nvidia.com/gpu: "8"}}}]
    status: {phase: Pending}"#
            .to_owned(),
    );
    let (codes, text) = codes(&cluster(&items));
    assert_eq!(codes, ["GPUC7201"], "{text}");
    for part in [
        "explains: the GPU Operator does not find the driver",
        "explains: the node has no `nvidia.com/gpu`",
    ] {
        assert!(text.contains(part), "{text}");
    }
}

#[test]
fn objects_with_null_and_absent_fields_cause_no_panic() {
    let (_, text) = codes(
        r#"apiVersion: v1
kind: List
items:
  - {apiVersion: v1, kind: Node, metadata: {name: gpu-1, labels: {nvidia.com/gpu.present: "true"}}}
  - {apiVersion: v1, kind: Node, metadata: {name: gpu-2, labels: null}, spec: null, status: null}
  - apiVersion: v1
    kind: Node
    metadata: {name: gpu-3}
    status:
      capacity: {nvidia.com/gpu: x}
      allocatable: null
      conditions: [{type: Ready, status: "True", lastTransitionTime: null}, {type: null, status: null}]
  - {apiVersion: v1, kind: Pod, metadata: {name: a, namespace: b, ownerReferences: [{}]}, spec: {nodeName: gpu-3}}
  - apiVersion: v1
    kind: Pod
    metadata: {name: nvidia-driver-daemonset-x, namespace: kube-system}
    spec: {nodeName: gpu-3, containers: [{}], initContainers: [{}], volumes: [{}, 7]}
    status: {containerStatuses: [{}], initContainerStatuses: [{state: {waiting: {}}}, {lastState: {terminated: {}}}]}
  - {apiVersion: v1, kind: Event, metadata: {}, reason: FailedCreate, message: 'RuntimeClass "" not found'}
  - {apiVersion: resource.nvidia.com/v1beta1, kind: ComputeDomain, metadata: {name: a}, status: 7}
  - {apiVersion: nvidia.com/v1, kind: ClusterPolicy, metadata: {name: a}, status: {state: 7}}
  - {apiVersion: monitoring.coreos.com/v1, kind: Prometheus, metadata: {name: a}, spec: {podMonitorSelector: 7}}
  - {apiVersion: monitoring.coreos.com/v1, kind: PodMonitor, metadata: {name: dcgm}, spec: null}
  - {apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {x: "mig-configs: 7"}}
"#,
    );
    assert!(!text.is_empty());
}

/// Configurations with every kind of sharing.
const EXAMPLES: &[&str] = &[
    include_str!("../../../../../../examples/aks-mig-a100/gpu-cluster.yaml"),
    include_str!("../../../../../../examples/aks-operator-mig/gpu-cluster.yaml"),
    include_str!("../../../../../../examples/eks-bottlerocket/gpu-cluster.yaml"),
    include_str!("../../../../../../examples/eks-dra-h100/gpu-cluster.yaml"),
    include_str!("../../../../../../examples/eks-inference-spot-l4/gpu-cluster.yaml"),
    include_str!("../../../../../../examples/eks-mig-a100/gpu-cluster.yaml"),
    include_str!("../../../../../../examples/eks-operator-h100/gpu-cluster.yaml"),
    include_str!("../../../../../../examples/gke-a100-mig-single/gpu-cluster.yaml"),
    include_str!("../../../../../../examples/gke-inference-l4/gpu-cluster.yaml"),
    include_str!("../../../../../../examples/gke-t4-n1/gpu-cluster.yaml"),
    include_str!("../../../../../../examples/on-prem-dgx/gpu-cluster.yaml"),
];

/// A node of a pool with these resources.
fn pool_node(pool: &Pool, resources: &str) -> String {
    let labels = pool.selector.iter();
    let labels: Vec<_> = labels
        .map(|label| format!("{}: \"{}\"", label.key, label.value))
        .collect();
    format!(
        r#"
  - apiVersion: v1
    kind: Node
    metadata: {{name: "{}-1", labels: {{{}}}}}
    status:
      capacity: {{cpu: "64"{resources}}}
      allocatable: {{cpu: "64"{resources}}}
      conditions: [{{type: Ready, status: "True"}}]"#,
        pool.name.value,
        labels.join(", ")
    )
}

/// The codes of causes, without those of the pools whose nodes are not part of the test.
fn causes_of_nodes(diagnosis: &Diagnosis) -> Vec<&'static str> {
    let causes = diagnosis.causes.iter().map(|it| it.finding.code.id);
    causes.filter(|id| *id != "GPUC7102").collect()
}

#[test]
fn nodes_as_their_pools_expect_them_have_no_finding() {
    let mut number = 0;
    for configuration in EXAMPLES {
        let (compilation, _) = compile_cluster(configuration);
        let cluster = compilation.cluster.unwrap();
        let mut items = Vec::new();
        for pool in cluster.pools.iter().filter(|pool| pool.classes.is_empty()) {
            let advertised = pool.advertised.get().map_or(&[][..], Vec::as_slice);
            let resources = advertised.iter();
            let resources: Vec<_> = resources
                .map(|it| format!(", {}: \"{}\"", it.name, it.per_node))
                .collect();
            number += resources.len();
            items.push(pool_node(pool, &resources.concat()));
        }
        let objects = format!("apiVersion: v1\nkind: List\nitems:{}\n", items.concat());
        let (diagnosis, text) = diagnose_objects(configuration, &objects);
        assert_eq!(causes_of_nodes(&diagnosis), [""; 0], "{objects}{text}");
    }
    assert!(number >= EXAMPLES.len(), "{number} resources");
}

#[test]
fn nodes_that_offer_one_resource_less_have_one_finding() {
    for configuration in EXAMPLES {
        let (compilation, _) = compile_cluster(configuration);
        let cluster = compilation.cluster.unwrap();
        for pool in cluster.pools.iter().filter(|pool| pool.classes.is_empty()) {
            let advertised = pool.advertised.get().map_or(&[][..], Vec::as_slice);
            let Some(first) = advertised.first().filter(|it| it.per_node > 1) else {
                continue;
            };
            let resources = advertised.iter().skip(1);
            let mut resources: Vec<_> = resources
                .map(|it| format!(", {}: \"{}\"", it.name, it.per_node))
                .collect();
            resources.push(format!(", {}: \"{}\"", first.name, first.per_node - 1));
            let node = pool_node(pool, &resources.concat());
            let objects = format!("apiVersion: v1\nkind: List\nitems:{node}\n");
            let (diagnosis, text) = diagnose_objects(configuration, &objects);
            let causes = causes_of_nodes(&diagnosis);
            assert!(matches!(causes[..], ["GPUC7305" | "GPUC7306"]), "{text}");
        }
    }
}
