//! What Kubernetes cannot read, or refuses, of an object.

use crate::api_server::Refused;
use crate::diag::{Code, Report, Severity};
use crate::manifests::{Object, Rule, Scene, refused};

/// What Kubernetes cannot read, or refuses, of an object.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4035",
        name: "manifest-unreadable",
        severity: Severity::Error,
        summary: "Kubernetes cannot read an object, or refuses it",
        explain: "### What it checks

Kubernetes' own objects as the API server does, JobSets, LeaderWorkerSets, Kubeflow's and Volcano's jobs,
Kueue's queues, and the pods of Ray's jobs: fields and their kinds of values, words such as those of
`restartPolicy`, names, labels, amounts, ports and counts, volumes that are mounted and not there, and what
cannot stand beside what. Known are what makes pods, HorizontalPodAutoscalers, PodDisruptionBudgets,
Services, Ingresses, NetworkPolicies, LimitRanges, ResourceQuotas, PersistentVolumes and their claims,
classes of storage, priority and runtimes, Roles, ClusterRoles and their bindings, ServiceAccounts,
ConfigMaps, Secrets and Namespaces. Of custom resources the definitions say what they take; fields that
these do not know are another finding (`manifest-custom-unknown`).

### Why it matters

`kubectl apply` refuses a field that Kubernetes does not know; others drop it, and what it was to do is
not done: a pod with `resource:` for `resources:` gets no GPU. Everything else the API server refuses.
A root user with `runAsNonRoot` is taken, and its container never starts.

### What to do

Write what the help says; `gpuc check --fix` mends misspelt fields, words and amounts. Values that a
program fills in (`${NAME}`) are not looked at, and nothing is
missing in a part of an object, such as a patch of kustomize, or where one is laid over it.
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
apiVersion: v1
kind: Pod
metadata: {name: train, namespace: research}
spec:
  containers:
    - name: train
      image: registry.example.com/train:1.0.0
      resource: {limits: {nvidia.com/gpu: 1}}
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
apiVersion: v1
kind: Pod
metadata: {name: train, namespace: research}
spec:
  containers:
    - name: train
      image: registry.example.com/train:1.0.0
      resources: {limits: {nvidia.com/gpu: 1}}
"#,
    },
    run,
};

fn run(scene: &Scene<'_>, report: &mut Report) {
    let is_told = |_: &Object, it: &Refused| it.unknown_to.is_none() && it.rule_of.is_none();
    refused::report(scene, &RULE.code, is_told, report);
}
