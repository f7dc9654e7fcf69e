//! A disruption budget protects every pod at an autoscaler's minimum.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_schema::config::{DisruptionBudget, Task};
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::workload_serving::protects_all;

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2191",
        name: "disruption-budget-blocks-eviction",
        severity: Severity::Warning,
        summary: "a disruption budget protects every pod at an autoscaler's minimum",
        checks: "Whether the `disruptionBudget` of a Deployment with `autoscaling` allows an eviction at its `min`. A
budget that protects every pod at `max` as well is an error (`workload-value-invalid`).",
        reason: "At the minimum number of pods, their nodes cannot be drained: an upgrade waits, or ignores the
budget after a timeout.",
        remedy: "Set `maxUnavailable: 1`, or raise `min` by one pod.",
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
workloads:
  - name: chat
    deployment:
      image: "registry.example.com/chat:1.0.0"
      gpus: 1
      cpu: 2
      autoscaling: {min: 1, max: 4}
      disruptionBudget: {minAvailable: 1}
"#,
        correction: Correction::Replace("minAvailable:", "maxUnavailable:"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for workload in &cluster.config.workloads {
        let Some(Task::Deployment(task)) = workload.task() else {
            continue;
        };
        let Some((scaling, budget)) = task
            .autoscaling
            .as_ref()
            .zip(task.disruption_budget.as_ref())
        else {
            continue;
        };
        let (min, max) = (&scaling.min, &scaling.max);
        if !protects_all(budget, min.value) || protects_all(budget, max.value) {
            continue;
        }
        let (DisruptionBudget::MaxUnavailable(count) | DisruptionBudget::MinAvailable(count)) =
            budget;
        let message = format!(
            "no pod of workload `{}` can be evicted at its `min` of {min}",
            workload.name
        );
        let help = "write `maxUnavailable: 1` instead, or raise `min`";
        report
            .diagnostic(&RULE.code, count.span, message)
            .label(min.span, "the minimum number of pods")
            .help(help)
            .emit();
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::messages_with_id;

    #[test]
    fn budgets_are_checked_at_the_minimum() {
        let tight = |min| format!("no pod of workload `a` can be evicted at its `min` of {min}");
        let message =
            "the disruption budget never allows an eviction, so that nodes cannot be drained"
                .to_owned();
        for (scale, budget, warned, refused) in [
            (
                "autoscaling: {min: 1, max: 3}",
                "minAvailable: 1",
                vec![tight(1)],
                vec![],
            ),
            (
                "autoscaling: {min: 1, max: 3}",
                "minAvailable: 50%",
                vec![tight(1)],
                vec![],
            ),
            (
                "autoscaling: {min: 2, max: 3}",
                "minAvailable: 2",
                vec![tight(2)],
                vec![],
            ),
            (
                "autoscaling: {min: 2, max: 3}",
                "minAvailable: 1",
                vec![],
                vec![],
            ),
            (
                "autoscaling: {min: 1, max: 3}",
                "maxUnavailable: 1",
                vec![],
                vec![],
            ),
            (
                "autoscaling: {min: 1, max: 3}",
                "minAvailable: 3",
                vec![],
                vec![message.clone()],
            ),
            (
                "autoscaling: {min: 1, max: 3}",
                "maxUnavailable: 0",
                vec![],
                vec![message.clone()],
            ),
            (
                "replicas: 1",
                "minAvailable: 1",
                vec![],
                vec![message.clone()],
            ),
        ] {
            let yaml = format!(
                "
                cloud: {{onPrem: {{context: demo}}}}
                nodePools: [{{name: gpu, gpu: {{model: A30, perNode: 2}}, hosts: [a], nodes: {{count: 1}}}}]
                workloads: [{{name: a, deployment: {{image: 'a:1', cpu: 1, {scale}, disruptionBudget: {{{budget}}}}}}}]
                "
            );
            assert_eq!(
                messages_with_id(&yaml, "GPUC2191"),
                warned,
                "{scale} {budget}"
            );
            assert_eq!(
                messages_with_id(&yaml, "GPUC2186"),
                refused,
                "{scale} {budget}"
            );
        }
    }
}
