//! A pod names a `PriorityClass` that is not there.

use crate::api_server::priority;
use crate::diag::{Code, Report, Severity};
use crate::manifests::{Rule, Scene};
use crate::node::Node;

/// A pod names a `PriorityClass` that is not there.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4036",
        name: "manifest-priority-unknown",
        severity: Severity::Warning,
        summary: "a pod names a PriorityClass that is not there",
        explain: "### What it checks

Whether each `priorityClassName` is a class of the file's `priorities`, of the manifests themselves, or
one of Kubernetes' own, `system-` and more; where neither has any class, it is not asked. Under
`queueing: kueue` the same of the label `kueue.x-k8s.io/priority-class`, whose classes have the names of
`priorities` too.

### Why it matters

The API server refuses pods of a PriorityClass that is not there: `no PriorityClass with name … was
found`. A job whose class for queues is not there stays suspended. Most of the time it is a slip of the
pen.

### What to do

Write a name of the file, or name the finding in `allow` where the class comes from elsewhere.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [gpu-1, gpu-2]
    nodes: {count: 2}
priorities: [{name: production, value: 1000}]
--- # manifest.yaml
apiVersion: v1
kind: Pod
metadata: {name: train, namespace: research}
spec:
  priorityClassName: producton
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
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [gpu-1, gpu-2]
    nodes: {count: 2}
priorities: [{name: production, value: 1000}]
--- # manifest.yaml
apiVersion: v1
kind: Pod
metadata: {name: train, namespace: research}
spec:
  priorityClassName: production
  containers:
    - name: train
      image: registry.example.com/train:1.0.0
      resources: {limits: {nvidia.com/gpu: 1}}
"#,
    },
    run,
};

fn run(scene: &Scene<'_>, report: &mut Report) {
    let own = scene.cluster.written.priorities.iter();
    let own = own.map(|class| class.name.as_str());
    let classes = scene.objects.iter().filter(|it| it.kind == "PriorityClass");
    let known: Vec<_> = own
        .chain(classes.filter_map(|it| it.name.as_deref()))
        .collect();
    for pod in &scene.pods {
        let Some(class) = pod.spec.get("priorityClassName") else {
            continue;
        };
        let name = class.text().unwrap_or_default();
        if let Some(help) = priority::unknown(name, &known) {
            let message = format!(
                "{} names the PriorityClass `{name}`, which is not there",
                pod.title()
            );
            report
                .draft(&RULE.code, Node::span(class), message)
                .help(help)
                .emit();
        }
    }
    let own = scene.cluster.written.priorities.iter();
    let own = own.map(|class| class.name.as_str());
    let classes = scene.objects.iter();
    let classes = classes.filter(|it| it.kind == "WorkloadPriorityClass");
    let known = own.chain(classes.filter_map(|it| it.name.as_deref()));
    let known: Vec<_> = known.filter(|_| scene.cluster.has_queues()).collect();
    for object in scene.objects {
        let labels = object.root.get("metadata").and_then(|it| it.get("labels"));
        let Some(class) = labels.and_then(|it| it.get(QUEUED)) else {
            continue;
        };
        let name = class.text().unwrap_or_default();
        if let Some(help) = priority::unknown(name, &known) {
            let message = format!(
                "{} names the WorkloadPriorityClass `{name}`, which is not there",
                object.title()
            );
            report
                .draft(&RULE.code, class.span(), message)
                .help(help)
                .emit();
        }
    }
}

/// The label by which a job says how important it is to queues.
///
/// Source: kubernetes-sigs/kueue@v0.19.2 `pkg/controller/constants`, `WorkloadPriorityClassLabel` (from memory).
const QUEUED: &str = "kueue.x-k8s.io/priority-class";
