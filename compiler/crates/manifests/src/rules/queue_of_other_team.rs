//! A LocalQueue refers to the ClusterQueue of a team that does not own its namespace.

use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::cluster_queue_unknown::cluster_queue_references;
use crate::{CheckContext, Rule};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4084",
        name: "manifest-queue-of-other-team",
        severity: Severity::Error,
        summary: "a LocalQueue refers to the ClusterQueue of a team that does not own its namespace",
        checks: "Whether a LocalQueue that refers to a team's ClusterQueue is in one of that team's namespaces. The check
applies with `queueing: kueue`.",
        reason: "The ClusterQueue that gpuc creates admits only jobs of its team's namespaces, by its `namespaceSelector`.
Jobs of other namespaces wait indefinitely.",
        remedy: "Name the ClusterQueue of the team that owns the namespace, or add the namespace to the team.",
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
  - {name: vision, quota: {gpus: [{pool: gpu, guaranteed: 1}]}}
--- # manifest.yaml
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: night, namespace: research}
spec: {clusterQueue: vision}
"#,
        correction: Correction::Replace("clusterQueue: vision", "clusterQueue: research"),
    },
    run,
};

fn run(ctx: &CheckContext<'_>, report: &mut Report) {
    for (object, queue) in cluster_queue_references(ctx) {
        let team = queue.text().and_then(|name| ctx.cluster.team(name));
        let (Some(team), Some(namespace)) = (team, object.namespace.as_deref()) else {
            continue;
        };
        let is_own = team.namespaces.iter().any(|it| it.value == namespace);
        // A ClusterQueue with this name among the manifests is not the team's.
        let mut others = ctx.objects.iter().filter(|it| it.kind == "ClusterQueue");
        if is_own || others.any(|it| it.name.as_deref() == Some(team.name.as_str())) {
            continue;
        }
        let name = &team.name;
        let message = format!(
            "{}: the ClusterQueue of team `{name}` does not admit jobs of `{namespace}`",
            object.title()
        );
        let help = match ctx.cluster.team_of_namespace(namespace) {
            Some((own, _)) => format!("write `{}`, the queue of the namespace's team", own.name),
            None => format!(
                "move it to a namespace of team `{name}`, or add `{namespace}` to its `namespaces`"
            ),
        };
        let builder = report.diagnostic(&RULE.code, queue.span(), message);
        builder
            .label(
                name.span,
                "its queue admits only jobs of its own namespaces",
            )
            .help(help)
            .emit();
    }
}
