//! A workload sets a variable by which its pods find each other.

use gpuc_schema::config::Task;

use super::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// A workload sets a variable by which its pods find each other.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2199",
        name: "workload-variable-taken",
        severity: Severity::Error,
        summary: "a workload sets a variable by which its pods find each other",
        explain: "### What it checks

Whether `env` or `envValueFrom` of a workload sets a variable that gpuc or the controller of its
kind sets: `PET_MASTER_ADDR` and its like of `torchrun`, `MASTER_ADDR` and its like of a `pytorchJob`, `LWS_`
and more of a `leaderWorkerSet`, `JOB_COMPLETION_INDEX` of jobs.

### Why it matters

Every pod would get the same value, where each needs its own: the pods would wait for one that does
not come, or all be the first.

### What to do

Remove it.
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
  - {name: finetune, jobSet: {image: "registry.example.com/model:1.0.0", nodes: 2, gpusPerNode: 2, env: {PET_NODE_RANK: "0", LOG: "on"}}}
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
  - {name: finetune, jobSet: {image: "registry.example.com/model:1.0.0", nodes: 2, gpusPerNode: 2, env: {LOG: "on"}}}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for workload in &cluster.written.workloads {
        for (kind, _, task) in workload.tasks() {
            let Some(pods) = task.pods() else {
                continue;
            };
            let names = pods.env.keys().chain(pods.env_value_from.keys());
            for name in names.filter(|name| is_taken(task, name)) {
                let message = format!("the variable `{name}` of a `{kind}` is set for each pod");
                let draft = report.draft(&RULE.code, name.span, message);
                draft.help("remove it").emit();
            }
        }
    }
}

/// The options of `torchrun` by which pods find each other, as variables with `PET_` before them write them.
const OF_TORCHRUN: &[&str] = &[
    "NNODES",
    "NPROC_PER_NODE",
    "NODE_RANK",
    "MASTER_ADDR",
    "MASTER_PORT",
];

/// The number of a pod of an indexed Job.
const INDEX: &str = "JOB_COMPLETION_INDEX";

/// Whether each pod of a task has a variable of this name already.
///
/// Source: kubeflow/trainer@v2.3.0 `pkg/constants/constants.go` (`PET_...`, which its webhook refuses in jobs);
/// kubeflow/training-operator `pkg/controller.v1/pytorch/envvar.go`; kubernetes-sigs/lws `api/leaderworkerset/v1`;
/// Kubernetes, `JOB_COMPLETION_INDEX` of indexed Jobs (all from memory).
fn is_taken(task: Task<'_>, name: &str) -> bool {
    let torch = name.strip_prefix("PET_");
    let rendezvous = torch.is_some_and(|option| OF_TORCHRUN.contains(&option));
    let master = matches!(name, "MASTER_ADDR" | "MASTER_PORT" | "WORLD_SIZE" | "RANK");
    match task {
        Task::TrainJob(_) | Task::JobSet(_) => rendezvous || name == INDEX,
        Task::PytorchJob(_) => rendezvous || master,
        Task::LeaderWorkerSet(_) => name.starts_with("LWS_"),
        Task::Job(_) => name == INDEX,
        Task::CudaTest(_) | Task::CronJob(_) | Task::Deployment(_) | Task::StatefulSet(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use crate::check::testing::messages;

    #[track_caller]
    fn check(task: &str, name: &str, is_taken: bool) {
        let (kind, _) = task.split_once(':').unwrap();
        let yaml = format!(
            "
            cloud: {{onPrem: {{context: demo}}}}
            nodePools:
              - {{name: gpu, gpu: {{model: A30, perNode: 2}}, hosts: [a, b], nodes: {{count: 2}}}}
            workloads: [{{name: a, {task}, env: {{{name}: '1'}}}}}}]
            "
        );
        let message = format!("the variable `{name}` of a `{kind}` is set for each pod");
        let expected = is_taken.then_some(message);
        let expected: Vec<_> = expected.into_iter().collect();
        assert_eq!(messages(&yaml, "GPUC2199"), expected, "{task} {name}");
    }

    #[test]
    fn pods_are_told_who_they_are() {
        let several = "image: 'a:1', nodes: 2, gpusPerNode: 1";
        for (kind, name) in [
            ("trainJob", "PET_MASTER_ADDR"),
            ("jobSet", "PET_NODE_RANK"),
            ("pytorchJob", "MASTER_ADDR"),
            ("leaderWorkerSet", "LWS_LEADER_ADDRESS"),
        ] {
            let more = if kind == "pytorchJob" {
                ", operator: existing"
            } else {
                ""
            };
            let task = format!("{kind}: {{{several}{more}");
            check(&task, name, true);
            check(&task, "NCCL_DEBUG", false);
        }
        check("job: {image: 'a:1'", "JOB_COMPLETION_INDEX", true);
        check("deployment: {image: 'a:1'", "PET_MASTER_ADDR", false);
    }
}
