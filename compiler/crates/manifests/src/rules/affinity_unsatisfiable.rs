//! Pods with required affinity to each other do not fit on one node.

use gpuc_model::scheduling::{Demand, Feasibility, MisfitCause, Reason, check_pool};
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use crate::pod_affinity::{HOSTNAME_LABEL, self_selecting_term};
use crate::scheduling::{evaluate_pools, selects_pool_nodes};
use crate::{CheckContext, Rule, services};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4067",
        name: "manifest-affinity-unsatisfiable",
        severity: Severity::Error,
        summary: "pods with required affinity to each other do not fit on one node",
        checks: "Whether a node of some pool has the GPUs, CPU and memory of all `replicas` of a service whose pods have a
required affinity to each other by `kubernetes.io/hostname`.",
        reason: "The first pod determines the node. The last pods stay Pending indefinitely: `node(s) didn't match pod
affinity rules`.",
        remedy: "Run fewer pods, or use `preferredDuringSchedulingIgnoredDuringExecution` for the affinity.",
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
apiVersion: apps/v1
kind: Deployment
metadata: {name: chat, namespace: research}
spec:
  replicas: 3
  selector: {matchLabels: {app: chat}}
  template:
    metadata: {labels: {app: chat}}
    spec:
      tolerations: [{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}]
      affinity:
        podAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
            - topologyKey: kubernetes.io/hostname
              labelSelector: {matchLabels: {app: chat}}
      containers:
        - name: main
          image: registry.example.com/model:1.0.0
          resources: {limits: {nvidia.com/gpu: 1}}
"#,
        correction: Correction::Replace("replicas: 3", "replicas: 2"),
    },
    run,
};

fn run(ctx: &CheckContext<'_>, report: &mut Report) {
    for pod in ctx.pods.iter().filter(|pod| !pod.is_partial) {
        let own = self_selecting_term(pod, "podAffinity").filter(|it| it.key == HOSTNAME_LABEL);
        let Some((count, term)) = services::configured_pods(pod).zip(own) else {
            continue;
        };
        let Some((demand, evaluations)) = evaluate_pools(ctx.cluster, &ctx.claims, pod) else {
            continue;
        };
        let is_any = !pod.requests_gpus() && !selects_pool_nodes(&demand);
        if count.pods < 2 || (is_any && !ctx.cluster.config.cloud.creates_cluster()) {
            continue;
        }
        let together = multiply(&demand, count.pods);
        let fitting = evaluations
            .iter()
            .filter(|it| it.feasibility() != Feasibility::DoesNotFit);
        let pools: Vec<_> = fitting.map(|evaluation| evaluation.pool).collect();
        let pool_reasons = pools.iter().map(|pool| {
            let mut reasons = check_pool(&together, ctx.cluster, pool).reasons.into_iter();
            Some((*pool, reasons.find(is_size)?))
        });
        let Some(reasons) = pool_reasons
            .collect::<Option<Vec<_>>>()
            .filter(|it| !it.is_empty())
        else {
            continue;
        };
        let message = format!(
            "{} has {} pods that must run on one node, but no node fits all of them",
            pod.title(),
            count.pods
        );
        let span = count.span.unwrap_or(term.span);
        let mut builder = report.diagnostic(&RULE.code, span, message);
        builder = builder.label(term.span, "all of these pods must run on the same node");
        for (pool, reason) in &reasons {
            builder = builder.label(pool.name.span, format!("pool `{}` {reason}", pool.name));
        }
        let help = "lower `replicas`, or write the rule as a preferred one";
        builder.help(help).emit();
    }
}

/// The total requests of this many pods.
fn multiply(demand: &Demand, pods: u64) -> Demand {
    let mut all = demand.clone();
    for request in &mut all.resources {
        request.count = request.count.saturating_mul(pods);
    }
    for claim in &mut all.claims {
        claim.count = claim.count.saturating_mul(pods);
    }
    for amount in all.cpu.iter_mut().chain(&mut all.memory) {
        amount.value = amount.value.saturating_mul(pods);
    }
    all
}

fn is_size(reason: &Reason) -> bool {
    let is_size = matches!(
        reason.cause,
        MisfitCause::TooManyDevices { .. } | MisfitCause::Cpu { .. } | MisfitCause::Memory { .. }
    );
    is_size && reason.feasibility == Feasibility::DoesNotFit
}
