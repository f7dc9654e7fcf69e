//! A custom resource does not conform to its installed CustomResourceDefinition.

use gpuc_kubernetes::api_server::Violation;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use crate::{CheckContext, Object, Rule, api_validation, installed_projects};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4074",
        name: "manifest-custom-resource-invalid",
        severity: Severity::Error,
        summary: "a custom resource does not conform to its installed CustomResourceDefinition",
        checks: "Whether custom resources pass `manifest-custom-resource-field-unknown` and
`manifest-custom-resource-rule-violated`, for kinds whose project gpuc installs in this cluster: JobSet,
LeaderWorkerSet, Kubeflow Trainer and Kueue. gpuc uses the definition of the pinned chart.",
        reason: "`kubectl apply` and Flux reject a field that the definition does not have: `unknown field`. A value that the
definition does not list, or a violation of one of its rules, is rejected however the object is applied.",
        remedy: "Follow the help. `gpuc check --fix` corrects the case or the plural of a name.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
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
        correction: Correction::Replace("numNode:", "numNodes:"),
    },
    run,
};

fn run(ctx: &CheckContext<'_>, report: &mut Report) {
    let is_reported = |object: &Object, it: &Violation| {
        let is_of_definition = it.unknown_to_project.is_some() || it.rule_owner.is_some();
        is_of_definition && installed_projects::installs_group(ctx.cluster, object.group())
    };
    api_validation::report_violations(ctx, &RULE.code, is_reported, report);
}
