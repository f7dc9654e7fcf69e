//! A probe asks a port by a name that its container has not.

use crate::api_server::{knows, lost_ports, place};
use crate::diag::{Code, Report, Severity};
use crate::manifests::{Rule, Scene, refused};

/// A probe asks a port by a name that its container has not.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4046",
        name: "manifest-probe-port-unknown",
        severity: Severity::Warning,
        summary: "a probe asks a port by a name that its container has not",
        explain: "### What it checks

Whether the port that a probe or a `preStop` names is one of the `ports` of its own container. A number
is not looked at.

### Why it matters

Kubernetes takes the object. A readiness probe that finds no port never succeeds, so that the pod gets no
traffic; a startup probe never lets it start; a liveness probe never finds out.

### What to do

Write the name that the port has, a port of this name into the container's `ports`, or the number. Where
something else adds the port, write `allow: [manifest-probe-port-unknown]`.
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
metadata: {name: serve, namespace: research}
spec:
  containers:
    - name: serve
      image: registry.example.com/serve:1.0.0
      resources: {limits: {nvidia.com/gpu: 1}}
      ports: [{name: http, containerPort: 8000}]
      readinessProbe: {httpGet: {path: /health, port: http}}
"#,
    },
    run,
};

fn run(scene: &Scene<'_>, report: &mut Report) {
    for pod in &scene.pods {
        let object = pod.object;
        // Operators of other kinds add ports; that of PyTorchJobs does too.
        let is_known = knows(&object.api_version, &object.kind) && object.kind != "PyTorchJob";
        if !is_known || pod.is_open || !refused::is_whole(&object.kind, &object.root) {
            continue;
        }
        for found in lost_ports(pod.spec) {
            let Some(span) = place(pod.spec, &found.path, false) else {
                continue;
            };
            let message = format!("{}: {}", pod.title(), found.message);
            let draft = report.draft(&RULE.code, span, message);
            draft.help(found.help).emit();
        }
    }
}
