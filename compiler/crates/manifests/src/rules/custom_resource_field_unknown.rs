//! A custom resource has a field or a value that its CustomResourceDefinition does not have.

use gpuc_kubernetes::api_server::Violation;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use crate::{CheckContext, Object, Rule, api_validation, installed_projects};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4037",
        name: "manifest-custom-resource-field-unknown",
        severity: Severity::Warning,
        summary: "a custom resource has an unknown field or an unknown value",
        checks: "Whether the definition of a custom resource, in the version that the message names, has each field, and each
value where it lists the allowed ones. The check covers JobSets, LeaderWorkerSets, Kubeflow TrainJobs,
runtimes and PyTorchJobs, Kueue queues, flavors and classes, and Volcano jobs and queues.

gpuc uses the version whose chart it installs. If gpuc installs the project in this cluster,
`manifest-custom-resource-invalid` reports it as an error. Objects of API versions that this version does not
serve are not checked.",
        reason: "`kubectl apply` rejects a field that the definition does not have. Other clients drop it without a warning,
and the field has no effect.",
        remedy: "Follow the help. If the cluster has a newer version with the field, write `allow:
[manifest-custom-resource-field-unknown]`.",
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
        correction: Correction::Replace("numNode:", "numNodes:"),
    },
    run,
};

fn run(ctx: &CheckContext<'_>, report: &mut Report) {
    let is_reported = |object: &Object, it: &Violation| {
        it.unknown_to_project.is_some()
            && !installed_projects::installs_group(ctx.cluster, object.group())
    };
    api_validation::report_violations(ctx, &RULE.code, is_reported, report);
}
