//! The quota has no room for the additional pod of a Deployment's rolling update.

use std::collections::BTreeMap;

use gpuc_kubernetes::rolling_update::{RollingUpdateDefaults, needs_extra_capacity};
use gpuc_model::Cluster;
use gpuc_model::scheduling::RunningWorkload;
use gpuc_model::scheduling::contention::ExceededByTeam;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use crate::services::{ServiceWorkloads, configured_pods};
use crate::{CheckContext, Pod, Rule};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4063",
        name: "manifest-update-stuck",
        severity: Severity::Warning,
        summary: "the quota leaves no room for the additional pod of a rolling update",
        checks: "Whether the team's quota allows one more pod, in addition to the team's services, for a Deployment that
creates a new pod before it deletes an old one, which is the default.",
        reason: "The first rolling update stops: the new pod is rejected or not admitted, and the Deployment keeps the old
pods until it is ready.",
        remedy: "Write `strategy: {rollingUpdate: {maxSurge: 0, maxUnavailable: 1}}`, as gpuc does for its own services with
GPUs, or leave quota for one more pod.",
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
teams:
  - {name: research, quota: {gpus: [{pool: gpu, guaranteed: 3}]}}
--- # manifest.yaml
apiVersion: apps/v1
kind: Deployment
metadata: {name: chat, namespace: research}
spec:
  replicas: 1
  selector: {matchLabels: {app: chat}}
  template:
    metadata: {labels: {app: chat}}
    spec:
      tolerations: [{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}]
      containers:
        - name: main
          image: registry.example.com/model:1.0.0
          resources: {limits: {nvidia.com/gpu: 2}}
          volumeMounts: [{name: shm, mountPath: /dev/shm}]
      volumes: [{name: shm, emptyDir: {medium: Memory}}]
"#,
        correction: Correction::Replace("template:", "strategy: {rollingUpdate: {maxSurge: 0, maxUnavailable: 1}}
  template:"),
    },
    run,
};

fn run(ctx: &CheckContext<'_>, report: &mut Report) {
    let services = ServiceWorkloads::from_context(ctx).with_quota_pools(ctx.cluster);
    let workloads = &services.workloads;
    // Services that exceed the quota already are reported by other rules.
    let mut over = Vec::new();
    for sum in ExceededByTeam::by_services(ctx.cluster, workloads) {
        over.extend_from_slice(sum.workload_indexes());
    }
    let mut pods_by_title: BTreeMap<_, &Pod<'_>> = BTreeMap::new();
    for pod in ctx
        .pods
        .iter()
        .filter(|pod| pod.object.kind == "Deployment")
    {
        let key = (pod.title(), pod.object.namespace.as_deref());
        pods_by_title.entry(key).or_insert(pod);
    }
    let pod_of = |workload: &RunningWorkload<'_>| {
        let pod = pods_by_title.get(&(workload.title.clone(), workload.namespace))?;
        needs_surge_capacity(pod).then_some(*pod)
    };
    let candidates = workloads.iter().enumerate().filter(|(index, workload)| {
        let is_checked = services.includes_manifests(&[*index]) && !over.contains(index);
        is_checked && pod_of(workload).is_some()
    });
    let candidates: Vec<_> = candidates.map(|(index, _)| index).collect();
    let mut stuck = Vec::new();
    find_stuck(ctx.cluster, workloads, &candidates, &mut stuck);
    for index in stuck {
        let workload = &workloads[index];
        let Some(pod) = pod_of(workload) else {
            continue;
        };
        if !ExceededByTeam::by_workload(ctx.cluster, workloads, index).is_empty() {
            continue;
        }
        let Some(team) = workload.team.and_then(|name| ctx.cluster.team(name)) else {
            continue;
        };
        let strategy = pod
            .object
            .root
            .get("spec")
            .and_then(|it| it.entry("strategy"));
        let span = strategy.map_or(workload.span, |it| it.key_span);
        let message = format!(
            "the quota leaves no room for the additional pod of a rolling update of {}",
            pod.title()
        );
        let builder = report.diagnostic(&RULE.code, span, message);
        let builder = builder.primary_label("keeps the old pods until a new one is ready");
        let text = "the quota of this team does not allow one more pod";
        builder
            .label(team.name.span, text)
            .help(
                "write `strategy: {rollingUpdate: {maxSurge: 0, maxUnavailable: 1}}`, \
                 or leave quota for one more pod",
            )
            .emit();
    }
}

/// The maximum number of findings: the same quota is the reason of most.
const MAX_FINDINGS: usize = 50;

/// Finds the services of which one more pod exceeds a quota. One more pod of each of them at the same time is tried
/// first: if that fits, each alone does.
fn find_stuck(
    cluster: &Cluster,
    workloads: &[RunningWorkload<'_>],
    candidates: &[usize],
    found: &mut Vec<usize>,
) {
    if candidates.is_empty() || found.len() >= MAX_FINDINGS {
        return;
    }
    let mut rolling = workloads.to_vec();
    for index in candidates {
        for group in &mut rolling[*index].groups {
            group.pods = group.pods.saturating_add(1);
        }
    }
    let mut sums = ExceededByTeam::by_services(cluster, &rolling);
    for index in candidates {
        sums.extend(ExceededByTeam::by_workload(cluster, &rolling, *index));
    }
    let is_over = |index: &usize| {
        sums.iter()
            .any(|sum| sum.workload_indexes().contains(index))
    };
    if !candidates.iter().any(is_over) {
        return;
    }
    match candidates {
        [only] => found.push(*only),
        several => {
            let (first, second) = several.split_at(several.len() / 2);
            find_stuck(cluster, workloads, first, found);
            find_stuck(cluster, workloads, second, found);
        }
    }
}

/// Whether a Deployment creates new pods before it deletes old ones.
fn needs_surge_capacity(pod: &Pod<'_>) -> bool {
    let spec = pod.object.root.get("spec");
    let strategy = spec.and_then(|spec| spec.get("strategy"));
    let pods = configured_pods(pod).map_or(1, |count| count.pods);
    needs_extra_capacity(
        strategy,
        u32::try_from(pods).unwrap_or(u32::MAX),
        &RollingUpdateDefaults::kubernetes_defaults(pods),
    )
}
