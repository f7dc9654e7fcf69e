//! A pod selects nodes by a label of another cloud.

use crate::scheduling::{UnschedulableCause, evaluate_pools, obstacles};
use crate::{CheckContext, Pod, Rule};

use crate::corrections::select_by_pool;
use gpuc_model::scheduling::{DefaultRequests, Demand, MisfitCause, Reason, Requirement};
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4025",
        name: "manifest-foreign-cloud-label",
        severity: Severity::Warning,
        summary: "a pod selects nodes by a label that only another cloud sets",
        checks: "Whether `nodeSelector` and the required node affinity of a pod use a label that only the nodes of another
cloud have, such as GKE's `cloud.google.com/gke-accelerator` on your own hosts. If the cloud of the pools
creates their nodes, the label is certainly missing, and gpuc reports
[`manifest-selector-matches-nothing`](#gpuc4006) instead.",
        reason: "Nothing sets the label in this cluster. Unless it was added to the nodes by hand, the pod stays Pending
indefinitely.",
        remedy: "Select a pool by its name with the label `gpuc.dev/pool`, or add the label to the pools in
`nodePools.labels`.",
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
      resources: {limits: {nvidia.com/gpu: 1}}
  nodeSelector: {cloud.google.com/gke-accelerator: nvidia-l4}
"#,
        correction: Correction::Replace("cloud.google.com/gke-accelerator: nvidia-l4", "gpuc.dev/pool: gpu"),
    },
    run,
};

fn run(ctx: &CheckContext<'_>, report: &mut Report) {
    let without = ctx
        .unschedulable
        .iter()
        .filter(|it| it.cause == UnschedulableCause::Selector);
    let mut without = without.map(|it| it.pod).peekable();
    for (index, pod) in ctx.pods.iter().enumerate() {
        if without.next_if_eq(&index).is_some() {
            continue;
        }
        for required in required_labels(pod) {
            let Some(cloud) = other_cloud_of_label(ctx, &required.key) else {
                continue;
            };
            let message = format!(
                "{} selects nodes by `{}`, a label of {cloud}",
                pod.title(),
                required.key
            );
            let builder = report.diagnostic(&RULE.code, required.span, message);
            let builder = builder.primary_label("nothing sets this label in the cluster");
            let names = pools_with_other_labels(ctx, pod);
            let mut pools = ctx.cluster.pools.iter();
            let builder = match pools.find(|pool| pool.has_gpus()) {
                Some(pool) => {
                    builder.label(pool.name.span, format!("pool `{}` has GPUs", pool.name))
                }
                None => builder,
            };
            let help = match names.as_slice() {
                [] => "write a label that the nodes have".to_owned(),
                names => select_by_pool(names, required.is_expression),
            };
            builder.help(help).emit();
        }
    }
}

/// The pools on which the pod fits, except for the labels that it selects.
fn pools_with_other_labels<'c>(ctx: &CheckContext<'c>, pod: &Pod<'_>) -> Vec<&'c str> {
    let evaluations = evaluate_pools(ctx.cluster, &ctx.claims, pod);
    let evaluations = evaluations.map_or(Vec::new(), |(_, evaluations)| evaluations);
    let is_label = |reason: &Reason| matches!(reason.cause, MisfitCause::Label { .. });
    let fitting = evaluations
        .into_iter()
        .filter(|it| !it.pool.is_existing() && obstacles(it).all(is_label));
    fitting.map(|it| it.pool.name.as_str()).collect()
}

/// The labels that a pod requires of nodes.
fn required_labels(pod: &Pod<'_>) -> Vec<Requirement> {
    let demand = Demand::from_pod_spec(pod.placement(), &DefaultRequests::default());
    let terms = demand.affinity.into_iter().flatten();
    let mut required = demand.selector;
    required.extend(terms.flat_map(|term| term.labels));
    required
}

/// The name of the other cloud that sets a label, unless a pool of the file sets or selects by it.
pub(super) fn other_cloud_of_label(ctx: &CheckContext<'_>, key: &str) -> Option<&'static str> {
    let own = ctx.cluster.cloud.facts();
    let pools = ctx.cluster.pools.iter();
    let mut written = pools.flat_map(|pool| pool.labels.iter().chain(&pool.selector));
    if written.any(|label| label.key == key) {
        return None;
    }
    let facts = ctx
        .cluster
        .registry
        .clouds
        .iter()
        .map(|cloud| cloud.facts());
    let mut other_clouds = facts.filter(|facts| facts.key != own.key);
    // A label without a domain is ambiguous if this cloud sets it too.
    let is_own = own.bare_labels.contains(&key);
    let other = other_clouds.find(|facts| {
        let mut prefixes = facts.label_prefixes.iter();
        let is_word = !is_own && facts.bare_labels.contains(&key);
        is_word || prefixes.any(|prefix| key.starts_with(prefix))
    });
    other.map(|facts| facts.name)
}
