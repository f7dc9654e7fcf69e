//! A LocalQueue refers to an unknown ClusterQueue.

use gpuc_syntax::diag::phrases::{closest_match, quoted_conjunction};
use gpuc_syntax::diag::{Code, Correction, Report, Severity};
use gpuc_syntax::node::Node;

use crate::{CheckContext, Object, Rule};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4083",
        name: "manifest-cluster-queue-unknown",
        severity: Severity::Warning,
        summary: "a LocalQueue refers to an unknown ClusterQueue",
        checks: "Whether the `clusterQueue` of a LocalQueue is the name of a team, for which gpuc creates a ClusterQueue,
or a ClusterQueue among the manifests. The check applies with `queueing: kueue`.",
        reason: "Kueue keeps the jobs of such a LocalQueue suspended until the ClusterQueue exists.",
        remedy: "Write the name of a team. If the ClusterQueue is created elsewhere, write `allow:
[manifest-cluster-queue-unknown]`.",
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
spec: {clusterQueue: reserch}
"#,
        correction: Correction::Replace("reserch", "research"),
    },
    run,
};

fn run(ctx: &CheckContext<'_>, report: &mut Report) {
    let teams = ctx.cluster.teams.iter().map(|it| it.name.as_str());
    let teams: Vec<_> = teams.collect();
    let objects = ctx.objects.iter();
    let own = objects.filter(|it| it.kind == "ClusterQueue");
    let own: Vec<_> = own.filter_map(|it| it.name.as_deref()).collect();
    for (object, queue) in cluster_queue_references(ctx) {
        let name = queue.text().unwrap_or_default();
        if teams.contains(&name) || own.contains(&name) || name.contains(['$', '{']) {
            continue;
        }
        let message = format!("{}: unknown ClusterQueue `{name}`", object.title());
        let known = || teams.iter().chain(&own).copied();
        let help = match closest_match(name, known()) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => format!(
                "write {}",
                quoted_conjunction(&known().collect::<Vec<_>>(), "or")
            ),
        };
        let span = ctx.cluster.config.queueing.span;
        let builder = report.diagnostic(&RULE.code, queue.span(), message);
        builder
            .label(
                span,
                "gpuc creates a ClusterQueue for each team, with the team's name",
            )
            .help(help)
            .emit();
    }
}

/// The LocalQueues among the manifests, each with its `clusterQueue`.
pub(super) fn cluster_queue_references<'s>(
    ctx: &CheckContext<'s>,
) -> impl Iterator<Item = (&'s Object, &'s Node)> {
    let is_queued = ctx.cluster.has_queues();
    let objects = ctx
        .objects
        .iter()
        .filter(move |it| is_queued && it.kind == "LocalQueue" && it.is_in_group("kueue.x-k8s.io"));
    objects.filter_map(|it| Some((it, it.root.get("spec")?.get("clusterQueue")?)))
}
