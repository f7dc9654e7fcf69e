//! No pod of the device plugin runs on a node with GPUs.

use gpuc_syntax::diag::{Code, Correction, Severity};

use super::messages::{daemon_misfit_text, toleration_text};
use crate::doctor::advertiser::Advertiser;
use crate::doctor::check::{Check, Logs};
use crate::doctor::context::{Context, NodeFacts};
use crate::doctor::demand::PodDemand;
use crate::doctor::finding::{Finding, Layer};
use crate::doctor::placement::{Misfit, daemon_misfits};
use crate::objects::{DaemonSet, ObjectRef};
use crate::state::Kind;

pub(super) static CHECK: Check = Check {
    code: Code {
        id: "GPUC7302",
        name: "device-plugin-not-scheduled",
        severity: Severity::Error,
        summary: "no pod of the device plugin runs on a node with GPUs",
        checks: "Whether a pod of a device plugin or of NVIDIA's DRA driver runs on each ready node with GPUs.",
        reason: "A DaemonSet whose pods do not tolerate a taint of the nodes, or whose node selector matches no node, \
creates no pod and no event: `DESIRED` is 0, and everything looks healthy. The nodes advertise no GPUs.",
        remedy: "Add the toleration to the DaemonSet, or change the taint or label of the nodes. For a tree of gpuc, \
run `gpuc build` and apply the tree: gpuc adds the tolerations of each pool.",
        bad: r#"--- # objects.yaml
apiVersion: v1
kind: List
items:
  - apiVersion: v1
    kind: Node
    metadata: {name: gpu-1, labels: {node.kubernetes.io/instance-type: p5.48xlarge}}
    spec: {taints: [{key: nvidia.com/gpu, value: "true", effect: NoSchedule}]}
    status:
      capacity: {cpu: "192"}
      allocatable: {cpu: "192"}
      conditions: [{type: Ready, status: "True"}]
  - apiVersion: apps/v1
    kind: DaemonSet
    metadata: {name: nvidia-device-plugin, namespace: kube-system}
    spec:
      template:
        spec:
          tolerations: [{key: nvidia.com/gpu, operator: Equal, value: present, effect: NoSchedule}]
          containers: [{name: plugin, image: "nvcr.io/nvidia/k8s-device-plugin:v0.20.0"}]
    status: {desiredNumberScheduled: 0, numberReady: 0}
"#,
        correction: Correction::Whole(
            r#"--- # objects.yaml
apiVersion: v1
kind: List
items:
  - apiVersion: v1
    kind: Node
    metadata: {name: gpu-1, labels: {node.kubernetes.io/instance-type: p5.48xlarge}}
    spec: {taints: [{key: nvidia.com/gpu, value: "true", effect: NoSchedule}]}
    status:
      capacity: {cpu: "192", nvidia.com/gpu: "8"}
      allocatable: {cpu: "192", nvidia.com/gpu: "8"}
      conditions: [{type: Ready, status: "True"}]
  - apiVersion: apps/v1
    kind: DaemonSet
    metadata: {name: nvidia-device-plugin, namespace: kube-system}
    spec:
      template:
        spec:
          tolerations: [{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}]
          containers: [{name: plugin, image: "nvcr.io/nvidia/k8s-device-plugin:v0.20.0"}]
    status: {desiredNumberScheduled: 1, numberReady: 1}
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
        ),
    },
    layer: Layer::Advertiser,
    is_symptom: false,
    needs: &[Kind::Node, Kind::Pod, Kind::DaemonSet],
    needs_logs: Logs::None,
    run,
};

/// The prefix of the labels with which the GPU Operator selects the nodes of its DaemonSets.
///
/// Source: NVIDIA/gpu-operator `controllers/state_manager.go`, 2026-11-28.
pub(super) const OPERATOR_LABELS: &str = "nvidia.com/gpu.deploy.";

/// The seconds in which the pod of a DaemonSet is created on a new node.
const START_SECONDS: u64 = 600;

fn run(ctx: &Context<'_>, findings: &mut Vec<Finding>) {
    let is_known = |kind| ctx.state.completeness(kind).is_complete();
    let (knows_pods, knows_daemon_sets) = (is_known(Kind::Pod), is_known(Kind::DaemonSet));
    for node in ctx.gpu_nodes() {
        let is_new = ctx
            .age(node.node.metadata.creation_timestamp)
            .is_some_and(|seconds| seconds < START_SECONDS);
        if !node.node.is_ready() || !node.advertisers.is_empty() || is_new || node.is_paused() {
            continue;
        }
        // Advertised by something that gpuc does not know, such as a scheduler of virtual GPUs.
        let mut resources = node.node.status.capacity.iter();
        let is_device = |name: &str| {
            name.starts_with("nvidia.com/") || name.contains("gpu") || name.contains("directx")
        };
        if resources.any(|(name, amount)| is_device(name) && amount.units() > Some(0)) {
            continue;
        }
        // Nothing follows from pods and DaemonSets that were not read.
        findings.push(match closest(ctx, node) {
            Some((_, _, misfits)) if misfits.is_empty() && !knows_pods => continue,
            None if !knows_daemon_sets => continue,
            Some((daemon_set, advertiser, misfits)) => {
                explain(node, daemon_set, advertiser, &misfits)
            }
            None => Finding::new(
                &CHECK.code,
                node.object(),
                "the cluster has no DaemonSet of a device plugin that gpuc knows",
            )
            .input(node.pool_span())
            .help("install a device plugin, such as gpuc-runtime with `gpuc build`")
            .command("kubectl get daemonsets --all-namespaces"),
        });
    }
}

/// The DaemonSet whose pods fit best on a node, and why they do not run there.
fn closest<'s>(
    ctx: &Context<'s>,
    node: &NodeFacts<'_>,
) -> Option<(&'s DaemonSet, Advertiser, Vec<Misfit>)> {
    let candidates = ctx.advertisers.iter().map(|(daemon_set, advertiser)| {
        let demand = PodDemand::from_spec(&daemon_set.spec.template.spec);
        (*daemon_set, *advertiser, daemon_misfits(&demand, node.node))
    });
    // A label that differs often means that the DaemonSet is for other nodes.
    let distance = |misfits: &[Misfit]| {
        let labels = misfits.iter().filter(|it| !matches!(it, Misfit::Taint(_)));
        (labels.count(), misfits.len())
    };
    candidates.min_by_key(|(_, _, misfits)| distance(misfits))
}

fn explain(
    node: &NodeFacts<'_>,
    daemon_set: &DaemonSet,
    advertiser: Advertiser,
    misfits: &[Misfit],
) -> Finding {
    let object = ObjectRef::of_kind("DaemonSet", &daemon_set.metadata);
    let name = object.full_name();
    let (namespace, own_name) = (&daemon_set.metadata.namespace, &daemon_set.metadata.name);
    let Some(first) = misfits.first() else {
        let message = format!(
            "the DaemonSet `{name}` of {} has no pod on the node, although its pods fit",
            advertiser.as_str()
        );
        return Finding::new(&CHECK.code, node.object(), message)
            .depends_on([object])
            .help("read the events of the DaemonSet: a quota or an admission webhook may refuse its pods")
            .command(format!("kubectl describe daemonset --namespace {namespace} {own_name}"));
    };
    let demand = PodDemand::from_spec(&daemon_set.spec.template.spec);
    let reasons: Vec<String> = (misfits.iter())
        .map(|it| daemon_misfit_text(it, &demand, node.node))
        .collect();
    let message = format!(
        "the DaemonSet `{name}` of {} does not run on the node: its pods {}",
        advertiser.as_str(),
        reasons.join(", and ")
    );
    let desired = daemon_set.status.desired_number_scheduled.to_string();
    let finding = Finding::new(&CHECK.code, node.object(), message)
        .field(object, "status.desiredNumberScheduled", desired)
        .command(format!(
            "kubectl get daemonset --namespace {namespace} {own_name} -o yaml"
        ));
    match first {
        Misfit::Taint(taint) => {
            let pool_taint = node.pool.and_then(|pool| {
                let mut taints = pool.taints.iter();
                taints.find(|it| it.key == taint.key)
            });
            let toleration = toleration_text(taint);
            let owner = daemon_set.metadata.controller();
            let help = match owner.map(|owner| owner.kind.as_str()) {
                // The operator reverts changes of the DaemonSet.
                Some("ClusterPolicy") => format!(
                    "add the toleration `{toleration}` to `daemonsets.tolerations` of the ClusterPolicy, or of the \
                     chart of the GPU Operator"
                ),
                _ => format!("add the toleration `{toleration}` to its pods"),
            };
            finding.input(pool_taint.map(|it| it.span)).help(help)
        }
        Misfit::Label { key, .. } if key.starts_with(OPERATOR_LABELS) => finding
            .input(node.pool_span())
            .depends_on([node.object()])
            .help(
                "run Node Feature Discovery on the node: the GPU Operator sets the label on nodes with the label \
                 `feature.node.kubernetes.io/pci-10de.present: \"true\"`",
            ),
        Misfit::Label { key, wanted, .. } => finding.input(node.pool_span()).help(format!(
            "set the label `{key}: {wanted}` on the node, or change the selector"
        )),
        _ => finding
            .input(node.pool_span())
            .help("change the node affinity of the DaemonSet, or the labels of the node"),
    }
}
