//! A pod names a misspelled `default-scheduler`.

use gpuc_kubernetes::api_server::schedulers::meant;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::scheduler_unknown::named;
use crate::{Rule, Scene, text_edit};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4073",
        name: "manifest-scheduler-misspelt",
        severity: Severity::Error,
        summary: "a pod names a misspelled `default-scheduler`",
        checks: "Whether the `schedulerName` of pods differs by one or two letters from `default-scheduler`.",
        reason: "A pod waits for the scheduler that it names. If no scheduler has that name, the pod stays Pending
indefinitely, without an event.",
        remedy: "Remove `schedulerName`: it defaults to `default-scheduler`.",
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
        correction: Correction::Replace("default-schedular", "default-scheduler"),
    },
    run,
};

fn run(scene: &Scene<'_>, report: &mut Report) {
    for (pod, name) in named(scene) {
        let text = name.text().unwrap_or_default();
        let Some(meant) = meant(text) else {
            continue;
        };
        let message = format!("{}: unknown scheduler `{text}`", pod.title());
        let builder = report.diagnostic(&RULE.code, name.span(), message);
        let builder = builder.help(format!("write `{meant}`, or remove it"));
        match text_edit::text(scene.sources, name, meant) {
            Some(edit) => builder.fix(vec![edit]).emit(),
            None => builder.emit(),
        };
    }
}
