//! A job's pods, which wait for each other, are more than the pools or its team have.

use crate::check::together::{self, Sum};
use crate::diag::{Code, Report, Severity};
use crate::manifests::gangs::{loads, singles};
use crate::manifests::{Rule, Scene};
use crate::placement::{Load, crowded};

/// A job's pods, which wait for each other, are more than the pools or its team have.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4044",
        name: "manifest-gang-too-large",
        severity: Severity::Error,
        summary: "a job's pods, which wait for each other, are more than the pools or its team have",
        explain: "### What it checks

The pods of a TrainJob, of a RayJob, of a job of Kubeflow's training operator and of one of Volcano's,
and in queues those of a JobSet, all of them together, against the pools that hold them, each with its
most nodes, and against what its team may have. Jobs that run with fewer pods, by an `elasticPolicy` or
`minAvailable`, and those whose pods come one after the other, are left alone.

### Why it matters

Each pod waits for the others: the job never starts, and may keep GPUs busy while it waits.

### What to do

Ask for fewer pods or fewer GPUs in each, or give the pool more nodes.
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
    hosts: [node-2, node-3]
    nodes: {count: 2}
    taints: [{key: nvidia.com/gpu, value: present, effect: NoSchedule}]
--- # manifest.yaml
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: tune, namespace: research}
spec:
  runtimeRef: {name: ours}
  trainer: {numNodes: 3, resourcesPerNode: {limits: {nvidia.com/gpu: 2}}}
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
    hosts: [node-2, node-3]
    nodes: {count: 2}
    taints: [{key: nvidia.com/gpu, value: present, effect: NoSchedule}]
--- # manifest.yaml
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: tune, namespace: research}
spec:
  runtimeRef: {name: ours}
  trainer: {numNodes: 2, resourcesPerNode: {limits: {nvidia.com/gpu: 2}}}
"#,
    },
    run,
};

fn run(scene: &Scene<'_>, report: &mut Report) {
    for load in loads(scene, true) {
        look(scene, load, &RULE.code, report);
    }
}

/// Looks for what all pods of a job ask for, where one alone does not.
pub(super) fn look<'s>(
    scene: &Scene<'s>,
    load: Load<'s>,
    code: &'static Code,
    report: &mut Report,
) {
    let ones = singles(&load);
    let whole = [load];
    // What one pod asks for is another finding.
    let mut each = ones.iter().map(std::slice::from_ref);
    if each.all(|one| crowded(scene.cluster, one).is_empty()) {
        for crowd in crowded(scene.cluster, &whole) {
            together::draft(&crowd, code, &whole, report).emit();
        }
    }
    let mut each = ones.iter().map(std::slice::from_ref);
    if each.all(|one| Sum::of_one(scene.cluster, one, 0).is_empty()) {
        for sum in Sum::of_one(scene.cluster, &whole, 0) {
            sum.draft(code, &whole, report).emit();
        }
    }
}
