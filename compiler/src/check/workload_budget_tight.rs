//! A budget spares every pod while an autoscaler keeps few.

use gpuc_schema::config::{DisruptionBudget, Task};

use super::Rule;
use super::workload_serving::spares_all;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// A budget spares every pod while an autoscaler keeps few.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2191",
        name: "workload-budget-tight",
        severity: Severity::Warning,
        summary: "a budget spares every pod while an autoscaler keeps few",
        explain: "### What it checks

The `disruptionBudget` of a Deployment with `autoscaling`, at its `min`. One that spares every pod at
`max` as well is an error of its own (`workload-value-invalid`).

### Why it matters

While there is little to do, the nodes of its pods cannot be emptied: an upgrade waits, or goes on
without regard to the budget once its time is up.

### What to do

Write `maxUnavailable: 1`, or a `min` with one pod more.
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
workloads:
  - name: chat
    deployment:
      image: "registry.example.com/chat:1.0.0"
      gpus: 1
      cpu: 2
      autoscaling: {min: 1, max: 4}
      disruptionBudget: {minAvailable: 1}
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
workloads:
  - name: chat
    deployment:
      image: "registry.example.com/chat:1.0.0"
      gpus: 1
      cpu: 2
      autoscaling: {min: 1, max: 4}
      disruptionBudget: {maxUnavailable: 1}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for workload in &cluster.written.workloads {
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
        if !spares_all(budget, min.value) || spares_all(budget, max.value) {
            continue;
        }
        let (DisruptionBudget::MaxUnavailable(count) | DisruptionBudget::MinAvailable(count)) =
            budget;
        let message = format!(
            "while it is at its `min` of {min}, no pod of workload `{}` may be taken away",
            workload.name
        );
        let draft = report.draft(&RULE.code, count.span, message);
        let draft = draft.label(min.span, "the fewest");
        let help = "write `maxUnavailable: 1`, or raise `min`";
        draft.help(help).emit();
    }
}

#[cfg(test)]
mod tests {
    use crate::check::testing::messages;

    #[test]
    fn budgets_are_held_against_the_fewest_pods() {
        let tight = |min| {
            format!("while it is at its `min` of {min}, no pod of workload `a` may be taken away")
        };
        let stuck = "no pod may ever be taken away, so no node can be emptied".to_owned();
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
                vec![stuck.clone()],
            ),
            (
                "autoscaling: {min: 1, max: 3}",
                "maxUnavailable: 0",
                vec![],
                vec![stuck.clone()],
            ),
            (
                "replicas: 1",
                "minAvailable: 1",
                vec![],
                vec![stuck.clone()],
            ),
        ] {
            let yaml = format!(
                "
                cloud: {{onPrem: {{context: demo}}}}
                nodePools: [{{name: gpu, gpu: {{model: A30, perNode: 2}}, hosts: [a], nodes: {{count: 1}}}}]
                workloads: [{{name: a, deployment: {{image: 'a:1', cpu: 1, {scale}, disruptionBudget: {{{budget}}}}}}}]
                "
            );
            assert_eq!(messages(&yaml, "GPUC2191"), warned, "{scale} {budget}");
            assert_eq!(messages(&yaml, "GPUC2186"), refused, "{scale} {budget}");
        }
    }
}
