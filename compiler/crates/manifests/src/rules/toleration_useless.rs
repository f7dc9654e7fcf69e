//! A pod without GPUs tolerates the taint of GPU nodes.

use gpuc_model::{POOL_LABEL, PoolTaint};
use gpuc_schema::config::TaintEffect;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};
use gpuc_syntax::node::{Node, Value};

use crate::resources::{ResourceCount, parse_count};
use crate::{CheckContext, Container, Pod, Rule};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4005",
        name: "manifest-toleration-useless",
        severity: Severity::Warning,
        summary: "a pod without GPUs tolerates the taint of GPU nodes",
        checks: "Whether a pod that requests no GPU tolerates a taint that only pools with GPUs have, by its key or with a
toleration of all taints. DaemonSets and pods that select such a pool by name are not checked.",
        reason: "The taint keeps pods without GPUs off these nodes. With the toleration, the scheduler may place such a pod
on a GPU node, where it uses CPU and memory and prevents an autoscaler from removing the node.",
        remedy: "Remove the toleration, or request a GPU.",
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
    hosts: [node-2]
    nodes: {count: 1}
    taints: [{key: nvidia.com/gpu, value: present, effect: NoSchedule}]
--- # manifest.yaml
apiVersion: v1
kind: Pod
metadata: {name: train, namespace: research}
spec:
  tolerations: [{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}]
  containers:
    - name: train
      image: nvcr.io/nvidia/cuda:12.8.1-base-ubuntu24.04
"#,
        correction: Correction::Replace("tolerations: [{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}]
  ", ""),
    },
    run,
};

fn run(ctx: &CheckContext<'_>, report: &mut Report) {
    let pods = ctx.pods.iter();
    for pod in pods.filter(|pod| !pod.is_partial && !pod.is_of_daemon_set() && !pod.requests_gpus())
    {
        // Misspelled or misplaced GPU requests are reported by other rules.
        let mut containers = pod.containers.iter();
        if selects_pool(ctx, pod) || containers.any(|it| mentions_gpus(it.node)) {
            continue;
        }
        // Spark adds the GPUs of `spark.executor.resource.gpu.amount` to its pod templates.
        let mut names = pod.containers.iter().map(Container::name);
        if names.any(|name| name.starts_with("spark-kubernetes-")) {
            continue;
        }
        let tolerations = pod.spec.get("tolerations").map_or(&[][..], Node::items);
        for toleration in tolerations {
            let key = toleration.get("key").and_then(Node::text);
            let tolerated = match key {
                Some(key) if !key.is_empty() => gpu_taint(ctx, |it| it == key),
                _ if tolerates_everything(toleration) => gpu_taint(ctx, |_| true),
                _ => None,
            };
            let Some((pool, taint)) = tolerated else {
                continue;
            };
            let what = match key {
                Some(key) if !key.is_empty() => format!("`{key}`"),
                _ => "every taint".to_owned(),
            };
            let message = format!("{} requests no GPU but tolerates {what}", pod.title());
            let builder = report.diagnostic(&RULE.code, toleration.span(), message);
            let text = format!("reserves pool `{pool}` for pods with GPUs");
            builder
                .label(taint.span, text)
                .help("remove the toleration, or request a GPU in `resources.limits`")
                .emit();
        }
    }
}

/// Whether a container has a key that looks like a GPU resource, with a quantity.
fn mentions_gpus(node: &Node) -> bool {
    node.entries().iter().any(|entry| {
        let name = entry.key.to_ascii_lowercase();
        let is_gpu = name.contains("gpu") || name.contains("nvidia") || name.contains("/mig-");
        let is_requested = match parse_count(&entry.value) {
            ResourceCount::Whole(count) => count > 0,
            ResourceCount::Templated => true,
            ResourceCount::Invalid => matches!(entry.value.value, Value::Scalar(_)),
        };
        (is_gpu && is_requested) || mentions_gpus(&entry.value)
    })
}

/// Whether the pod selects a pool explicitly.
fn selects_pool(ctx: &CheckContext<'_>, pod: &Pod<'_>) -> bool {
    let selector = pod.spec.get("nodeSelector").map_or(&[][..], Node::entries);
    let labels = ctx.cluster.pools.iter().flat_map(|pool| &pool.selector);
    let keys: Vec<_> = labels
        .map(|label| label.key.as_str())
        .chain([POOL_LABEL])
        .collect();
    selector
        .iter()
        .any(|entry| keys.contains(&entry.key.as_str()))
        || pod
            .spec
            .get("affinity")
            .is_some_and(|it| it.get("nodeAffinity").is_some())
}

/// Whether a toleration without a key matches every taint that keeps pods off a node.
fn tolerates_everything(toleration: &Node) -> bool {
    let text = |key: &str| toleration.get(key).and_then(Node::text);
    text("operator") == Some("Exists") && matches!(text("effect"), None | Some("" | "NoSchedule"))
}

/// The first taint with such a key that only pools with GPUs have, with the name of a pool.
fn gpu_taint<'s>(
    ctx: &CheckContext<'s>,
    is_tolerated: impl Fn(&str) -> bool,
) -> Option<(&'s str, &'s PoolTaint)> {
    let is_of_cpu_pool = |key: &str| {
        let mut pools = ctx.cluster.pools.iter();
        pools.any(|pool| !pool.has_gpus() && pool.taints.iter().any(|taint| taint.key == key))
    };
    let repels = |taint: &&PoolTaint| {
        is_tolerated(&taint.key)
            && taint.effect != TaintEffect::PreferNoSchedule
            && !is_of_cpu_pool(&taint.key)
    };
    let mut pools = ctx.cluster.gpu_pools();
    pools.find_map(|(pool, _)| Some((pool.name.value.as_str(), pool.taints.iter().find(repels)?)))
}
