//! An object of an operator has a misspelled key, or names an unknown template.

use gpuc_syntax::diag::{Code, Correction, Report, Severity, words};

use crate::operators::{Slip, slips};
use crate::{Rule, Scene};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4065",
        name: "manifest-operator-misspelt",
        severity: Severity::Warning,
        summary: "an object of Ray, KServe, Spark or Argo has a misspelled key or names an unknown template",
        checks: "The keys of Ray, KServe, Spark and Argo for pods, their number and their GPUs. gpuc reports keys that nearly
match: one or two different letters, other case, singular instead of plural. In Argo workflows with inline
templates, whether each template that steps and tasks use exists.",
        reason: "`kubectl apply` rejects an unknown key, or the API server drops it silently: the pods or their GPUs are
missing. A workflow that names an unknown template fails at once.",
        remedy: "Follow the help. If the operator knows a key with that name, write `allow: [manifest-operator-misspelt]`.",
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
        correction: Correction::Replace("workerGroupSpec:", "workerGroupSpecs:"),
    },
    run,
};

fn run(scene: &Scene<'_>, report: &mut Report) {
    for object in scene.objects {
        for mistake in slips(object) {
            match mistake {
                Slip::Key { entry, meant } => {
                    let message = format!("{}: unknown key `{}`", object.title(), entry.key);
                    let builder = report.diagnostic(&RULE.code, entry.key_span, message);
                    builder.help(format!("did you mean `{meant}`?")).emit();
                }
                Slip::Template { node, known } => {
                    let name = node.text().unwrap_or_default();
                    let message = format!("{}: unknown template `{name}`", object.title());
                    let builder = report.diagnostic(&RULE.code, node.span(), message);
                    let help = match words::nearest(name, known.iter().copied()) {
                        Some(meant) => format!("did you mean `{meant}`?"),
                        None => format!("write {}", words::all(&known, "or")),
                    };
                    builder.help(help).emit();
                }
            }
        }
    }
}
