//! A pod of a team has the priority of system components.

use gpuc_kubernetes::api_server::priority::SYSTEM_CLASSES;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};
use gpuc_syntax::node::Node;

use crate::{CheckContext, Rule};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4096",
        name: "manifest-priority-reserved",
        severity: Severity::Error,
        summary: "a pod of a team has the priority of system components",
        checks: "Whether a pod in a namespace of a team has the priority `system-node-critical` or
`system-cluster-critical`.",
        reason: "Such pods preempt all others, also those of other teams and of the cluster itself. A ResourceQuota in the
namespaces of teams therefore refuses them: the pods are never created.",
        remedy: "Remove the priority, or use one of the file's `priorities`.",
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
teams: [{name: research}]
--- # manifest.yaml
apiVersion: v1
kind: Pod
metadata: {name: train, namespace: research}
spec:
  priorityClassName: system-node-critical
  containers:
    - name: train
      image: registry.example.com/train:1.0.0
      resources: {limits: {nvidia.com/gpu: 1}}
"#,
        correction: Correction::Replace(
            "  priorityClassName: system-node-critical
",
            "",
        ),
    },
    run,
};

fn run(ctx: &CheckContext<'_>, report: &mut Report) {
    for pod in &ctx.pods {
        let namespace = pod.object.namespace.as_deref();
        let Some((team, _)) = namespace.and_then(|it| ctx.cluster.team_of_namespace(it)) else {
            continue;
        };
        let Some(class) = pod.spec.get("priorityClassName") else {
            continue;
        };
        let Some(name) = class.text().filter(|it| SYSTEM_CLASSES.contains(it)) else {
            continue;
        };
        let message = format!("{} has the priority `{name}`", pod.title());
        report
            .diagnostic(&RULE.code, Node::span(class), message)
            .primary_label("a ResourceQuota refuses such pods in the namespaces of teams")
            .label(team.name.span, "this team owns the namespace")
            .help("remove it, or use one of the file's `priorities`")
            .emit();
    }
}
