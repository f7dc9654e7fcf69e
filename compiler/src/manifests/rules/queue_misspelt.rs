//! A job names a queue that is nearly one that its namespace has.

use super::queue_unknown::{Unknown, unknown};
use crate::diag::{Code, Report, Severity};
use crate::manifests::{Rule, Scene, edit};

/// A job names a queue that is nearly one that its namespace has.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4075",
        name: "manifest-queue-misspelt",
        severity: Severity::Error,
        summary: "a job names a queue that is nearly one that its namespace has",
        explain: "### What it checks

Under `queueing: kueue`, whether the queue that an object names by the label
`kueue.x-k8s.io/queue-name` is `default`, or a LocalQueue among the manifests, but for a letter.

### Why it matters

Kueue keeps a job whose queue is not there suspended, and waits for the queue.

### What to do

Write the queue that the help names; `gpuc check --fix` does.
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
queueing: kueue
teams:
  - {name: research, quota: {gpus: [{pool: gpu, guaranteed: 1}]}}
--- # manifest.yaml
apiVersion: batch/v1
kind: Job
metadata: {name: train, namespace: research, labels: {kueue.x-k8s.io/queue-name: defualt}}
spec:
  template:
    spec:
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
queueing: kueue
teams:
  - {name: research, quota: {gpus: [{pool: gpu, guaranteed: 1}]}}
--- # manifest.yaml
apiVersion: batch/v1
kind: Job
metadata: {name: train, namespace: research, labels: {kueue.x-k8s.io/queue-name: default}}
spec:
  template:
    spec:
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
    for Unknown {
        object,
        queue,
        meant,
    } in unknown(scene)
    {
        let Some(meant) = meant else { continue };
        let name = queue.text().unwrap_or_default();
        let message = format!(
            "{} names a queue that is not there: `{name}`",
            object.title()
        );
        let draft = report.draft(&RULE.code, queue.span(), message);
        let draft = draft
            .label(scene.cluster.written.queueing.span, "jobs wait in queues")
            .help(format!("did you mean `{meant}`?"));
        match edit::text(scene.sources, queue, meant) {
            Some(edit) => draft.fix(vec![edit]).emit(),
            None => draft.emit(),
        };
    }
}
