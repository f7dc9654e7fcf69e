//! A ResourceClaim cannot be allocated or prepared.

use gpuc_syntax::diag::{Code, Correction, Severity};

use crate::doctor::check::{Check, Logs};
use crate::doctor::context::{Context, NodeFacts};
use crate::doctor::finding::{Evidence, Finding, Layer};
use crate::objects::{ObjectRef, Pod};
use crate::state::Kind;

pub(super) static CHECK: Check = Check {
    code: Code {
        id: "GPUC7513",
        name: "claim-not-allocated",
        severity: Severity::Error,
        summary: "a ResourceClaim for GPUs cannot be allocated or prepared",
        checks: "Whether the nodes of pools with `allocation: dra` publish ResourceSlices of `gpu.nvidia.com`, \
whether the DeviceClasses that pending pods use exist, and whether the DRA drivers prepare the claims of scheduled \
pods.",
        reason: "Pods with ResourceClaims stay pending without a ResourceSlice or a DeviceClass, and their \
containers do not start if the driver on the node does not answer.",
        remedy: "Read the log of the DRA driver on the node, and create the DeviceClass that the message names: \
the chart of NVIDIA's DRA driver contains `gpu.nvidia.com`. A kubelet that is older than the API server can lack \
the version of `resource.k8s.io`: upgrade the node.",
        bad: r#"--- # objects.yaml
apiVersion: v1
kind: List
items:
  - apiVersion: v1
    kind: Node
    metadata: {name: gpu-1, labels: {nvidia.com/gpu.present: "true"}}
    status:
      capacity: {cpu: "64", pods: "110", nvidia.com/gpu: "8"}
      allocatable: {cpu: "64", pods: "110", nvidia.com/gpu: "8"}
      conditions: [{type: Ready, status: "True"}]
  - apiVersion: v1
    kind: Pod
    metadata: {name: train-0, namespace: ml}
    spec:
      nodeName: gpu-1
      resourceClaims: [{name: gpu, resourceClaimName: gpu}]
      containers:
        - {name: main, image: "registry.example.com/train:1", resources: {claims: [{name: gpu}]}}
    status:
      phase: Pending
  - apiVersion: v1
    kind: Event
    metadata: {name: train-0.1, namespace: ml}
    involvedObject: {kind: Pod, namespace: ml, name: train-0}
    reason: FailedPrepareDynamicResources
    message: "Failed to prepare dynamic resources: DRA driver compute-domain.nvidia.com is not registered"
"#,
        correction: Correction::Replace("phase: Pending", "phase: Running"),
    },
    layer: Layer::Scheduling,
    is_symptom: false,
    needs: &[
        Kind::Node,
        Kind::Pod,
        Kind::Event,
        Kind::ResourceSlice,
        Kind::DeviceClass,
    ],
    needs_logs: Logs::None,
    run,
};

/// The driver of ResourceSlices with GPUs.
const DRIVER: &str = "gpu.nvidia.com";

fn run(ctx: &Context<'_>, findings: &mut Vec<Finding>) {
    if ctx.state.completeness(Kind::ResourceSlice).is_complete() {
        findings.extend(ctx.gpu_nodes().filter_map(|node| check_node(ctx, node)));
    }
    for pod in &ctx.state.pods.items {
        let is_going = pod.metadata.deletion_timestamp.is_some();
        if is_going || pod.status.phase != "Pending" || pod.spec.resource_claims.is_empty() {
            continue;
        }
        findings.extend(check_class(ctx, pod));
        findings.extend(check_preparation(ctx, pod));
    }
}

/// Whether a node with GPUs publishes its ResourceSlice.
fn check_node(ctx: &Context<'_>, node: &NodeFacts<'_>) -> Option<Finding> {
    node.expected.as_ref().filter(|it| it.is_dra)?;
    let is_new = ctx
        .age(node.node.metadata.creation_timestamp)
        .is_some_and(|seconds| seconds < 120);
    let mut slices = ctx.state.objects(Kind::ResourceSlice).iter();
    let is_published = slices.any(|slice| {
        slice.text("/spec/driver") == DRIVER && slice.text("/spec/nodeName") == node.name()
    });
    if is_new || is_published || !node.node.is_ready() {
        return None;
    }
    let message = format!("the node publishes no ResourceSlice of `{DRIVER}`");
    let finding = Finding::new(&CHECK.code, node.object(), message)
        .field(node.object(), "ResourceSlice", "absent")
        .input(node.pool_span())
        .depends_on(causes(ctx, node.name()))
        .help("read the log of NVIDIA's DRA driver on the node");
    let advertiser = node.advertisers.first();
    Some(finding.command(match advertiser {
        Some((pod, _)) => format!(
            "kubectl logs --all-containers --namespace {} {}",
            pod.metadata.namespace, pod.metadata.name
        ),
        None => "kubectl get daemonsets --all-namespaces".to_owned(),
    }))
}

/// A node and the pods that advertise its GPUs.
fn causes(ctx: &Context<'_>, node: &str) -> Vec<ObjectRef> {
    let mut facts = ctx.nodes.iter();
    let advertisers = facts
        .find(|it| it.name() == node)
        .into_iter()
        .flat_map(|it| &it.advertisers);
    let advertisers = advertisers.map(|(pod, _)| ObjectRef::of_kind("Pod", &pod.metadata));
    std::iter::once(ObjectRef::node(node))
        .chain(advertisers)
        .collect()
}

/// Whether the scheduler misses a DeviceClass.
///
/// Source: kubernetes `pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go`, 2026-11-28.
fn check_class(ctx: &Context<'_>, pod: &Pod) -> Option<Finding> {
    let condition = pod.condition("PodScheduled").filter(|it| it.is_false())?;
    let (_, rest) = condition.message.split_once("device class ")?;
    let (class, _) = rest.split_once(" does not exist")?;
    // The scheduler tries again when the DeviceClass is created.
    if ctx.state.object(Kind::DeviceClass, "", class).is_some() {
        return None;
    }
    let object = ObjectRef::of_kind("Pod", &pod.metadata);
    let message = format!("the DeviceClass `{class}` of a ResourceClaim does not exist");
    let finding = Finding::new(&CHECK.code, object, message)
        .help(format!(
            "create the DeviceClass `{class}`, or correct `deviceClassName` in the ResourceClaim"
        ))
        .command("kubectl get deviceclasses");
    Some(match Evidence::pod_condition(pod, "PodScheduled") {
        Some(evidence) => finding.evidence(evidence),
        None => finding,
    })
}

/// Whether the DRA driver on the node of a pod prepares its claims.
///
/// Source: kubernetes `pkg/kubelet/cm/dra/manager.go`, kubernetes-sigs/dra-driver-nvidia-gpu issues 766 and 814,
/// 2026-11-28.
fn check_preparation(ctx: &Context<'_>, pod: &Pod) -> Option<Finding> {
    let object = ObjectRef::of_kind("Pod", &pod.metadata);
    let event = ctx.recent_event(&object, "FailedPrepareDynamicResources")?;
    let driver = event.message.split_once("DRA driver ").and_then(|(_, it)| {
        let (name, _) = it.split_once(" is not registered")?;
        Some(name)
    });
    let (problem, help) = if let Some(driver) = driver {
        (
            format!("the DRA driver `{driver}` is not registered on the node"),
            format!("run the pod of the DRA driver `{driver}` on the node, and read its log"),
        )
    } else if event
        .message
        .contains("could not find the requested resource")
    {
        (
            "the kubelet and the API server use different versions of `resource.k8s.io`".to_owned(),
            "upgrade the kubelet of the node to the version of the API server".to_owned(),
        )
    } else {
        (
            "the DRA driver on the node cannot prepare its ResourceClaims".to_owned(),
            "correct what the message names; the log of the DRA driver on the node has more details".to_owned(),
        )
    };
    let (namespace, name) = (&pod.metadata.namespace, &pod.metadata.name);
    Some(
        Finding::new(
            &CHECK.code,
            object,
            format!("the pod does not start: {problem}"),
        )
        .evidence(Evidence::event(event))
        .depends_on(causes(ctx, &pod.spec.node_name))
        .help(help)
        .command(format!(
            "kubectl describe pod --namespace {namespace} {name}"
        )),
    )
}

#[cfg(test)]
mod tests {
    use crate::doctor::testing::{HEALTHY_NODE, codes, diagnose_objects, event, list_objects};

    fn pod(status: &str) -> String {
        format!(
            r#"{{"kind": "Pod", "apiVersion": "v1", "metadata": {{"name": "train-0", "namespace": "ml"}},
              "spec": {{"nodeName": "gpu-1", "resourceClaims": [{{"name": "gpu"}}]}}, "status": {{{status}}}}}"#
        )
    }

    #[test]
    fn messages_of_the_kubelet_are_explained() {
        for (message, time, expected) in [
            (
                "DRA driver gpu.nvidia.com is not registered",
                "11:50:00",
                "is not registered on the node",
            ),
            (
                "the server could not find the requested resource",
                "11:50:00",
                "different versions",
            ),
            ("NodePrepareResources failed", "11:50:00", "cannot prepare"),
            ("NodePrepareResources failed", "10:50:00", ""),
        ] {
            let event = event(
                "Pod",
                "train-0",
                "FailedPrepareDynamicResources",
                message,
                time,
            );
            let pending = pod(r#""phase": "Pending""#);
            let (found, text) = codes(&list_objects(&[HEALTHY_NODE, &pending, &event]));
            assert_eq!(found.is_empty(), expected.is_empty(), "{text}");
            assert!(text.contains(expected), "{text}");
            let running = pod(r#""phase": "Running""#);
            let (found, text) = codes(&list_objects(&[HEALTHY_NODE, &running, &event]));
            assert!(found.is_empty(), "{text}");
        }
    }

    #[test]
    fn device_classes_that_exist_by_now_are_silent() {
        let pod = pod(
            r#""phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False",
              "message": "0/1 nodes are available: request gpu: device class gpu.example.com does not exist."}]"#,
        );
        let (found, text) = codes(&list_objects(&[HEALTHY_NODE, &pod]));
        assert_eq!(found, ["GPUC7513"], "{text}");
        let class = r#"{"kind": "DeviceClass", "apiVersion": "resource.k8s.io/v1",
          "metadata": {"name": "gpu.example.com"}}"#;
        let (found, text) = codes(&list_objects(&[HEALTHY_NODE, &pod, class]));
        assert!(found.is_empty(), "{text}");
    }

    const DRA: &str = "
apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: \"1.36\"}
cloud: {onPrem: {context: demo}}
stack: {allocation: dra}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [gpu-1]
    nodes: {count: 1}
";

    #[test]
    fn nodes_of_dra_pools_publish_slices() {
        let node = r#"{"kind": "Node", "apiVersion": "v1",
          "metadata": {"name": "gpu-1", "labels": {"gpuc.dev/pool": "gpu"}},
          "status": {"conditions": [{"type": "Ready", "status": "True"}]}}"#;
        let driver = r#"{"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "dra", "namespace": "gpu"},
          "spec": {"nodeName": "gpu-1",
            "containers": [{"name": "gpus", "image": "nvcr.io/nvidia/k8s-dra-driver-gpu:v25.12.0"}]},
          "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}"#;
        for (slice_node, driver_name, expected) in [
            ("gpu-1", "gpu.nvidia.com", &[][..]),
            ("gpu-2", "gpu.nvidia.com", &["GPUC7513"]),
            ("gpu-1", "compute-domain.nvidia.com", &["GPUC7513"]),
        ] {
            let slice = format!(
                r#"{{"kind": "ResourceSlice", "apiVersion": "resource.k8s.io/v1", "metadata": {{"name": "s"}},
                  "spec": {{"driver": "{driver_name}", "nodeName": "{slice_node}"}}}}"#
            );
            let (diagnosis, text) = diagnose_objects(DRA, &list_objects(&[node, driver, &slice]));
            let causes = diagnosis.causes.iter();
            let found: Vec<_> = causes.map(|it| it.finding.code.id).collect();
            assert_eq!(found, expected, "{text}");
        }
        // A list of ResourceSlices that is not known says nothing.
        let (diagnosis, text) = diagnose_objects(DRA, &list_objects(&[node, driver]));
        assert!(diagnosis.causes.is_empty(), "{text}");
    }
}
