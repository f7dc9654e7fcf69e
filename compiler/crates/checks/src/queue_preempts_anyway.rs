//! A priority with `preempts: false` preempts jobs in queues.

use gpuc_schema::config::Preempting;

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2179",
        name: "queue-preempts-anyway",
        severity: Severity::Warning,
        summary: "a priority with `preempts: false` preempts jobs in queues",
        checks: "Whether a priority with `preempts: false` is higher than another priority, with `queueing: kueue`
and preemption enabled.",
        reason: "`preempts: false` prevents the Kubernetes scheduler from evicting pods. Kueue compares only the
values of the priorities: a job of this priority preempts jobs of lower priorities in its team's
queue, and reclaims GPUs that the team lent.",
        remedy: "Set `kueue: {preempt: never}` to disable preemption within a team, give the priorities the same
value, or allow the warning.

Source: kubernetes-sigs/kueue `apis/kueue/v1beta2/workloadpriorityclass_types.go`: such a class has
a value and no policy.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
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
        correction: Correction::Replace("priorities:", "kueue: {preempt: never}
priorities:"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let settings = cluster.config.kueue.as_ref();
    let preempt = settings.map(|it| it.preempt.value).unwrap_or_default();
    if !cluster.has_queues() || preempt == Preempting::Never {
        return;
    }
    let classes = &cluster.config.priorities;
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
            "jobs of priority `{}` preempt other jobs in queues",
            class.name
        );
        report
            .diagnostic(&RULE.code, class.preempts.span, message)
            .label(lower.value.value.span, "this priority is lower")
            .label(
                cluster.config.queueing.span,
                "queues compare only the values of priorities",
            )
            .help("set `kueue: {preempt: never}`, or use the same value for both")
            .emit();
    }
}
