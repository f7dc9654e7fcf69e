//! A pod names an unknown PriorityClass.

use gpuc_kubernetes::api_server::priority;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};
use gpuc_syntax::node::Node;

use crate::{CheckContext, Rule};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4036",
        name: "manifest-priority-unknown",
        severity: Severity::Warning,
        summary: "a pod names an unknown PriorityClass",
        checks: "Whether each `priorityClassName` is one of the file's `priorities`, a PriorityClass among the manifests, or
a built-in class such as those that start with `system-`. If neither the file nor the manifests define a
class, names are not checked. With `queueing: kueue`, gpuc checks the label `kueue.x-k8s.io/priority-class`
in the same way: its classes are also named after `priorities`.",
        reason: "The API server rejects pods with an unknown PriorityClass: `no PriorityClass with name … was found`. A job
with an unknown WorkloadPriorityClass stays suspended. The usual cause is a typo.",
        remedy: "Write a name from the file. If the class is created elsewhere, name the finding in `allow`.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
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
        correction: Correction::Replace("producton", "production"),
    },
    run,
};

fn run(ctx: &CheckContext<'_>, report: &mut Report) {
    let own = ctx.cluster.config.priorities.iter();
    let own = own.map(|class| class.name.as_str());
    let classes = ctx.objects.iter().filter(|it| it.kind == "PriorityClass");
    let known: Vec<_> = own
        .chain(classes.filter_map(|it| it.name.as_deref()))
        .collect();
    for pod in &ctx.pods {
        let Some(class) = pod.spec.get("priorityClassName") else {
            continue;
        };
        let name = class.text().unwrap_or_default();
        if let Some(help) = priority::unknown_class_help(name, &known) {
            let message = format!("{}: unknown PriorityClass `{name}`", pod.title());
            report
                .diagnostic(&RULE.code, Node::span(class), message)
                .help(help)
                .emit();
        }
    }
    let own = ctx.cluster.config.priorities.iter();
    let own = own.map(|class| class.name.as_str());
    let classes = ctx.objects.iter();
    let classes = classes.filter(|it| it.kind == "WorkloadPriorityClass");
    let known = own.chain(classes.filter_map(|it| it.name.as_deref()));
    let known: Vec<_> = known.filter(|_| ctx.cluster.has_queues()).collect();
    for object in ctx.objects {
        let labels = object.root.get("metadata").and_then(|it| it.get("labels"));
        let Some(class) = labels.and_then(|it| it.get(WORKLOAD_PRIORITY)) else {
            continue;
        };
        let name = class.text().unwrap_or_default();
        if let Some(help) = priority::unknown_class_help(name, &known) {
            let message = format!("{}: unknown WorkloadPriorityClass `{name}`", object.title());
            report
                .diagnostic(&RULE.code, class.span(), message)
                .help(help)
                .emit();
        }
    }
}

/// The label for the WorkloadPriorityClass of a job.
///
/// Source: kubernetes-sigs/kueue@v0.19.2 `pkg/controller/constants`, `WorkloadPriorityClassLabel` (from memory).
const WORKLOAD_PRIORITY: &str = "kueue.x-k8s.io/priority-class";
