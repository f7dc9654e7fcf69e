//! Pods with required anti-affinity to each other outnumber the nodes or zones that fit them.

use std::collections::BTreeSet;

use gpuc_model::Pool;
use gpuc_model::scheduling::{Feasibility, ZONE, known_label_values};
use gpuc_syntax::diag::{Code, Correction, Report, Severity, phrases};

use crate::pod_affinity::{HOSTNAME_LABEL, SelfSelectingTerm, self_selecting_term};
use crate::pod_count::PodCount;
use crate::scheduling::{evaluate_pools, selects_pool_nodes};
use crate::services;
use crate::{CheckContext, Pod, Rule};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4053",
        name: "manifest-anti-affinity-unsatisfiable",
        severity: Severity::Error,
        summary: "pods with required anti-affinity outnumber the nodes or zones that fit them",
        checks: "Whether the pools that fit the pods of a service have at least as many nodes, at their maximum, or
zones as there are `replicas`, if the pods have a required anti-affinity to each other by
`kubernetes.io/hostname` or `topology.kubernetes.io/zone`.",
        reason: "The last pods stay Pending indefinitely: `node(s) didn't match pod anti-affinity rules`. A rolling update of
a Deployment also waits for one more node.",
        remedy: "Run fewer pods, or use `preferredDuringSchedulingIgnoredDuringExecution` for the anti-affinity.",
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
        podAntiAffinity:
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
        let own = self_selecting_term(pod, "podAntiAffinity");
        let Some((count, term)) = services::configured_pods(pod).zip(own) else {
            continue;
        };
        let Some((demand, evaluations)) = evaluate_pools(ctx.cluster, &ctx.claims, pod) else {
            continue;
        };
        let is_any = !pod.requests_gpus() && !selects_pool_nodes(&demand);
        if is_any && !ctx.cluster.config.cloud.creates_cluster() {
            continue;
        }
        let fitting = evaluations
            .iter()
            .filter(|it| it.feasibility() != Feasibility::DoesNotFit);
        let pools: Vec<_> = fitting.map(|evaluation| evaluation.pool).collect();
        match term.key {
            HOSTNAME_LABEL => check_nodes(pod, &count, &term, &pools, report),
            ZONE => check_zones(ctx, pod, &count, &term, &pools, report),
            _ => {}
        }
    }
}

fn check_nodes(
    pod: &Pod<'_>,
    count: &PodCount,
    term: &SelfSelectingTerm<'_>,
    pools: &[&Pool],
    report: &mut Report,
) {
    let nodes: Option<Vec<_>> = pools.iter().map(|pool| pool.nodes.get()).collect();
    let Some(nodes) = nodes.filter(|nodes| !nodes.is_empty()) else {
        return;
    };
    let max: u64 = nodes.iter().map(|nodes| u64::from(nodes.max)).sum();
    if count.pods <= max {
        return;
    }
    let message = format!(
        "{} has {} pods that must run on different nodes, but at most {} can exist",
        pod.title(),
        count.pods,
        phrases::pluralize(max, "node")
    );
    let span = count.span.unwrap_or(term.span);
    let mut builder = report.diagnostic(&RULE.code, span, message);
    builder = builder.label(term.span, "at most one of these pods per node");
    for (pool, nodes) in pools.iter().zip(&nodes) {
        let max = phrases::pluralize(u64::from(nodes.max), "node");
        builder = builder.label(
            nodes.max_span,
            format!("pool `{}` has at most {max}", pool.name),
        );
    }
    builder.help(help(max)).emit();
}

fn check_zones(
    ctx: &CheckContext<'_>,
    pod: &Pod<'_>,
    count: &PodCount,
    term: &SelfSelectingTerm<'_>,
    pools: &[&Pool],
    report: &mut Report,
) {
    let zones = pools
        .iter()
        .map(|pool| known_label_values(ctx.cluster, pool, ZONE));
    let Some(zones) = zones.collect::<Option<Vec<_>>>() else {
        return;
    };
    let all: BTreeSet<_> = zones.iter().flatten().collect();
    let max = all.len() as u64;
    if all.is_empty() || count.pods <= max {
        return;
    }
    let message = format!(
        "{} has {} pods that must run in different zones, but the pools have {}",
        pod.title(),
        count.pods,
        phrases::pluralize(max, "zone")
    );
    let span = count.span.unwrap_or(term.span);
    let mut builder = report.diagnostic(&RULE.code, span, message);
    builder = builder.label(term.span, "at most one of these pods per zone");
    for (pool, zones) in pools.iter().zip(&zones) {
        let names: Vec<_> = zones.iter().collect();
        let text = format!(
            "pool `{}` is in {}",
            pool.name,
            phrases::quoted_conjunction(&names, "and")
        );
        builder = builder.label(pool.name.span, text);
    }
    builder.help(help(max)).emit();
}

fn help(max: u64) -> String {
    format!("set `replicas` to at most {max}, or write the rule as a preferred one")
}
