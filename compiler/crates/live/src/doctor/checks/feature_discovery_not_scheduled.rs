//! Node Feature Discovery does not run on a node, so that the GPU Operator does not see its GPUs.

use gpuc_syntax::diag::{Code, Correction, Severity};

use super::device_plugin_not_scheduled::OPERATOR_LABELS;
use super::messages::{daemon_misfit_text, toleration_text};
use crate::doctor::check::{Check, Logs};
use crate::doctor::context::{Context, NodeFacts};
use crate::doctor::demand::PodDemand;
use crate::doctor::finding::{Finding, Layer};
use crate::doctor::placement::{Misfit, daemon_misfits};
use crate::objects::{DaemonSet, ObjectRef};
use crate::state::Kind;

pub(super) static CHECK: Check = Check {
    code: Code {
        id: "GPUC7212",
        name: "feature-discovery-not-scheduled",
        severity: Severity::Error,
        summary: "Node Feature Discovery does not run on a node with GPUs",
        checks: "Whether the worker of Node Feature Discovery runs on each ready node with GPUs whose device plugin or \
driver is deployed by the GPU Operator.",
        reason: "The GPU Operator deploys its components on nodes with the label \
`feature.node.kubernetes.io/pci-10de.present`, which the worker sets. A worker that does not tolerate a taint of the \
node creates no pod and no event, and the operator only says that it finds no GPU nodes.",
        remedy: "Add the toleration to the worker: `node-feature-discovery.worker.tolerations` in the values of the \
GPU Operator, or `worker.tolerations` in those of the chart of Node Feature Discovery.",
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
    metadata: {name: nvidia-device-plugin-daemonset, namespace: gpu-operator}
    spec:
      template:
        spec:
          nodeSelector: {nvidia.com/gpu.deploy.device-plugin: "true"}
          tolerations: [{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}]
          containers: [{name: plugin, image: "nvcr.io/nvidia/k8s-device-plugin:v0.20.0"}]
    status: {desiredNumberScheduled: 0, numberReady: 0}
  - apiVersion: apps/v1
    kind: DaemonSet
    metadata: {name: gpu-operator-node-feature-discovery-worker, namespace: gpu-operator}
    spec:
      template:
        spec:
          tolerations: [{key: node-role.kubernetes.io/master, operator: Equal, value: "", effect: NoSchedule}]
          containers: [{name: worker, image: "registry.k8s.io/nfd/node-feature-discovery:v0.18.3"}]
    status: {desiredNumberScheduled: 0, numberReady: 0}
"#,
        correction: Correction::Whole(
            r#"--- # objects.yaml
apiVersion: v1
kind: List
items:
  - apiVersion: v1
    kind: Node
    metadata:
      name: gpu-1
      labels:
        node.kubernetes.io/instance-type: p5.48xlarge
        feature.node.kubernetes.io/pci-10de.present: "true"
        nvidia.com/gpu.deploy.device-plugin: "true"
    spec: {taints: [{key: nvidia.com/gpu, value: "true", effect: NoSchedule}]}
    status:
      capacity: {cpu: "192", nvidia.com/gpu: "8"}
      allocatable: {cpu: "192", nvidia.com/gpu: "8"}
      conditions: [{type: Ready, status: "True"}]
  - apiVersion: apps/v1
    kind: DaemonSet
    metadata: {name: nvidia-device-plugin-daemonset, namespace: gpu-operator}
    spec:
      template:
        spec:
          nodeSelector: {nvidia.com/gpu.deploy.device-plugin: "true"}
          tolerations: [{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}]
          containers: [{name: plugin, image: "nvcr.io/nvidia/k8s-device-plugin:v0.20.0"}]
    status: {desiredNumberScheduled: 1, numberReady: 1}
  - apiVersion: v1
    kind: Pod
    metadata:
      name: nvidia-device-plugin-daemonset-x
      namespace: gpu-operator
      ownerReferences: [{apiVersion: apps/v1, kind: DaemonSet, name: nvidia-device-plugin-daemonset, controller: true}]
    spec:
      nodeName: gpu-1
      containers: [{name: plugin, image: "nvcr.io/nvidia/k8s-device-plugin:v0.20.0"}]
    status: {phase: Running, conditions: [{type: Ready, status: "True"}]}
  - apiVersion: apps/v1
    kind: DaemonSet
    metadata: {name: gpu-operator-node-feature-discovery-worker, namespace: gpu-operator}
    spec:
      template:
        spec:
          tolerations: [{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}]
          containers: [{name: worker, image: "registry.k8s.io/nfd/node-feature-discovery:v0.18.3"}]
    status: {desiredNumberScheduled: 1, numberReady: 1}
"#,
        ),
    },
    layer: Layer::Driver,
    is_symptom: false,
    needs: &[Kind::Node, Kind::DaemonSet],
    needs_logs: Logs::None,
    run,
};

/// The seconds in which the worker starts on a new node.
const START_SECONDS: u64 = 600;

/// The labels that the worker sets on nodes with devices of NVIDIA (PCI vendor 10de).
///
/// Source: NVIDIA/gpu-operator `controllers/state_manager.go` (`gpuNodeLabels`), 2026-11-28.
const GPU_LABELS: &[&str] = &[
    "feature.node.kubernetes.io/pci-10de.present",
    "feature.node.kubernetes.io/pci-0302_10de.present",
    "feature.node.kubernetes.io/pci-0300_10de.present",
];

/// The image of Node Feature Discovery (<https://kubernetes-sigs.github.io/node-feature-discovery/>, 2026-11-28).
const IMAGE: &str = "node-feature-discovery";

fn run(ctx: &Context<'_>, findings: &mut Vec<Finding>) {
    let daemon_sets = &ctx.state.daemon_sets.items;
    let is_operator = |it: &&DaemonSet| {
        let mut keys = it.spec.template.spec.node_selector.keys();
        keys.any(|key| key.starts_with(OPERATOR_LABELS))
    };
    if !daemon_sets.iter().any(|it| is_operator(&it)) {
        return;
    }
    let workers: Vec<&DaemonSet> = daemon_sets.iter().filter(|it| is_worker(it)).collect();
    let candidates = (ctx.nodes.iter())
        .filter(|node| node.has_gpus() || ctx.unlabeled_nodes().contains(&node.object()));
    for node in candidates {
        let has_label = |key: &&str| node.node.metadata.label(key).is_some();
        if !node.node.is_ready()
            || GPU_LABELS.iter().any(has_label)
            || !node.advertisers.is_empty()
            || node.offered().any(|(_, capacity, _)| capacity > 0)
            || ctx.is_new(node, START_SECONDS)
        {
            continue;
        }
        let blocked: Vec<_> = workers
            .iter()
            .map(|worker| {
                let demand = PodDemand::from_spec(&worker.spec.template.spec);
                let misfits = daemon_misfits(&demand, node.node);
                (*worker, demand, misfits)
            })
            .collect();
        // A worker runs there: the label has another reason to be absent.
        if blocked.iter().any(|(_, _, misfits)| misfits.is_empty()) {
            continue;
        }
        if let Some((worker, demand, misfits)) = blocked.first() {
            findings.push(explain(node, worker, demand, misfits));
        }
    }
}

/// Whether a DaemonSet is the worker of Node Feature Discovery.
fn is_worker(daemon_set: &DaemonSet) -> bool {
    let mut containers = daemon_set.spec.template.spec.containers.iter();
    let name = &daemon_set.metadata.name;
    containers.any(|it| it.image.contains(IMAGE)) && !name.contains("topology-updater")
}

fn explain(
    node: &NodeFacts<'_>,
    worker: &DaemonSet,
    demand: &PodDemand,
    misfits: &[Misfit],
) -> Finding {
    let object = ObjectRef::of_kind("DaemonSet", &worker.metadata);
    let name = object.full_name();
    let reasons: Vec<String> = (misfits.iter())
        .map(|it| daemon_misfit_text(it, demand, node.node))
        .collect();
    let effect = if node.has_gpus() {
        "so that the GPU Operator does not find its GPUs"
    } else {
        "and nothing else shows whether the node has GPUs"
    };
    let message = format!(
        "Node Feature Discovery (`{name}`) does not run on the node, {effect}: its pods {}",
        reasons.join(", and ")
    );
    let taint = misfits.iter().find_map(|it| match it {
        Misfit::Taint(taint) => Some(taint),
        _ => None,
    });
    let help = match taint {
        Some(taint) => format!(
            "add the toleration `{}` to `worker.tolerations` in the values of Node Feature Discovery",
            toleration_text(taint)
        ),
        None => "change the node selector of the worker, or the labels of the node".to_owned(),
    };
    let input = node.pool.and_then(|pool| {
        let mut taints = pool.taints.iter();
        let own = taints.find(|it| taint.is_some_and(|taint| taint.key == it.key));
        Some(own?.span)
    });
    let desired = worker.status.desired_number_scheduled.to_string();
    let label = format!("metadata.labels[\"{}\"]", GPU_LABELS[0]);
    Finding::new(&CHECK.code, node.object(), message)
        .field(node.object(), &label, "absent")
        .field(object, "status.desiredNumberScheduled", desired)
        .input(input.or_else(|| node.pool_span()))
        .help(help)
        .command(format!(
            "kubectl get daemonset --namespace {} {} -o yaml",
            worker.metadata.namespace, worker.metadata.name
        ))
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::codes;
    use super::CHECK;

    fn check(from: &str, to: &str) -> (Vec<&'static str>, String) {
        let (_, objects) = CHECK.code.bad.split_once('\n').unwrap();
        assert!(objects.contains(from), "{from}");
        codes(&objects.replace(from, to))
    }

    #[test]
    fn the_missing_plugin_is_a_consequence() {
        let (found, text) = check("", "");
        assert_eq!(found, [CHECK.code.id], "{text}");
        assert!(text.contains("explains: the DaemonSet"), "{text}");
        assert!(
            text.contains("do not tolerate the taint `nvidia.com/gpu=true:NoSchedule`"),
            "{text}"
        );
    }

    #[test]
    fn a_toleration_with_another_value_is_named() {
        let (found, text) = check(
            "{key: node-role.kubernetes.io/master, operator: Equal, value: \"\", effect: NoSchedule}",
            "{key: nvidia.com/gpu, operator: Equal, value: present, effect: NoSchedule}",
        );
        assert_eq!(found, [CHECK.code.id], "{text}");
        let reason =
            "tolerate the taint `nvidia.com/gpu=true:NoSchedule` only with the value `present`";
        assert!(text.contains(reason), "{text}");
    }

    /// A host without labels of GPUs, with this taint, and a pod that waits for a GPU and tolerates another key.
    fn host(taint: &str, tolerated: &str) -> (Vec<&'static str>, String) {
        let (_, objects) = CHECK.code.bad.split_once('\n').unwrap();
        let instance = "node.kubernetes.io/instance-type: p5.48xlarge";
        assert!(objects.contains(instance));
        let objects = objects
            .replace(instance, "kubernetes.io/os: linux")
            .replace(
                "taints: [{key: nvidia.com/gpu",
                &format!("taints: [{{key: {taint}"),
            );
        codes(&format!(
            r#"{objects}  - apiVersion: v1
    kind: Pod
    metadata: {{name: train-0, namespace: ml}}
    spec:
      tolerations: [{{key: {tolerated}, operator: Exists}}]
      containers: [{{name: main, resources: {{limits: {{nvidia.com/gpu: "1"}}}}}}]
    status: {{phase: Pending}}
"#
        ))
    }

    #[test]
    fn hosts_that_only_the_worker_could_label_explain_pods() {
        for (taint, tolerated) in [("nvidia.com/gpu", "a"), ("dedicated", "dedicated")] {
            let (found, text) = host(taint, tolerated);
            assert_eq!(found, [CHECK.code.id], "{text}");
            assert!(text.contains("Pod ml/train-0 waits for it"), "{text}");
        }
        let (found, text) = host("dedicated", "other");
        assert_eq!(found, ["GPUC7501"], "{text}");
    }

    #[test]
    fn other_plugins_need_no_feature_discovery() {
        let (found, text) = check(
            "nodeSelector: {nvidia.com/gpu.deploy.device-plugin: \"true\"}",
            "hostNetwork: true",
        );
        // The pods were not read: one may run on the node.
        assert_eq!(found, ["GPUC7301"], "{text}");
    }
}
