//! The class of priority that a patch names.

use std::collections::BTreeSet;

use gpuc_schema::Spanned;
use gpuc_schema::config::Workload;

use super::{Wrong, patch_of};
use crate::api_server::priority;
use crate::check::Checked;
use crate::diag::{Code, Report, Severity};
use crate::lower::workloads::{patched, pod_specs};
use crate::node::{Node, Scalar, Value};

/// A patch that names a class of priority that is not there.
pub(in crate::audit) static PATCH_PRIORITY: Code = Code {
    id: "GPUC3014",
    name: "workload-patch-priority-unknown",
    severity: Severity::Warning,
    summary: "a patch names a PriorityClass that is none of the file's",
    explain: "### What it checks

Whether the `priorityClassName` that a `podPatch` or `patch` gives a workload is one of `priorities`,
where the file has some, or one of Kubernetes' own, `system-` and more.

### Why it matters

The API server refuses pods of a PriorityClass that is not there. Most of the time it is a slip of the
pen.

### What to do

Write the workload's `priority` instead, or a name of the file. Where the class comes from elsewhere,
name the finding in `allow`.
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
workloads:
  - name: finetune
    job: {image: "registry.example.com/model:1.0.0", gpus: 1}
    podPatch: {priorityClassName: producton}
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
workloads:
  - name: finetune
    job: {image: "registry.example.com/model:1.0.0", gpus: 1}
    podPatch: {priorityClassName: production}
"#,
};

/// Classes of Kubernetes' own.
///
/// Source: kubernetes `pkg/apis/scheduling/v1/helpers.go`, `systemPriorityClasses` (from memory).
const OWN: &[(&str, i64)] = &[
    ("system-node-critical", 2_000_001_000),
    ("system-cluster-critical", 2_000_000_000),
];

/// Numbers that are not those of the class of the pod, which the API server writes itself.
///
/// Source: kubernetes `plugin/pkg/admission/priority/admission.go`, `admitPod` (from memory).
pub(super) fn numbers(cluster: &Checked<'_>, workload: &Spanned<Workload>) -> BTreeSet<Wrong> {
    let classes = &cluster.written.priorities;
    let mut found = BTreeSet::new();
    for object in patched(cluster, workload) {
        for spec in pod_specs(&object.node) {
            let name = spec.get("priorityClassName").and_then(Node::text);
            let name = name.filter(|it| !it.is_empty());
            let class = classes.iter().find(|it| match name {
                Some(name) => it.name.as_str() == name,
                None => it.default.value,
            });
            let own = OWN.iter().find(|it| Some(it.0) == name).map(|it| it.1);
            let value = class.map(|it| i64::from(it.value.value.value)).or(own);
            // A class that is not the file's may have any.
            let Some(value) = value.or(name.is_none().then_some(0)) else {
                continue;
            };
            let of = match (name, class) {
                (Some(name), _) => format!("its PriorityClass `{name}` has {value}"),
                (None, Some(class)) => {
                    format!("the default PriorityClass `{}` has {value}", class.name)
                }
                (None, None) => "it names no PriorityClass".to_owned(),
            };
            let mut say = |key: &str, is: String, help: &str| {
                let node = spec.get(key).map(Node::span).filter(|it| it.is_written());
                found.insert(Wrong {
                    span: node.unwrap_or_else(|| patch_of(workload)),
                    message: format!("the `{key}` of a pod is {is}, and {of}"),
                    help: help.to_owned(),
                });
            };
            if let Some(Value::Scalar(Scalar::Integer(own))) =
                spec.get("priority").map(|it| &it.value)
                && *own != value
            {
                say(
                    "priority",
                    own.to_string(),
                    "remove it: Kubernetes writes what the class has",
                );
            }
            let preempts = class.map(|it| it.preempts.value);
            let word = match preempts {
                Some(false) => "Never",
                Some(true) => "PreemptLowerPriority",
                None if name.is_none() || own.is_some() => "PreemptLowerPriority",
                None => continue,
            };
            let policy = spec.get("preemptionPolicy").and_then(Node::text);
            if let Some(policy) = policy.filter(|it| !it.is_empty() && *it != word) {
                let help = "remove it, and write a class of `priorities` with `preempts`";
                say("preemptionPolicy", format!("`{policy}`"), help);
            }
        }
    }
    found
}

/// The classes of priority that only a patch names.
pub(super) fn look(cluster: &Checked<'_>, workload: &Spanned<Workload>, report: &mut Report) {
    let known = cluster.written.priorities.iter();
    let known: Vec<_> = known.map(|class| class.name.as_str()).collect();
    let mut said = BTreeSet::new();
    for object in patched(cluster, workload) {
        for spec in pod_specs(&object.node) {
            let class = spec.get("priorityClassName");
            let Some((class, name)) = class.and_then(|it| Some((it, it.text()?))) else {
                continue;
            };
            let own = workload.priority.as_ref();
            let is_own = own.is_some_and(|own| own.as_str() == name);
            let help = priority::unknown(name, &known).filter(|_| !is_own);
            if let Some(help) = help.filter(|_| said.insert(name.to_owned())) {
                let span = Some(class.span()).filter(|span| span.is_written());
                let message = format!("the file has no PriorityClass called `{name}`");
                let span = span.unwrap_or_else(|| patch_of(workload));
                report
                    .draft(&PATCH_PRIORITY, span, message)
                    .help(help)
                    .emit();
            }
        }
    }
}
