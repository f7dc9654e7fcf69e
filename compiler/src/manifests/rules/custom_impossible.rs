//! A custom resource is one that its installed definition does not take.

use crate::api_server::Refused;
use crate::diag::{Code, Report, Severity};
use crate::manifests::{Object, Rule, Scene, installed, refused};

/// A custom resource is one that its installed definition does not take.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4074",
        name: "manifest-custom-impossible",
        severity: Severity::Error,
        summary: "a custom resource is one that its installed definition does not take",
        explain: "### What it checks

The same as `manifest-custom-unknown` and `manifest-custom-refused`, of kinds whose project gpuc itself
installs in this cluster: JobSet, LeaderWorkerSet, Kubeflow's Trainer and Kueue. The definition is that of
the pinned chart.

### Why it matters

`kubectl apply` and Flux refuse a field that the definition does not know: `unknown field`. A word that it
does not list, and what breaks one of its rules, is refused however it is applied.

### What to do

Write what the help says; `gpuc check --fix` does where it is sure enough.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: cpu, hosts: [node-1], nodes: {count: 1}}
  - {name: gpu, gpu: {model: A30, perNode: 2}, hosts: [node-2], nodes: {count: 1}}
charts: {kubeflow-trainer: {}}
--- # manifest.yaml
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: train, namespace: research}
spec:
  runtimeRef: {name: torch-distributed}
  trainer:
    image: registry.example.com/train:1.0.0
    numNode: 1
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
  - {name: gpu, gpu: {model: A30, perNode: 2}, hosts: [node-2], nodes: {count: 1}}
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
    },
    run,
};

fn run(scene: &Scene<'_>, report: &mut Report) {
    let is_told = |object: &Object, it: &Refused| {
        let is_of_definition = it.unknown_to.is_some() || it.rule_of.is_some();
        is_of_definition && installed::brings(scene.cluster, object.group())
    };
    refused::report(scene, &RULE.code, is_told, report);
}
