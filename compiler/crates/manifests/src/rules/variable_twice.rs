//! A container sets an environment variable twice.

use std::collections::BTreeMap;

use gpuc_syntax::diag::{Code, Correction, Report, Severity};
use gpuc_syntax::node::Node;

use crate::{Rule, Scene};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4047",
        name: "manifest-variable-twice",
        severity: Severity::Warning,
        summary: "a container sets an environment variable twice",
        checks: "Whether `env` of a container has two variables with the same name.",
        reason: "The last one applies, and the other one has no effect. Server-side apply, which Flux and `kubectl apply
--server-side` use, rejects the object. `kubectl apply` drops one of the two later.",
        remedy: "Remove the unintended one.",
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
metadata: {name: serve, namespace: research}
spec:
  containers:
    - name: serve
      image: registry.example.com/serve:1.0.0
      resources: {limits: {nvidia.com/gpu: 1}}
      env: [{name: MODEL, value: small}, {name: MODEL, value: large}]
"#,
        correction: Correction::Replace("small}, {name: MODEL, value: ", ""),
    },
    run,
};

fn run(scene: &Scene<'_>, report: &mut Report) {
    for pod in &scene.pods {
        for container in &pod.containers {
            let mut seen = BTreeMap::new();
            for variable in container.node.get("env").map_or(&[][..], Node::items) {
                let name = variable.get("name");
                let Some((node, name)) = name.and_then(|it| Some((it, it.text()?))) else {
                    continue;
                };
                if let Some(first) = seen.insert(name, node.span()) {
                    let message = format!(
                        "{} sets the variable `{name}` twice in container `{}`",
                        pod.title(),
                        container.name()
                    );
                    let builder = report.diagnostic(&RULE.code, node.span(), message);
                    let builder = builder.label(first, "already set here");
                    builder
                        .help("remove one of the two; the last one applies")
                        .emit();
                }
            }
        }
    }
}
