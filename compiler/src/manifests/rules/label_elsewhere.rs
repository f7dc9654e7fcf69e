//! A pod chooses nodes by a label that another cloud sets.

use crate::cloud::CLOUDS;
use crate::diag::{Code, Report, Severity, words};
use crate::manifests::place::Cause;
use crate::manifests::{Pod, Rule, Scene};
use crate::model::POOL_LABEL;
use crate::placement::{Defaults, Demand, Requirement};

/// A pod chooses nodes by a label that another cloud sets.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4025",
        name: "manifest-label-elsewhere",
        severity: Severity::Warning,
        summary: "a pod chooses nodes by a label that another cloud sets",
        explain: "### What it checks

Whether `nodeSelector` and the required node affinity of a pod name a label that only another
cloud's nodes have, such as GKE's `cloud.google.com/gke-accelerator` on hosts of your own. Where the
cloud of the pools makes their nodes, it is certain that they do not have it, and the pod is
[`manifest-selector-matches-nothing`](#gpuc4006).

### Why it matters

Nothing sets the label here. Unless somebody has put it on the nodes by hand, the pod waits for
ever.

### What to do

Choose a pool by its name, `gpuc.dev/pool`, or give the pools the label in `nodePools.labels`.
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
  nodeSelector: {gpuc.dev/pool: gpu}
"#,
    },
    run,
};

fn run(scene: &Scene<'_>, report: &mut Report) {
    let without = scene
        .unplaced
        .iter()
        .filter(|it| it.cause == Cause::Selector);
    let mut without = without.map(|it| it.pod).peekable();
    for (index, pod) in scene.pods.iter().enumerate() {
        if without.next_if_eq(&index).is_some() {
            continue;
        }
        for asked in required(pod) {
            let Some(cloud) = elsewhere(scene, &asked.key) else {
                continue;
            };
            let message = format!(
                "{} chooses nodes by `{}`, a label of {cloud}",
                pod.title(),
                asked.key
            );
            let draft = report.draft(&RULE.code, asked.span, message);
            let draft = draft.here("nothing sets it here");
            let mut pools = scene.cluster.pools.iter();
            let names: Vec<_> = pools
                .clone()
                .filter(|pool| !pool.is_existing())
                .map(|pool| pool.name.as_str())
                .collect();
            let draft = match pools.find(|pool| pool.has_gpus()) {
                Some(pool) => draft.label(pool.name.span, format!("pool `{}` has GPUs", pool.name)),
                None => draft,
            };
            let help = match names.as_slice() {
                [] => "write a label that the nodes have".to_owned(),
                names => format!("choose by `{POOL_LABEL}`: {}", words::all(names, "or")),
            };
            draft.help(help).emit();
        }
    }
}

/// What a pod requires of labels.
fn required(pod: &Pod<'_>) -> Vec<Requirement> {
    let demand = Demand::of_pod(pod.nodes(), &Defaults::default());
    let terms = demand.affinity.into_iter().flatten();
    let mut required = demand.selector;
    required.extend(terms.flat_map(|term| term.labels));
    required
}

/// The other cloud whose label a key is, unless a pool has it by the file or it says which nodes a pool's are.
pub(super) fn elsewhere(scene: &Scene<'_>, key: &str) -> Option<&'static str> {
    let own = scene.cluster.cloud.facts();
    let pools = scene.cluster.pools.iter();
    let mut written = pools.flat_map(|pool| pool.labels.iter().chain(&pool.selector));
    if written.any(|label| label.key == key) {
        return None;
    }
    let facts = CLOUDS.iter().map(|cloud| cloud.facts());
    let mut others = facts.filter(|facts| facts.key != own.key);
    // One without a domain may be anybody's where this cloud has it too.
    let is_own = own.label_words.contains(&key);
    let other = others.find(|facts| {
        let mut prefixes = facts.label_prefixes.iter();
        let is_word = !is_own && facts.label_words.contains(&key);
        is_word || prefixes.any(|prefix| key.starts_with(prefix))
    });
    other.map(|facts| facts.name)
}
