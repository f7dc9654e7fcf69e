//! No pool holds a pod.

use crate::diag::{Code, Report, Severity};
use crate::manifests::place::{Cause, against};
use crate::manifests::{Rule, Scene};
use crate::placement::line;

/// No pool holds a pod.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4009",
        name: "manifest-nowhere-to-run",
        severity: Severity::Error,
        summary: "no pool holds a pod",
        explain: "### What it checks

Whether some pool has everything that a pod asks for at once: the resource, its amount, cores and
memory, the labels that it chooses and the taints that it tolerates.

### Why it matters

Each part may be had somewhere, but a pod runs on one node. It waits for ever.

### What to do

The finding says of each pool what is in the way; change what stands at the nearest.
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
  nodeSelector: {gpuc.dev/pool: cpu}
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
    for unplaced in scene
        .unplaced
        .iter()
        .filter(|it| it.cause == Cause::Otherwise)
    {
        let pod = &scene.pods[unplaced.pod];
        let message = format!("no pool holds {}", pod.title());
        let mut draft = report.draft(&RULE.code, unplaced.span(&scene.pods), message);
        for verdict in &unplaced.verdicts {
            if let Some(line) = line(verdict) {
                draft = draft.label(verdict.pool.name.span, line);
            }
        }
        let nearest = unplaced.nearest();
        let in_the_way = nearest.and_then(|nearest| Some((nearest.pool, against(nearest).next()?)));
        let draft = match in_the_way {
            Some((pool, reason)) if reason.asked.is_written() => draft
                .label(reason.asked, format!("pool `{}` {reason}", pool.name))
                .help(format!(
                    "pool `{}` is the nearest: change this for it",
                    pool.name
                )),
            Some((pool, _)) => draft.help(format!("pool `{}` is the nearest", pool.name)),
            None => draft.help("add a pool that has what it asks for"),
        };
        draft.emit();
    }
}
