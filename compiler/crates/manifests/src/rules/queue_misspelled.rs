//! The queue name of a job is nearly the name of a queue in its namespace.

use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::queue_unknown::{UnknownQueue, unknown_queues};
use crate::{CheckContext, Rule};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4075",
        name: "manifest-queue-misspelled",
        severity: Severity::Error,
        summary: "a job names an unknown queue with nearly the name of a queue of its namespace",
        checks: "Whether the queue that an object names in the label `kueue.x-k8s.io/queue-name` differs by one letter
from `default` or from a LocalQueue among the manifests. The check applies with `queueing: kueue`.",
        reason: "Kueue keeps a job with an unknown queue suspended until the queue exists.",
        remedy: "Write the queue that the help names.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
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
        correction: Correction::Replace("defualt", "default"),
    },
    run,
};

fn run(ctx: &CheckContext<'_>, report: &mut Report) {
    for UnknownQueue {
        object,
        queue,
        suggestion: meant,
    } in unknown_queues(ctx)
    {
        let Some(meant) = meant else { continue };
        let name = queue.text().unwrap_or_default();
        let message = format!("{}: unknown queue `{name}`", object.title());
        let builder = report.diagnostic(&RULE.code, queue.span(), message);
        builder
            .label(ctx.cluster.config.queueing.span, "jobs wait in queues")
            .help(format!("did you mean `{meant}`?"))
            .emit();
    }
}
