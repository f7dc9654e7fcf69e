//! A pod without GPUs chooses nodes that no pool has.

use super::label_elsewhere::elsewhere;
use crate::diag::{Code, Report, Severity, words};
use crate::manifests::place::{against, chooses_a_pool, held};
use crate::manifests::{Pod, Rule, Scene};
use crate::model::POOL_LABEL;
use crate::placement::{Answer, Demand, Reason, Why};

/// A pod without GPUs chooses nodes that no pool has.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4066",
        name: "manifest-nodes-elsewhere",
        severity: Severity::Warning,
        summary: "a pod without GPUs chooses nodes that no pool has",
        explain: "### What it checks

Pods that ask for no GPUs and choose nodes by labels, in a cluster that gpuc makes: whether some pool has nodes
with those labels whose taints the pod tolerates. DaemonSets may be for nodes that are not there.

### Why it matters

The pod waits for ever: `node(s) didn't match Pod's node affinity/selector`.

### What to do

Choose a label that nodes have, or tolerate the taint of the nodes that are meant. Where the cluster has nodes
that the file does not know, write `allow: [manifest-nodes-elsewhere]`.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: system, machine: m7i.xlarge, nodes: {count: 2}}
  - name: gpu
    machine: g6.xlarge
    nodes: {count: 2}
    taints: [{key: nvidia.com/gpu, value: present, effect: NoSchedule}]
--- # manifest.yaml
apiVersion: batch/v1
kind: Job
metadata: {name: prepare, namespace: research}
spec:
  template:
    spec:
      restartPolicy: Never
      nodeSelector: {node.kubernetes.io/instance-type: m7i.4xlarge}
      containers:
        - name: main
          image: registry.example.com/prepare:1.0.0
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: system, machine: m7i.xlarge, nodes: {count: 2}}
  - name: gpu
    machine: g6.xlarge
    nodes: {count: 2}
    taints: [{key: nvidia.com/gpu, value: present, effect: NoSchedule}]
--- # manifest.yaml
apiVersion: batch/v1
kind: Job
metadata: {name: prepare, namespace: research}
spec:
  template:
    spec:
      restartPolicy: Never
      nodeSelector: {node.kubernetes.io/instance-type: m7i.xlarge}
      containers:
        - name: main
          image: registry.example.com/prepare:1.0.0
"#,
    },
    run,
};

fn run(scene: &Scene<'_>, report: &mut Report) {
    let cluster = scene.cluster;
    if !cluster.written.cloud.creates_cluster() {
        return;
    }
    for pod in scene.pods.iter().filter(|pod| is_looked_at(pod)) {
        let Some((demand, verdicts)) = held(cluster, &scene.claims, pod) else {
            continue;
        };
        let asked = asked(&demand);
        let is_of_others = || asked.iter().any(|key| elsewhere(scene, key).is_some());
        if asked.is_empty() || chooses_a_pool(&demand) || is_of_others() {
            continue;
        }
        let mut why = Vec::new();
        for verdict in &verdicts {
            let of_nodes: Vec<_> = against(verdict).filter(|it| is_of_nodes(it)).collect();
            // A label that is not there says more than a taint.
            let label = of_nodes.iter().find(|it| !is_taint(it));
            why.extend(label.or(of_nodes.first()).map(|it| (verdict.pool, *it)));
        }
        let is_nowhere = verdicts
            .iter()
            .all(|verdict| verdict.answer() == Answer::No);
        let first = why.iter().find(|(_, reason)| !is_taint(reason));
        let Some((_, first)) = first.filter(|_| is_nowhere && why.len() == verdicts.len()) else {
            continue;
        };
        let message = format!("{} chooses nodes that no pool has", pod.title());
        let span = if first.asked.is_written() {
            first.asked
        } else {
            pod.nodes().span()
        };
        let mut draft = report.draft(&RULE.code, span, message);
        for (pool, reason) in &why {
            draft = draft.label(pool.name.span, format!("pool `{}` {reason}", pool.name));
        }
        let tainted = why.iter().find(|(_, reason)| is_taint(reason));
        let open = cluster.pools.iter().filter(|pool| pool.taints.is_empty());
        let open: Vec<_> = open.map(|pool| pool.name.as_str()).collect();
        let help = match (tainted, open.as_slice()) {
            (Some((pool, _)), _) => format!(
                "tolerate the taint of pool `{}`, or choose others",
                pool.name
            ),
            (None, []) => "choose a label that nodes have".to_owned(),
            (None, open) => format!("choose by `{POOL_LABEL}`: {}", words::all(open, "or")),
        };
        draft.help(help).emit();
    }
}

fn is_looked_at(pod: &Pod<'_>) -> bool {
    !pod.asks_for_gpus() && !pod.is_open && !pod.is_of_nodes()
}

/// The labels that a pod requires.
fn asked(demand: &Demand) -> Vec<&str> {
    let terms = demand.affinity.iter().flatten();
    let labels = terms.flat_map(|term| &term.labels);
    let labels = demand.selector.iter().chain(labels);
    labels.map(|label| label.key.as_str()).collect()
}

fn is_taint(reason: &Reason) -> bool {
    matches!(reason.why, Why::Taint { .. })
}

fn is_of_nodes(reason: &Reason) -> bool {
    is_taint(reason) || matches!(reason.why, Why::Label { .. } | Why::NoTerm { .. })
}
