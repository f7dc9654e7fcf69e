//! A job names a queue that its namespace does not have.

use gpuc_model::DEFAULT_QUEUE;
use gpuc_syntax::diag::phrases::closest_match;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};
use gpuc_syntax::node::Node;

use crate::scheduling::queue_label;
use crate::{CheckContext, Object, Rule};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4024",
        name: "manifest-queue-unknown",
        severity: Severity::Warning,
        summary: "a job names a queue that its namespace does not have",
        checks: "Whether the queue that an object names in the label `kueue.x-k8s.io/queue-name` exists: `default`,
which gpuc creates in the namespaces of teams, or a LocalQueue among the manifests. Namespaces without
a team have no queue. The check applies with `queueing: kueue`.",
        reason: "Kueue keeps a job with an unknown queue suspended until the queue exists.",
        remedy: "Write `default`, or remove the label. If the queue is created elsewhere, write `allow:
[manifest-queue-unknown]`.",
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
metadata: {name: train, namespace: research, labels: {kueue.x-k8s.io/queue-name: research}}
spec:
  template:
    spec:
      restartPolicy: Never
      containers:
        - name: train
          image: registry.example.com/train:1.0.0
          resources: {limits: {nvidia.com/gpu: 1}}
"#,
        correction: Correction::Replace("kueue.x-k8s.io/queue-name: research", "kueue.x-k8s.io/queue-name: default"),
    },
    run,
};

fn run(ctx: &CheckContext<'_>, report: &mut Report) {
    let found = unknown_queues(ctx).into_iter();
    for UnknownQueue { object, queue, .. } in found.filter(|it| it.suggestion.is_none()) {
        let name = queue.text().unwrap_or_default();
        let namespace = object.namespace.as_deref().unwrap_or_default();
        let title = object.title();
        let ((span, label), help) =
            if let Some((team, index)) = ctx.cluster.team_of_namespace(namespace) {
                let namespace = &team.namespaces[index];
                let label = format!("the queue of `{}` is `{DEFAULT_QUEUE}`", namespace.value);
                let help = format!("write `{DEFAULT_QUEUE}`, or remove the label");
                ((namespace.span, label), help)
            } else {
                let label = "only the namespaces of teams have queues".to_owned();
                let help = "move it to the namespace of a team, or add its namespace to a team";
                let span = ctx.cluster.config.queueing.span;
                ((span, label), help.to_owned())
            };
        let message = format!("{title}: unknown queue `{name}`");
        let builder = report.diagnostic(&RULE.code, queue.span(), message);
        builder.label(span, label).help(help).emit();
    }
}

/// A queue that an object names and its namespace does not have.
pub(super) struct UnknownQueue<'s> {
    pub(super) object: &'s Object,
    pub(super) queue: &'s Node,
    /// An existing queue with nearly the same name.
    pub(super) suggestion: Option<&'s str>,
}

/// The unknown queues that objects name.
pub(super) fn unknown_queues<'s>(ctx: &CheckContext<'s>) -> Vec<UnknownQueue<'s>> {
    let objects = ctx.objects.iter();
    let found = objects.filter_map(|object| {
        let namespace = object.namespace.as_deref()?;
        let queue = queue_label(object)?;
        // Kueue ignores the label of a Service, for example.
        if object.group().is_empty() && object.kind != "Pod" {
            return None;
        }
        let name = queue.text().unwrap_or_default();
        let is_open = [name, namespace]
            .iter()
            .any(|it| it.contains("{{") || it.contains("${"));
        let others = ctx.objects.iter();
        let others =
            others.filter(|it| it.kind == "LocalQueue" && it.namespace == object.namespace);
        let own = ctx
            .cluster
            .team_of_namespace(namespace)
            .map(|_| DEFAULT_QUEUE);
        let known: Vec<_> = others
            .filter_map(|it| it.name.as_deref())
            .chain(own)
            .collect();
        if is_open || known.contains(&name) {
            return None;
        }
        let meant =
            closest_match(name, known.iter().copied()).filter(|it| is_similar_name(name, it));
        Some(UnknownQueue {
            object,
            queue,
            suggestion: meant,
        })
    });
    found.filter(|_| ctx.cluster.has_queues()).collect()
}

/// Whether two names differ in length by at most one, and only in letters. Other differences mean different queues.
fn is_similar_name(one: &str, other: &str) -> bool {
    let marks = |text: &str| {
        let marks = text.chars().filter(|c| !c.is_ascii_alphabetic());
        marks.collect::<String>()
    };
    let is_long = one.len() > 4;
    is_long && one.len().abs_diff(other.len()) <= 1 && marks(one) == marks(other)
}
