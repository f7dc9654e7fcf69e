//! A pod takes GPUs past the queues.

use gpuc_schema::config::Task;

use crate::diag::{Code, Report, Severity};
use crate::manifests::place::is_queued;
use crate::manifests::{Container, Object, Rule, Scene};
use crate::model::{Cluster, QUEUE_LABEL, WORKLOAD_LABEL};

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
none. DaemonSets, manifests without a namespace and what gpuc makes of a `cudaTest` are left out.

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
        let past = !is_queued(scene.cluster, pod) && !is_test(scene.cluster, pod.object);
        let Some(gpus) = gpus.filter(|_| past) else {
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

/// Whether an object is a test of the file's: it is over before anything waits for its GPUs, and says whether there are
/// any, which it would not while it waits itself.
fn is_test(cluster: &Cluster, object: &Object) -> bool {
    let labels = object.root.get("metadata").and_then(|it| it.get("labels"));
    let name = labels.and_then(|it| it.get(WORKLOAD_LABEL)?.text());
    let mut workloads = cluster.written.workloads.iter();
    workloads
        .any(|it| name == Some(it.name.as_str()) && matches!(it.task(), Some(Task::CudaTest(_))))
}
