//! A probe names a port that its container does not have.

use gpuc_kubernetes::api_server::{knows, lost_ports, place};
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use crate::{Rule, Scene, api_validation};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4046",
        name: "manifest-probe-port-unknown",
        severity: Severity::Warning,
        summary: "a probe names a port that its container does not have",
        checks: "Whether the port that a probe or a `preStop` hook names is one of the `ports` of its own container. Port
numbers are not checked.",
        reason: "The API server accepts the object. A readiness probe with an unknown port never succeeds, and the pod gets
no traffic. A startup probe never lets the pod start. A liveness probe never detects a failure.",
        remedy: "Write the name of an existing port or a number, or add a port with this name to the container's `ports`. If
something else adds the port, write `allow: [manifest-probe-port-unknown]`.",
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
      ports: [{name: http, containerPort: 8000}]
      readinessProbe: {httpGet: {path: /health, port: htpp}}
"#,
        correction: Correction::Replace("port: htpp", "port: http"),
    },
    run,
};

fn run(scene: &Scene<'_>, report: &mut Report) {
    for pod in &scene.pods {
        let object = pod.object;
        // Operators add ports to their kinds, PyTorchJob among them.
        let is_known = knows(&object.api_version, &object.kind) && object.kind != "PyTorchJob";
        if !is_known || pod.is_open || !api_validation::is_whole(&object.kind, &object.root) {
            continue;
        }
        for found in lost_ports(pod.spec) {
            let Some(span) = place(pod.spec, &found.path, false) else {
                continue;
            };
            let message = format!("{}: {}", pod.title(), found.message);
            let builder = report.diagnostic(&RULE.code, span, message);
            builder.help(found.help).emit();
        }
    }
}
