//! A job of a runtime that tolerates nothing does not say that it tolerates the taints of nodes with its GPUs.

use super::toleration_unsaid;
use crate::diag::{Code, Report, Severity};
use crate::manifests::{Rule, Scene};

/// A job of a runtime that tolerates nothing does not say that it tolerates the taints of nodes with its GPUs.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4076",
        name: "manifest-toleration-of-runtime",
        severity: Severity::Error,
        summary: "a job of a runtime that tolerates nothing tolerates no taint of nodes with its GPUs",
        explain: "### What it checks

The same as `manifest-toleration-unsaid`, of TrainJobs whose runtime is one of those that come with
Kubeflow's Trainer, where gpuc installs it: those tolerate nothing, and neither does the job.

### Why it matters

No node that has the GPUs takes its pods: they wait for ever.

### What to do

Write `tolerations` for its pods in `runtimePatches`, or a runtime of your own that has them.
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
charts: {kubeflow-trainer: {}}
--- # manifest.yaml
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: train, namespace: research}
spec:
  runtimeRef: {name: torch-distributed}
  trainer:
    image: registry.example.com/train:1.0.0
    numNodes: 1
    resourcesPerNode: {limits: {nvidia.com/gpu: 1}}
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
charts: {kubeflow-trainer: {}}
--- # manifest.yaml
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: train, namespace: research}
spec:
  runtimeRef: {name: torch-distributed}
  runtimePatches:
    - manager: example.com/people
      trainingRuntimeSpec:
        template:
          spec:
            replicatedJobs:
              - name: node
                template:
                  spec:
                    template:
                      spec: {tolerations: [{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}]}
  trainer:
    image: registry.example.com/train:1.0.0
    numNodes: 1
    resourcesPerNode: {limits: {nvidia.com/gpu: 1}}
"#,
    },
    run,
};

fn run(scene: &Scene<'_>, report: &mut Report) {
    toleration_unsaid::look(scene, &RULE.code, true, report);
}
