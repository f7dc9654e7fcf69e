//! A job requests a topology from Kueue that its pools do not have.

use gpuc_model::scheduling::Feasibility;
use gpuc_model::{Pool, topology_levels};
use gpuc_syntax::diag::phrases::quoted_conjunction;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};
use gpuc_syntax::node::{Entry, Node, Value};

use crate::queued_workloads::is_in_generated_queue;
use crate::scheduling::evaluate_pools;
use crate::{CheckContext, Pod, Rule};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4071",
        name: "manifest-topology-unknown",
        severity: Severity::Error,
        summary: "a job requests a topology from Kueue that its pools do not have",
        checks: "Whether the topology that a pod in a queue requests exists. The annotations are
`kueue.x-k8s.io/podset-required-topology`, `podset-preferred-topology`, `podset-slice-required-topology`
and `podset-unconstrained-topology`. A pool that the team may use must be in `kueue.topology.pools`, and
the level must be one of its labels.",
        reason: "Kueue skips flavors without a topology or without the level: `Flavor \"pool-gpu\" does not support
TopologyAwareScheduling`. The job waits indefinitely.",
        remedy: "Remove the annotation, name the pool in `kueue.topology.pools`, or write one of its levels.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: cpu, hosts: [node-1], nodes: {count: 1}}
  - {name: gpu, gpu: {model: A30, perNode: 2}, hosts: [node-2], nodes: {count: 1}}
queueing: kueue
teams:
  - {name: research, quota: {gpus: [{pool: gpu, guaranteed: 1}]}}
--- # manifest.yaml
apiVersion: batch/v1
kind: Job
metadata: {name: train, namespace: research}
spec:
  template:
    metadata: {annotations: {kueue.x-k8s.io/podset-required-topology: topology.kubernetes.io/zone}}
    spec:
      restartPolicy: Never
      containers:
        - name: train
          image: registry.example.com/train:1.0.0
          resources: {limits: {nvidia.com/gpu: 1}}
"#,
        correction: Correction::Replace("metadata: {annotations: {kueue.x-k8s.io/podset-required-topology: topology.kubernetes.io/zone}}
    ", ""),
    },
    run,
};

/// The annotations that request a level, and the one that requests a topology without a level.
///
/// Source: kubernetes-sigs/kueue@00f0cbe2 `pkg/controller/jobframework/tas_validation.go`, `ValidateTASPodSetRequest`.
const TOPOLOGY_ANNOTATIONS: &[&str] = &[
    "kueue.x-k8s.io/podset-required-topology",
    "kueue.x-k8s.io/podset-preferred-topology",
    "kueue.x-k8s.io/podset-slice-required-topology",
];
const UNCONSTRAINED_TOPOLOGY: &str = "kueue.x-k8s.io/podset-unconstrained-topology";

/// The implicit lowest level of every topology.
const HOSTNAME_LABEL: &str = "kubernetes.io/hostname";

fn run(ctx: &CheckContext<'_>, report: &mut Report) {
    // Custom flavors among the manifests may have other topologies.
    let is_queue = |kind: &str| ["ClusterQueue", "ResourceFlavor"].contains(&kind);
    if ctx.objects.iter().any(|it| is_queue(&it.kind)) {
        return;
    }
    for pod in ctx
        .pods
        .iter()
        .filter(|pod| is_in_generated_queue(ctx.cluster, pod))
    {
        let annotations =
            template_metadata(&pod.object.root, pod.spec).and_then(|it| it.get("annotations"));
        for entry in annotations.map_or(&[][..], Node::entries) {
            let value = entry.value.text().unwrap_or_default();
            let requests_topology = TOPOLOGY_ANNOTATIONS.contains(&entry.key.as_str())
                || (entry.key == UNCONSTRAINED_TOPOLOGY && value == "true");
            if requests_topology && !value.contains(['$', '{']) {
                check_annotation(ctx, pod, entry, report);
            }
        }
    }
}

/// Source: kubernetes-sigs/kueue `pkg/scheduler/flavorassigner/tas_flavorassigner.go`,
/// `checkPodSetAndFlavorMatchForTAS` (read 2026-11-22).
fn check_annotation(ctx: &CheckContext<'_>, pod: &Pod<'_>, entry: &Entry, report: &mut Report) {
    let pools = candidate_pools(ctx, pod);
    let Some(pool) = pools.first() else {
        return;
    };
    let settings = ctx.cluster.config.kueue.as_ref();
    let topology = settings.and_then(|it| it.topology.as_ref());
    let has_topology = |pool: &&Pool| {
        let mut listed = topology.iter().flat_map(|it| &it.pools);
        listed.any(|name| name.value == pool.name.value)
    };
    if !pools.iter().any(has_topology) {
        let message = format!(
            "{} requests a topology, but no pool of its team has one",
            pod.title()
        );
        let builder = report.diagnostic(&RULE.code, entry.key_span, message);
        let builder = builder.label(pool.name.span, "this pool has no topology");
        let help = format!(
            "remove the annotation, or add pool `{}` to `kueue.topology` in the cluster's file",
            pool.name
        );
        builder.help(help).emit();
        return;
    }
    let Some(topology) = topology.filter(|_| entry.key != UNCONSTRAINED_TOPOLOGY) else {
        return;
    };
    let levels = topology_levels(ctx.cluster, topology);
    let level = entry.value.text().unwrap_or_default();
    if levels.is_empty() || level == HOSTNAME_LABEL || levels.iter().any(|it| it == level) {
        return;
    }
    let message = format!(
        "{} requests `{level}`, which is not a level of the topology",
        pod.title()
    );
    let builder = report.diagnostic(&RULE.code, entry.value.span(), message);
    let builder = builder.label(topology.span, "the topology with its levels");
    builder
        .help(format!("write {}", quoted_conjunction(&levels, "or")))
        .emit();
}

/// The pools that may fit a pod and that its team has a quota for; empty if they are not known.
fn candidate_pools<'s>(ctx: &CheckContext<'s>, pod: &Pod<'_>) -> Vec<&'s Pool> {
    let namespace = pod.object.namespace.as_deref().unwrap_or_default();
    let Some((team, _)) = ctx.cluster.team_of_namespace(namespace) else {
        return Vec::new();
    };
    if team.has_unknown_grants() || pod.gpu_containers().next().is_none() {
        return Vec::new();
    }
    let Some((demand, evaluations)) = evaluate_pools(ctx.cluster, &ctx.claims, pod) else {
        return Vec::new();
    };
    let requests = |name: &str| demand.resources.iter().any(|it| it.resource.value == name);
    let evaluations = evaluations
        .iter()
        .filter(|it| it.feasibility() != Feasibility::DoesNotFit);
    let pools = evaluations.map(|it| it.pool).filter(|pool| {
        let mut grants = team.grants();
        grants.any(|grant| grant.pool == pool.index && requests(&grant.resource))
    });
    pools.collect()
}

/// The metadata next to the specification of a pod.
fn template_metadata<'n>(node: &'n Node, spec: &Node) -> Option<&'n Node> {
    match &node.value {
        Value::Scalar(_) => None,
        Value::Sequence(items) => items.iter().find_map(|it| template_metadata(it, spec)),
        Value::Mapping(entries) => {
            let is_template = node.get("spec").is_some_and(|it| std::ptr::eq(it, spec));
            let own = node.get("metadata").filter(|_| is_template);
            own.or_else(|| {
                let mut below = entries.iter();
                below.find_map(|it| template_metadata(&it.value, spec))
            })
        }
    }
}
