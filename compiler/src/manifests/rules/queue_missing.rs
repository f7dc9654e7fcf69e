//! A pod takes GPUs past the queues.

use crate::diag::{Code, Report, Severity};
use crate::manifests::place::is_queued;
use crate::manifests::{Container, Rule, Scene};
use crate::model::QUEUE_LABEL;

/// A pod takes GPUs past the queues.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4022",
        name: "manifest-queue-missing",
        severity: Severity::Warning,
        summary: "a pod takes GPUs past the queues",
        explain: "### What it checks

Under `queueing: kueue`, whether an object with GPUs names a queue by the label
`kueue.x-k8s.io/queue-name`, or stands in a namespace of a team, whose queue takes those that name
none. DaemonSets and manifests without a namespace are left out.

### Why it matters

Kueue counts only what waits in a queue. What does not starts at once and takes GPUs that were
promised to teams, whose jobs then are admitted and find none.

### What to do

Put it into a team's namespace, or write the label of a queue that its namespace has.
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
metadata: {name: train, namespace: elsewhere}
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
metadata: {name: train, namespace: research}
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
    if !scene.cluster.has_queues() {
        return;
    }
    for pod in scene.pods.iter().filter(|pod| !pod.is_of_nodes()) {
        let Some(namespace) = &pod.object.namespace else {
            continue;
        };
        let gpus = pod.containers.iter().find_map(Container::gpus);
        let Some(gpus) = gpus.filter(|_| !is_queued(scene.cluster, pod)) else {
            continue;
        };
        let message = format!("{} takes GPUs past the queues", pod.title());
        let draft = report.draft(&RULE.code, gpus.key_span, message);
        draft
            .here(format!("`{namespace}` is no team's namespace"))
            .label(scene.cluster.written.queueing.span, "jobs wait in queues")
            .help(format!(
                "put it into a team's namespace, or name a queue by the label `{QUEUE_LABEL}`"
            ))
            .emit();
    }
}
