//! An object that is completed elsewhere tolerates no taint itself.

use std::collections::BTreeSet;

use gpuc_schema::config::TaintEffect;

use crate::diag::{Code, Report, Severity};
use crate::manifests::completed::is_installed;
use crate::manifests::place::is_queued;
use crate::manifests::{Container, Object, Pod, Rule, Scene, installed};
use crate::model::{Pool, PoolTaint};
use crate::node::{Node, Value};

/// An object that is completed elsewhere tolerates no taint itself.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4061",
        name: "manifest-toleration-unsaid",
        severity: Severity::Warning,
        summary: "an object that its runtime completes does not say that it tolerates the taints of GPU nodes",
        explain: "### What it checks

InferenceServices, SparkApplications and TrainJobs of Trainer's own runtimes that ask for GPUs which only
pools with taints have: whether they say a toleration themselves, or a runtime among the manifests does.

### Why it matters

Runtimes as they are installed tolerate nothing. The pods wait for ever: `node(s) had untolerated taint`.

### What to do

Write `tolerations` where the help says. If the runtime in the cluster has them, write `allow:
[manifest-toleration-unsaid]`.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: cpu, hosts: [node-1], nodes: {count: 1}}
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [node-2, node-3]
    nodes: {count: 2}
    taints: [{key: nvidia.com/gpu, value: present, effect: NoSchedule}]
--- # manifest.yaml
apiVersion: serving.kserve.io/v1beta1
kind: InferenceService
metadata: {name: chat, namespace: research}
spec:
  predictor:
    model: {modelFormat: {name: huggingface}, resources: {limits: {nvidia.com/gpu: 1}}}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: cpu, hosts: [node-1], nodes: {count: 1}}
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [node-2, node-3]
    nodes: {count: 2}
    taints: [{key: nvidia.com/gpu, value: present, effect: NoSchedule}]
--- # manifest.yaml
apiVersion: serving.kserve.io/v1beta1
kind: InferenceService
metadata: {name: chat, namespace: research}
spec:
  predictor:
    tolerations: [{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}]
    model: {modelFormat: {name: huggingface}, resources: {limits: {nvidia.com/gpu: 1}}}
"#,
    },
    run,
};

/// Kinds that a runtime completes, and where they say what their pods tolerate.
///
/// Sources: kserve/kserve `pkg/apis/serving/v1beta1/podspec.go`; kubeflow/spark-operator
/// `api/v1beta2/sparkapplication_types.go`, `SparkPodSpec`; kubeflow/trainer@v2.3.0 `pkg/apis/trainer/v1alpha1`,
/// `RuntimePatches` (all from memory).
const KINDS: &[(&str, &str)] = &[
    (
        "InferenceService",
        "write `tolerations` in `predictor`, beside `model`",
    ),
    (
        "SparkApplication",
        "write `tolerations` in `driver` or `executor`",
    ),
    (
        "ScheduledSparkApplication",
        "write `tolerations` in `driver` or `executor`",
    ),
    (
        "TrainJob",
        "write `tolerations` for its pods in `runtimePatches`, or into the runtime",
    ),
];

/// The group of Kubeflow's Trainer.
const TRAINER: &str = "trainer.kubeflow.org";

/// What completes them.
const RUNTIMES: &[&str] = &[
    "ClusterServingRuntime",
    "ClusterTrainingRuntime",
    "ServingRuntime",
    "TrainingRuntime",
];

fn run(scene: &Scene<'_>, report: &mut Report) {
    look(scene, &RULE.code, false, report);
}

/// Looks for those of which it is certain that nobody adds what they lack, or for the others.
pub(super) fn look(scene: &Scene<'_>, code: &'static Code, is_certain: bool, report: &mut Report) {
    // A cloud may add what a resource needs.
    if scene.cluster.cloud.facts().tolerates_resources {
        return;
    }
    let is_runtime = |object: &&Object| RUNTIMES.contains(&object.kind.as_str());
    let mut runtimes = scene.objects.iter().filter(is_runtime);
    let is_elsewhere = runtimes.any(|object| says(&object.root));
    let unplaced: BTreeSet<_> = scene.unplaced.iter().map(|it| it.pod).collect();
    let mut said: Option<&Object> = None;
    let pods = scene.pods.iter().enumerate();
    for (index, pod) in pods.filter(|(_, pod)| pod.is_open) {
        let mut kinds = KINDS.iter();
        let Some((kind, help)) = kinds.find(|(kind, _)| *kind == pod.object.kind) else {
            continue;
        };
        let is_own = match *kind {
            "TrainJob" => says(&pod.object.root) || !is_installed(pod.object),
            _ => pod.spec.get("tolerations").is_some(),
        };
        let is_same = |other: &Object| std::ptr::eq(other, pod.object);
        let is_done = is_own || is_elsewhere || said.is_some_and(is_same);
        // What gpuc installs is as its chart has it.
        let certain = *kind == "TrainJob" && installed::brings(scene.cluster, TRAINER);
        if certain != is_certain {
            continue;
        }
        // What no pool holds is a finding of its own.
        if is_done || unplaced.contains(&index) || is_queued(scene.cluster, pod) {
            continue;
        }
        of_pod(scene, pod, help, code, report);
        said = Some(pod.object);
    }
}

fn of_pod(scene: &Scene<'_>, pod: &Pod<'_>, help: &str, code: &'static Code, report: &mut Report) {
    let Some(gpus) = pod.containers.iter().find_map(Container::gpus) else {
        return;
    };
    let pools = scene.offering(&gpus.key);
    let taints: Vec<_> = pools.iter().filter_map(|pool| taint(pool)).collect();
    if pools.is_empty() || taints.len() < pools.len() {
        return;
    }
    let message = format!(
        "{} does not say that it tolerates the taints of nodes with `{}`",
        pod.title(),
        gpus.key
    );
    let mut draft = report.draft(code, gpus.key_span, message);
    for (pool, taint) in pools.iter().zip(taints) {
        draft = draft.label(taint.span, format!("pool `{}` has this taint", pool.name));
    }
    draft.help(help).emit();
}

/// A taint that keeps pods away from a pool.
fn taint(pool: &Pool) -> Option<&PoolTaint> {
    let mut taints = pool.taints.iter();
    taints.find(|taint| taint.effect != TaintEffect::PreferNoSchedule)
}

/// Whether tolerations are written somewhere in an object.
fn says(node: &Node) -> bool {
    match &node.value {
        Value::Scalar(_) => false,
        Value::Sequence(items) => items.iter().any(says),
        Value::Mapping(entries) => entries
            .iter()
            .any(|entry| entry.key == "tolerations" || says(&entry.value)),
    }
}
