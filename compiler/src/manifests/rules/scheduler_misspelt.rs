//! A pod names a scheduler that is nearly that of Kubernetes.

use super::scheduler_unknown::named;
use crate::api_server::schedulers::meant;
use crate::diag::{Code, Report, Severity};
use crate::manifests::{Rule, Scene, edit};

/// A pod names a scheduler that is nearly that of Kubernetes.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4073",
        name: "manifest-scheduler-misspelt",
        severity: Severity::Error,
        summary: "a pod names a scheduler that is nearly that of Kubernetes",
        explain: "### What it checks

The `schedulerName` of pods: whether it is `default-scheduler` but for a letter or two.

### Why it matters

A pod waits for the scheduler that it names. Nobody of that name runs: it waits for ever, and no event
says so.

### What to do

Remove it: `default-scheduler` is what a pod has that names none.
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
apiVersion: batch/v1
kind: Job
metadata: {name: train, namespace: research}
spec:
  template:
    spec:
      schedulerName: default-schedular
      restartPolicy: Never
      containers:
        - name: train
          image: registry.example.com/train:1.0.0
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
  - {name: gpu, gpu: {model: A30, perNode: 2}, hosts: [node-2], nodes: {count: 1}}
--- # manifest.yaml
apiVersion: batch/v1
kind: Job
metadata: {name: train, namespace: research}
spec:
  template:
    spec:
      schedulerName: default-scheduler
      restartPolicy: Never
      containers:
        - name: train
          image: registry.example.com/train:1.0.0
          resources: {limits: {nvidia.com/gpu: 1}}
"#,
    },
    run,
};

fn run(scene: &Scene<'_>, report: &mut Report) {
    for (pod, name) in named(scene) {
        let text = name.text().unwrap_or_default();
        let Some(meant) = meant(text) else {
            continue;
        };
        let message = format!(
            "{} waits for the scheduler `{text}`, which nobody has",
            pod.title()
        );
        let draft = report.draft(&RULE.code, name.span(), message);
        let draft = draft.help(format!("write `{meant}`, or remove it"));
        match edit::text(scene.sources, name, meant) {
            Some(edit) => draft.fix(vec![edit]).emit(),
            None => draft.emit(),
        };
    }
}
