//! A pod uses GPUs without waiting in a queue.

use gpuc_model::{Cluster, QUEUE_LABEL, WORKLOAD_LABEL};
use gpuc_schema::config::Task;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use crate::scheduling::is_queued;
use crate::{CheckContext, Container, Object, Rule};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4022",
        name: "manifest-queue-missing",
        severity: Severity::Warning,
        summary: "a pod uses GPUs without waiting in a queue",
        checks: "Whether an object with GPUs names a queue in the label `kueue.x-k8s.io/queue-name`, or is in the namespace
of a team, whose queue admits objects without the label. The check applies with `queueing: kueue`.
DaemonSets, manifests without a namespace and the objects that gpuc generates for a `cudaTest` are not
checked.",
        reason: "Kueue counts only workloads that wait in a queue. Any other pod starts at once and occupies GPUs that are
guaranteed to teams. Kueue then admits jobs of those teams that find no free GPU.",
        remedy: "Move the object to the namespace of a team, or add the label with a queue of its namespace.",
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
        correction: Correction::Replace("elsewhere", "research"),
    },
    run,
};

fn run(ctx: &CheckContext<'_>, report: &mut Report) {
    if !ctx.cluster.has_queues() {
        return;
    }
    for pod in ctx.pods.iter().filter(|pod| !pod.is_of_daemon_set()) {
        let Some(namespace) = &pod.object.namespace else {
            continue;
        };
        let gpus = pod.containers.iter().find_map(Container::gpu_request);
        let bypasses = !is_queued(ctx.cluster, pod) && !is_cuda_test(ctx.cluster, pod.object);
        let Some(gpus) = gpus.filter(|_| bypasses) else {
            continue;
        };
        let message = format!("{} uses GPUs without waiting in a queue", pod.title());
        let builder = report.diagnostic(&RULE.code, gpus.key_span, message);
        builder
            .primary_label(format!("`{namespace}` is not the namespace of a team"))
            .label(ctx.cluster.config.queueing.span, "jobs wait in queues")
            .help(format!(
                "move it to the namespace of a team, or name a queue in the label `{QUEUE_LABEL}`"
            ))
            .emit();
    }
}

/// Whether an object belongs to a `cudaTest` workload of the file. Such a test is short, and verifies that GPUs work,
/// so it must not wait in a queue.
fn is_cuda_test(cluster: &Cluster, object: &Object) -> bool {
    let labels = object.root.get("metadata").and_then(|it| it.get("labels"));
    let name = labels.and_then(|it| it.get(WORKLOAD_LABEL)?.text());
    let mut workloads = cluster.config.workloads.iter();
    workloads
        .any(|it| name == Some(it.name.as_str()) && matches!(it.task(), Some(Task::CudaTest(_))))
}
