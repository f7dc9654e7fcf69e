//! An object requests GPUs in a field that gpuc does not know.

use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use crate::unchecked::find_unchecked_request;
use crate::{CheckContext, Object, Rule};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4023",
        name: "manifest-unchecked-gpu-request",
        severity: Severity::Warning,
        summary: "an object requests GPUs in a field that gpuc does not check",
        checks: "Whether an object names a GPU resource with a quantity outside of the fields that gpuc checks: a list of
`containers`, an Argo Workflows template with its patch and manifest, Trainer nodes, KServe servers, the
driver and executors of Spark. Chart values for Flux or Argo CD are not checked: their meaning depends on
the chart.",
        reason: "gpuc did not check the request against the pools: the absence of findings means nothing for this object.",
        remedy: "Check the pods that the controller creates, `kubectl get pods -o yaml | gpuc check --manifests -`, or the
rendered chart, `helm template … | gpuc check --manifests -`. If this is done elsewhere, write `allow:
[manifest-unchecked-gpu-request]`.",
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
apiVersion: tekton.dev/v1
kind: Task
metadata: {name: train, namespace: research}
spec:
  steps:
    - name: train
      image: registry.example.com/train:1.0.0
      computeResources: {limits: {nvidia.com/gpu: 1}}
"#,
        correction: Correction::Replace("tekton.dev/v1
kind: Task
metadata: {name: train, namespace: research}
spec:
  steps:
    - name: train
      image: registry.example.com/train:1.0.0
      computeResources:", "v1
kind: Pod
metadata: {name: train, namespace: research}
spec:
  containers:
    - name: train
      image: registry.example.com/train:1.0.0
      resources:"),
    },
    run,
};

fn run(ctx: &CheckContext<'_>, report: &mut Report) {
    for object in ctx.objects {
        let Some(named) = find_unchecked_request(object, ctx.sources) else {
            continue;
        };
        let message = format!(
            "{} requests `{}` in `{}`, which gpuc does not check",
            object.title(),
            named.resource,
            named.path
        );
        report
            .diagnostic(&RULE.code, named.span, message)
            .primary_label("not part of a known container")
            .help(help(object))
            .emit();
    }
}

fn help(object: &Object) -> &'static str {
    if object.is_in_group("helm.toolkit.fluxcd.io") || object.kind.starts_with("Application") {
        "check the rendered chart: `helm template … | gpuc check --manifests -`"
    } else if object.is_in_group("kustomize.toolkit.fluxcd.io") {
        "check the built kustomization: `kubectl kustomize … | gpuc check --manifests -`"
    } else {
        "check the pods of its controller: `kubectl get pods -o yaml | gpuc check --manifests -`"
    }
}
