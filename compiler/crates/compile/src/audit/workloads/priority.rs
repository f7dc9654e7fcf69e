//! Checks the PriorityClass that a patch names.

use std::collections::BTreeSet;

use gpuc_kubernetes::api_server::priority;
use gpuc_model::check::Checked;
use gpuc_schema::Spanned;
use gpuc_schema::config::Workload;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};
use gpuc_syntax::node::{Node, Scalar, Value};

use super::{Problem, patch_span};
use crate::lower::workloads::{patched_objects, pod_specs};

/// A patch that names an unknown PriorityClass.
pub(in crate::audit) static PATCH_PRIORITY: Code = Code {
    id: "GPUC3014",
    name: "workload-patch-priority-unknown",
    severity: Severity::Warning,
    summary: "a patch names an unknown PriorityClass",
    checks: "Whether the `priorityClassName` in a `podPatch` or `patch` is one of `priorities`, if the file has
any, or one of Kubernetes' own with the prefix `system-`.",
        reason: "The API server rejects pods whose PriorityClass does not exist. The usual cause is a typo.",
        remedy: "Use the workload's `priority` instead, or a name from the file. If the class comes from elsewhere, add
the finding's name to `allow`.",
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
workloads:
  - name: finetune
    job: {image: "registry.example.com/model:1.0.0", gpus: 1}
    podPatch: {priorityClassName: producton}
"#,
    correction: Correction::Replace("producton", "production"),
};

/// Kubernetes' own PriorityClasses.
///
/// Source: kubernetes `pkg/apis/scheduling/v1/helpers.go`, `systemPriorityClasses` (from memory).
const BUILT_IN_CLASSES: &[(&str, i64)] = &[
    ("system-node-critical", 2_000_001_000),
    ("system-cluster-critical", 2_000_000_000),
];

/// The problems with priorities and preemption policies that differ from the pod's PriorityClass, from which the API
/// server sets them.
///
/// Source: kubernetes `plugin/pkg/admission/priority/admission.go`, `admitPod` (from memory).
pub(super) fn check_numbers(
    cluster: &Checked<'_>,
    workload: &Spanned<Workload>,
) -> BTreeSet<Problem> {
    let classes = &cluster.config.priorities;
    let mut found = BTreeSet::new();
    for object in patched_objects(cluster, workload) {
        for spec in pod_specs(&object.node) {
            let name = spec.get("priorityClassName").and_then(Node::text);
            let name = name.filter(|it| !it.is_empty());
            let class = classes.iter().find(|it| match name {
                Some(name) => it.name.as_str() == name,
                None => it.default.value,
            });
            let own = BUILT_IN_CLASSES
                .iter()
                .find(|it| Some(it.0) == name)
                .map(|it| it.1);
            let value = class.map(|it| i64::from(it.value.value.value)).or(own);
            // The value of a class outside the file is unknown.
            let Some(value) = value.or(name.is_none().then_some(0)) else {
                continue;
            };
            let expected = match (name, class) {
                (Some(name), _) => format!("its PriorityClass `{name}` has {value}"),
                (None, Some(class)) => {
                    format!("the default PriorityClass `{}` has {value}", class.name)
                }
                (None, None) => "it names no PriorityClass".to_owned(),
            };
            let mut report_mismatch = |key: &str, actual: String, help: &str| {
                let node = spec.get(key).map(Node::span).filter(|it| it.is_written());
                found.insert(Problem {
                    span: node.unwrap_or_else(|| patch_span(workload)),
                    message: format!("the `{key}` of a pod is {actual}, but {expected}"),
                    help: help.to_owned(),
                });
            };
            if let Some(Value::Scalar(Scalar::Integer(own))) =
                spec.get("priority").map(|it| &it.value)
                && *own != value
            {
                report_mismatch(
                    "priority",
                    own.to_string(),
                    "remove it: Kubernetes sets the value of the class",
                );
            }
            let preempts = class.map(|it| it.preempts.value);
            let expected_policy = match preempts {
                Some(false) => "Never",
                Some(true) => "PreemptLowerPriority",
                None if name.is_none() || own.is_some() => "PreemptLowerPriority",
                None => continue,
            };
            let policy = spec.get("preemptionPolicy").and_then(Node::text);
            if let Some(policy) = policy.filter(|it| !it.is_empty() && *it != expected_policy) {
                let help = "remove it, and use a class of `priorities` with `preempts`";
                report_mismatch("preemptionPolicy", format!("`{policy}`"), help);
            }
        }
    }
    found
}

/// Reports the unknown PriorityClasses in patches.
pub(super) fn check(cluster: &Checked<'_>, workload: &Spanned<Workload>, report: &mut Report) {
    let known = cluster.config.priorities.iter();
    let known: Vec<_> = known.map(|class| class.name.as_str()).collect();
    let mut reported = BTreeSet::new();
    for object in patched_objects(cluster, workload) {
        for spec in pod_specs(&object.node) {
            let class = spec.get("priorityClassName");
            let Some((class, name)) = class.and_then(|it| Some((it, it.text()?))) else {
                continue;
            };
            let own = workload.priority.as_ref();
            let is_own = own.is_some_and(|own| own.as_str() == name);
            let help = priority::unknown_class_help(name, &known).filter(|_| !is_own);
            if let Some(help) = help.filter(|_| reported.insert(name.to_owned())) {
                let span = Some(class.span()).filter(|span| span.is_written());
                let message = format!("unknown PriorityClass `{name}`");
                let span = span.unwrap_or_else(|| patch_span(workload));
                report
                    .diagnostic(&PATCH_PRIORITY, span, message)
                    .help(help)
                    .emit();
            }
        }
    }
}
