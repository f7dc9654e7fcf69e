//! An object of an operator has a key, or names a template, that is misspelt.

use crate::diag::{Code, Report, Severity, words};
use crate::manifests::operators::{Slip, slips};
use crate::manifests::{Rule, Scene};

/// An object of an operator has a key, or names a template, that is misspelt.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4065",
        name: "manifest-operator-misspelt",
        severity: Severity::Warning,
        summary: "an object of Ray, KServe, Spark or Argo has a key or names a template that nobody knows",
        explain: "### What it checks

The keys of Ray, KServe, Spark and Argo that lead to pods, their number and their GPUs: whether one is written
nearly so, with another letter or two, other case, or one instead of several. Of Argo's workflows that have
their templates in themselves, whether there is a template of each name that steps and tasks use.

### Why it matters

`kubectl apply` refuses a key that nobody knows, or drops it without a word: the pods, or their GPUs, are not
there. A workflow that names no template of its own ends before it begins.

### What to do

Write what the help says. Where the operator knows a key of that name, write
`allow: [manifest-operator-misspelt]`.
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
    hosts: [node-2, node-3]
    nodes: {count: 2}
    taints: [{key: nvidia.com/gpu, value: present, effect: NoSchedule}]
--- # manifest.yaml
apiVersion: ray.io/v1
kind: RayCluster
metadata: {name: ray, namespace: research}
spec:
  headGroupSpec:
    rayStartParams: {}
    template: {spec: {containers: [{name: head, image: "registry.example.com/ray:1.0.0"}]}}
  workerGroupSpec:
    - groupName: gpus
      replicas: 2
      rayStartParams: {}
      template:
        spec:
          tolerations: [{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}]
          containers:
            - name: worker
              image: registry.example.com/ray:1.0.0
              resources: {limits: {nvidia.com/gpu: 1}}
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
    hosts: [node-2, node-3]
    nodes: {count: 2}
    taints: [{key: nvidia.com/gpu, value: present, effect: NoSchedule}]
--- # manifest.yaml
apiVersion: ray.io/v1
kind: RayCluster
metadata: {name: ray, namespace: research}
spec:
  headGroupSpec:
    rayStartParams: {}
    template: {spec: {containers: [{name: head, image: "registry.example.com/ray:1.0.0"}]}}
  workerGroupSpecs:
    - groupName: gpus
      replicas: 2
      rayStartParams: {}
      template:
        spec:
          tolerations: [{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}]
          containers:
            - name: worker
              image: registry.example.com/ray:1.0.0
              resources: {limits: {nvidia.com/gpu: 1}}
"#,
    },
    run,
};

fn run(scene: &Scene<'_>, report: &mut Report) {
    for object in scene.objects {
        for slip in slips(object) {
            match slip {
                Slip::Key { entry, meant } => {
                    let message =
                        format!("{} has `{}`, which nobody reads", object.title(), entry.key);
                    let draft = report.draft(&RULE.code, entry.key_span, message);
                    draft.help(format!("did you mean `{meant}`?")).emit();
                }
                Slip::Template { node, there } => {
                    let name = node.text().unwrap_or_default();
                    let message = format!("{} has no template `{name}`", object.title());
                    let draft = report.draft(&RULE.code, node.span(), message);
                    let help = match words::nearest(name, there.iter().copied()) {
                        Some(meant) => format!("did you mean `{meant}`?"),
                        None => format!("its templates are {}", words::all(&there, "and")),
                    };
                    draft.help(help).emit();
                }
            }
        }
    }
}
