//! An object that a runtime completes has no tolerations of its own.

use std::collections::BTreeSet;

use gpuc_model::{Pool, PoolTaint};
use gpuc_schema::config::TaintEffect;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};
use gpuc_syntax::node::{Node, Value};

use crate::operator_pods::uses_installed_runtime;
use crate::scheduling::is_queued;
use crate::{CheckContext, Container, Object, Pod, Rule, installed_projects};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4061",
        name: "manifest-runtime-toleration-missing",
        severity: Severity::Warning,
        summary: "an object that a runtime completes has no tolerations for its GPU nodes",
        checks: "Whether InferenceServices, SparkApplications, and TrainJobs of the runtimes that come with Trainer have a
toleration, if only pools with taints advertise the GPUs that they request. Either the object or a
runtime among the manifests must have it.",
        reason: "The runtimes that come with the projects have no tolerations. The pods stay Pending indefinitely: `node(s)
had untolerated taint`.",
        remedy: "Write `tolerations` where the help says. If the runtime in the cluster has them, write `allow:
[manifest-runtime-toleration-missing]`.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
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
        correction: Correction::Replace(" model:", " tolerations: [{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}]
    model:"),
    },
    run,
};

/// Kinds that a runtime completes, with the help for the tolerations of their pods.
///
/// Sources: kserve/kserve `pkg/apis/serving/v1beta1/podspec.go`; kubeflow/spark-operator
/// `api/v1beta2/sparkapplication_types.go`, `SparkPodSpec`; kubeflow/trainer@v2.3.0 `pkg/apis/trainer/v1alpha1`,
/// `RuntimePatches` (all from memory).
const TOLERATION_HELP: &[(&str, &str)] = &[
    (
        "InferenceService",
        "add `tolerations` to `predictor`, next to `model`",
    ),
    (
        "LLMInferenceService",
        "add `tolerations` to `template`, next to `containers`",
    ),
    (
        "SparkApplication",
        "add `tolerations` to `driver` or `executor`",
    ),
    (
        "ScheduledSparkApplication",
        "add `tolerations` to `driver` or `executor`",
    ),
    (
        "TrainJob",
        "add `tolerations` for its pods to `runtimePatches`, or to the runtime",
    ),
];

/// The API group of Kubeflow Trainer.
const TRAINER_GROUP: &str = "trainer.kubeflow.org";

/// The kinds of runtimes.
const RUNTIME_KINDS: &[&str] = &[
    "ClusterServingRuntime",
    "ClusterTrainingRuntime",
    "ServingRuntime",
    "TrainingRuntime",
];

fn run(ctx: &CheckContext<'_>, report: &mut Report) {
    check(ctx, &RULE.code, false, report);
}

/// Reports objects whose runtime certainly has no tolerations (`is_certain`), or the other ones.
pub(super) fn check(
    ctx: &CheckContext<'_>,
    code: &'static Code,
    is_certain: bool,
    report: &mut Report,
) {
    // Some clouds add tolerations for requested resources.
    if ctx.cluster.cloud.facts().tolerates_requested_resources {
        return;
    }
    let is_runtime = |object: &&Object| RUNTIME_KINDS.contains(&object.kind.as_str());
    let mut runtimes = ctx.objects.iter().filter(is_runtime);
    let in_runtime = runtimes.any(|object| has_tolerations(&object.root));
    let unplaced: BTreeSet<_> = ctx.unschedulable.iter().map(|it| it.pod).collect();
    let mut reported: Option<&Object> = None;
    let pods = ctx.pods.iter().enumerate();
    for (index, pod) in pods.filter(|(_, pod)| pod.is_partial) {
        let mut kinds = TOLERATION_HELP.iter();
        let Some((kind, help)) = kinds.find(|(kind, _)| *kind == pod.object.kind) else {
            continue;
        };
        let in_object = match *kind {
            "TrainJob" => has_tolerations(&pod.object.root) || !uses_installed_runtime(pod.object),
            _ => pod.spec.get("tolerations").is_some(),
        };
        let is_same = |other: &Object| std::ptr::eq(other, pod.object);
        let is_done = in_object || in_runtime || reported.is_some_and(is_same);
        // The runtimes of a chart that gpuc installs are known.
        let certain =
            *kind == "TrainJob" && installed_projects::installs_group(ctx.cluster, TRAINER_GROUP);
        if certain != is_certain {
            continue;
        }
        // Pods that fit no pool are reported by other rules.
        if is_done || unplaced.contains(&index) || is_queued(ctx.cluster, pod) {
            continue;
        }
        check_pod(ctx, pod, help, code, report);
        reported = Some(pod.object);
    }
}

fn check_pod(
    ctx: &CheckContext<'_>,
    pod: &Pod<'_>,
    help: &str,
    code: &'static Code,
    report: &mut Report,
) {
    let Some(gpus) = pod.containers.iter().find_map(Container::gpu_request) else {
        return;
    };
    let pools = ctx.pools_advertising(&gpus.key);
    let taints: Vec<_> = pools
        .iter()
        .filter_map(|pool| repelling_taint(pool))
        .collect();
    if pools.is_empty() || taints.len() < pools.len() {
        return;
    }
    let message = format!(
        "{} has no tolerations for the nodes with `{}`",
        pod.title(),
        gpus.key
    );
    let mut builder = report.diagnostic(code, gpus.key_span, message);
    for (pool, taint) in pools.iter().zip(taints) {
        builder = builder.label(taint.span, format!("pool `{}` has this taint", pool.name));
    }
    builder.help(help).emit();
}

/// The first taint of a pool that repels pods.
fn repelling_taint(pool: &Pool) -> Option<&PoolTaint> {
    let mut taints = pool.taints.iter();
    taints.find(|taint| taint.effect != TaintEffect::PreferNoSchedule)
}

/// Whether there are tolerations anywhere below a node.
fn has_tolerations(node: &Node) -> bool {
    match &node.value {
        Value::Scalar(_) => false,
        Value::Sequence(items) => items.iter().any(has_tolerations),
        Value::Mapping(entries) => entries
            .iter()
            .any(|entry| entry.key == "tolerations" || has_tolerations(&entry.value)),
    }
}
