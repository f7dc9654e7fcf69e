//! A custom resource violates a validation rule of its CustomResourceDefinition.

use gpuc_kubernetes::api_server::Violation;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use crate::{CheckContext, Object, Rule, api_validation, installed_projects};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4090",
        name: "manifest-custom-resource-rule-violated",
        severity: Severity::Warning,
        summary: "a custom resource violates a validation rule of its CustomResourceDefinition",
        checks: "Whether JobSets, Kubeflow TrainJobs and runtimes, and Kueue queues, flavors and topologies pass the
validation rules of their definitions. gpuc evaluates these rules for a new object with the defaults that
the API server sets. Rules about later updates are not evaluated.

gpuc uses the definition in the version that the message names, whose chart gpuc installs; the message is
the definition's own. If gpuc installs the project in this cluster, `manifest-custom-resource-invalid`
reports it as an error.",
        reason: "The API server rejects the object.",
        remedy: "Change the fields that the rule names. If the cluster has another version without the rule, write `allow:
[manifest-custom-resource-rule-violated]`.",
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
apiVersion: kueue.x-k8s.io/v1beta2
kind: Topology
metadata: {name: racks}
spec:
  levels:
    - nodeLabel: kubernetes.io/hostname
    - nodeLabel: example.com/rack
"#,
        correction: Correction::Replace("kubernetes.io/hostname
    - nodeLabel: example.com/rack", "example.com/rack
    - nodeLabel: kubernetes.io/hostname"),
    },
    run,
};

fn run(ctx: &CheckContext<'_>, report: &mut Report) {
    let is_reported = |object: &Object, it: &Violation| {
        it.rule_owner.is_some() && !installed_projects::installs_group(ctx.cluster, object.group())
    };
    api_validation::report_violations(ctx, &RULE.code, is_reported, report);
}
