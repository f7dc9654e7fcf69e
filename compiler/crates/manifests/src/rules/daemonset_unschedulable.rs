//! A DaemonSet requests GPUs on nodes that do not advertise them.

use gpuc_model::POOL_LABEL;
use gpuc_model::scheduling::{Feasibility, MisfitCause, PoolFeasibility};
use gpuc_syntax::diag::{Code, Correction, Report, Severity, phrases};

use crate::scheduling::evaluate_pools;
use crate::{CheckContext, Container, Rule};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4069",
        name: "manifest-daemonset-unschedulable",
        severity: Severity::Warning,
        summary: "a DaemonSet requests GPUs on nodes that do not advertise them",
        checks: "Whether a DaemonSet that requests a GPU resource of some pools also selects and tolerates nodes of pools
that do not advertise the resource.",
        reason: "One pod stays Pending for each of those nodes. On every other node, the pod occupies a GPU that workloads
cannot use.",
        remedy: "Select only nodes of the pools that advertise the resource, or do not request a GPU.",
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
  - name: shared
    gpu: {model: L4, perNode: 1}
    hosts: [node-4]
    nodes: {count: 1}
    sharing: {timeSlicing: {replicas: 4, rename: true}}
--- # manifest.yaml
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent, namespace: monitoring}
spec:
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}}
    spec:
      nodeSelector: {nvidia.com/gpu.present: "true"}
      tolerations: [{operator: Exists}]
      containers:
        - name: main
          image: registry.example.com/agent:1.0.0
          resources: {limits: {nvidia.com/gpu: 1}}
"#,
        correction: Correction::Replace(r#"nvidia.com/gpu.present: "true""#, "gpuc.dev/pool: gpu"),
    },
    run,
};

fn run(ctx: &CheckContext<'_>, report: &mut Report) {
    for pod in ctx
        .pods
        .iter()
        .filter(|pod| pod.is_of_daemon_set() && !pod.is_partial)
    {
        let Some(gpus) = pod.containers.iter().find_map(Container::gpu_request) else {
            continue;
        };
        let Some((_, evaluations)) = evaluate_pools(ctx.cluster, &ctx.claims, pod) else {
            continue;
        };
        let fitting = evaluations
            .iter()
            .filter(|it| it.feasibility() == Feasibility::Fits);
        let with: Vec<_> = fitting.map(|it| it.pool.name.as_str()).collect();
        let without: Vec<_> = evaluations
            .iter()
            .filter(|it| lacks_only_resource(it))
            .map(|it| it.pool)
            .collect();
        if with.is_empty() || without.is_empty() {
            continue;
        }
        let names: Vec<_> = without.iter().map(|pool| pool.name.as_str()).collect();
        let s = if names.len() == 1 { "" } else { "s" };
        let message = format!(
            "{} requests `{}`, which the nodes of pool{s} {} do not advertise",
            pod.title(),
            gpus.key,
            phrases::quoted_conjunction(&names, "and")
        );
        let mut builder = report.diagnostic(&RULE.code, gpus.key_span, message);
        for pool in &without {
            builder = builder.label(
                pool.name.span,
                format!("a pod stays Pending for each node of pool `{}`", pool.name),
            );
        }
        let help = format!(
            "remove the GPU request, or write `nodeSelector: {{{POOL_LABEL}: {}}}` in the pod's `spec`",
            with[0]
        );
        builder.help(help).emit();
    }
}

/// Whether the missing resource is the only reason why the pod does not fit the pool.
fn lacks_only_resource(evaluation: &PoolFeasibility<'_>) -> bool {
    let is_missing = |cause: &MisfitCause| matches!(cause, MisfitCause::NotAdvertised { .. });
    let mut reasons = evaluation.reasons.iter();
    let is_some = reasons.clone().any(|reason| is_missing(&reason.cause));
    is_some && reasons.all(|reason| is_missing(&reason.cause))
}
