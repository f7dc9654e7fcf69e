//! Kubernetes cannot read an object, or rejects it.

use gpuc_kubernetes::api_server::Violation;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use crate::{CheckContext, Object, Rule, api_validation};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4035",
        name: "manifest-unreadable",
        severity: Severity::Error,
        summary: "Kubernetes cannot read an object, or rejects it",
        checks: "Whether the API server accepts the manifests of built-in Kubernetes objects, JobSets, LeaderWorkerSets,
Kubeflow and Volcano jobs, Kueue queues, and the pods of Ray jobs. gpuc applies the validation of the API
server: fields and their types, enumerations such as `restartPolicy`, names, labels, quantities, ports and
counts, volumes that are mounted but not defined, and fields that exclude each other.

gpuc knows workload kinds, HorizontalPodAutoscalers, PodDisruptionBudgets, Services, Ingresses,
NetworkPolicies, LimitRanges, ResourceQuotas, PersistentVolumes and PersistentVolumeClaims, StorageClasses,
PriorityClasses and RuntimeClasses, Roles, ClusterRoles and their bindings, ServiceAccounts, ConfigMaps,
Secrets and Namespaces.

gpuc checks custom resources by their definitions; `manifest-custom-resource-field-unknown` reports fields
that these do not have.",
        reason: "`kubectl apply` rejects an unknown field. Other clients drop it, and it has no effect: a pod with
`resource:` instead of `resources:` gets no GPU. The API server rejects the other mistakes. It accepts a
root user with `runAsNonRoot`, but the container never starts.",
        remedy: "Follow the help. `gpuc check --fix` corrects the case or the plural of a name, with `--unsafe-fixes` also other
spellings and quantities, but no fields that grant access. Template placeholders (`${NAME}`) are not checked. gpuc
does not report missing fields in a partial object, such as a kustomize patch, or in an object that is patched.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
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
        correction: Correction::Replace("resource:", "resources:"),
    },
    run,
};

fn run(ctx: &CheckContext<'_>, report: &mut Report) {
    let is_reported =
        |_: &Object, it: &Violation| it.unknown_to_project.is_none() && it.rule_owner.is_none();
    api_validation::report_violations(ctx, &RULE.code, is_reported, report);
}
