//! A priority takes others' place in queues, and says that it does not.

use gpuc_schema::config::Preempting;

use super::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// A priority takes others' place in queues, and says that it does not.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2179",
        name: "queue-preempts-anyway",
        severity: Severity::Warning,
        summary: "a priority takes others' place in queues, and says that it does not",
        explain: "### What it checks

Whether a priority with `preempts: false` is above another one, where `queueing` is `kueue` and jobs may
take the place of others.

### Why it matters

`preempts: false` keeps Kubernetes' scheduler from evicting pods. Kueue compares priorities alone: a
job of this priority takes the place of jobs of lower ones in its team's queue, and gets back what its
team lent.

### What to do

Write `kueue: {preempt: never}` to have no job of a team stopped for another, give the priorities the
same value, or allow the warning.

Source: kubernetes-sigs/kueue `apis/kueue/v1beta2/workloadpriorityclass_types.go`: such a class has a
value and no policy.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: g6.12xlarge
    nodes: {count: 2}
queueing: kueue
priorities: [{name: urgent, value: 1000, preempts: false}, {name: usual, value: 0}]
teams:
  - {name: research, quota: {gpus: [{pool: gpu, guaranteed: 8}]}}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: g6.12xlarge
    nodes: {count: 2}
queueing: kueue
kueue: {preempt: never}
priorities: [{name: urgent, value: 1000, preempts: false}, {name: usual, value: 0}]
teams:
  - {name: research, quota: {gpus: [{pool: gpu, guaranteed: 8}]}}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let settings = cluster.written.kueue.as_ref();
    let preempt = settings.map(|it| it.preempt.value).unwrap_or_default();
    if !cluster.has_queues() || preempt == Preempting::Never {
        return;
    }
    let classes = &cluster.written.priorities;
    for class in classes
        .iter()
        .map(|it| &it.value)
        .filter(|it| !it.preempts.value)
    {
        let mut lower = classes
            .iter()
            .filter(|it| it.value.value.value < class.value.value);
        let Some(lower) = lower.next() else {
            continue;
        };
        let message = format!(
            "jobs of priority `{}` take others' place in queues",
            class.name
        );
        let draft = report.draft(&RULE.code, class.preempts.span, message);
        let draft = draft.label(lower.value.value.span, "this is lower");
        let draft = draft.label(
            cluster.written.queueing.span,
            "queues look at the value alone",
        );
        draft
            .help("write `kueue: {preempt: never}`, or the same value for both")
            .emit();
    }
}
