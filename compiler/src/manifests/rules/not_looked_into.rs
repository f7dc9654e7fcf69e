//! An object asks for GPUs in a place that gpuc does not know.

use crate::diag::{Code, Report, Severity};
use crate::manifests::told::outside;
use crate::manifests::{Object, Rule, Scene};

/// An object asks for GPUs in a place that gpuc does not know.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4023",
        name: "manifest-not-looked-into",
        severity: Severity::Warning,
        summary: "an object asks for GPUs in a place that gpuc does not know",
        explain: "### What it checks

Whether an object names GPUs and their number outside of what gpuc takes for a pod: a list of
`containers`, a template of Argo Workflows with its patch and the manifest in it, Trainer's nodes,
KServe's servers, Spark's driver and executors. Values of charts, for Flux or Argo CD, are not looked
into: what they mean, the chart says.

### Why it matters

What the object asks for was not held against the pools: a check without findings says nothing of
it.

### What to do

Check the pods that its controller makes: `kubectl get pods -o yaml | gpuc check --manifests -`, or
what the chart makes: `helm template … | gpuc check --manifests -`. If that is done elsewhere, write
`allow: [manifest-not-looked-into]`.
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
apiVersion: tekton.dev/v1
kind: Task
metadata: {name: train, namespace: research}
spec:
  steps:
    - name: train
      image: registry.example.com/train:1.0.0
      computeResources: {limits: {nvidia.com/gpu: 1}}
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
    for object in scene.objects {
        let Some(named) = outside(object, scene.sources) else {
            continue;
        };
        let message = format!(
            "{} asks for `{}` in `{}`, and was not looked into",
            object.title(),
            named.resource,
            named.path
        );
        report
            .draft(&RULE.code, named.span, message)
            .here("no container that gpuc knows")
            .help(help(object))
            .emit();
    }
}

fn help(object: &Object) -> &'static str {
    if object.is_of("helm.toolkit.fluxcd.io") || object.kind.starts_with("Application") {
        "check what the chart makes of its values: `helm template … | gpuc check --manifests -`"
    } else if object.is_of("kustomize.toolkit.fluxcd.io") {
        "check what is built: `kubectl kustomize … | gpuc check --manifests -`"
    } else {
        "check the pods that its controller makes: `kubectl get pods -o yaml | gpuc check --manifests -`"
    }
}
