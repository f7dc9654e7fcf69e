//! A custom resource has a field, or a word, that its definition does not know.

use crate::api_server::Refused;
use crate::diag::{Code, Report, Severity};
use crate::manifests::{Object, Rule, Scene, installed, refused};

/// A custom resource has a field, or a word, that its definition does not know.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4037",
        name: "manifest-custom-unknown",
        severity: Severity::Warning,
        summary: "a custom resource has a field or a word that its definition does not know",
        explain: "### What it checks

JobSets, LeaderWorkerSets, Kubeflow's TrainJobs, runtimes and PyTorchJobs, Kueue's queues, flavors and
classes, and Volcano's jobs and queues: whether the definition of each, in the version that the message
names, knows the field, and the word where it takes only some. It is the version whose chart gpuc
installs; where it does so in this cluster, it is an error, `manifest-custom-impossible`. Of other API
versions than that version serves, nothing is said.

### Why it matters

`kubectl apply` refuses a field that the definition does not know; everything else drops it without a
word, and what it was to do is not done.

### What to do

Write what the help says. Where the cluster has a newer version that knows the field, write
`allow: [manifest-custom-unknown]`.
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
--- # manifest.yaml
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: train, namespace: research}
spec:
  runtimeRef: {name: torch-distributed}
  trainer:
    image: registry.example.com/train:1.0.0
    numNode: 1
    resourcesPerNode: {limits: {nvidia.com/gpu: 2}}
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
--- # manifest.yaml
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: train, namespace: research}
spec:
  runtimeRef: {name: torch-distributed}
  trainer:
    image: registry.example.com/train:1.0.0
    numNodes: 1
    resourcesPerNode: {limits: {nvidia.com/gpu: 2}}
"#,
    },
    run,
};

fn run(scene: &Scene<'_>, report: &mut Report) {
    let is_told = |object: &Object, it: &Refused| {
        it.unknown_to.is_some() && !installed::brings(scene.cluster, object.group())
    };
    refused::report(scene, &RULE.code, is_told, report);
}
