//! A workload sets a variable that its controller sets for each pod.

use gpuc_schema::config::Task;

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2199",
        name: "workload-variable-reserved",
        severity: Severity::Error,
        summary: "a workload sets a variable that its controller sets for each pod",
        checks: "Whether `env` or `envValueFrom` of a workload sets a variable that gpuc or the workload's controller
sets: `PET_MASTER_ADDR` and other options of `torchrun`, `MASTER_ADDR` and other variables of a
`pytorchJob`, `LWS_` and others of a `leaderWorkerSet`, `JOB_COMPLETION_INDEX` of Jobs.",
        reason: "Every pod would have the same value, but each needs its own. The pods would wait for one that never
starts, or all have the same rank.",
        remedy: "Remove the variable.",
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
  - {name: finetune, jobSet: {image: "registry.example.com/model:1.0.0", nodes: 2, gpusPerNode: 2, env: {PET_NODE_RANK: "0", LOG: "on"}}}
"#,
        correction: Correction::Replace(r#"PET_NODE_RANK: "0", "#, ""),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for workload in &cluster.config.workloads {
        for (kind, _, task) in workload.tasks() {
            let Some(pods) = task.pods() else {
                continue;
            };
            let names = pods.env.keys().chain(pods.env_value_from.keys());
            for name in names.filter(|name| is_reserved(task, name)) {
                let message = format!("the variable `{name}` of a `{kind}` is reserved");
                report
                    .diagnostic(&RULE.code, name.span, message)
                    .help("remove this variable: it is set for each pod")
                    .emit();
            }
        }
    }
}

/// The options of `torchrun` for the rendezvous, as in variables with the prefix `PET_`.
const TORCHRUN_OPTIONS: &[&str] = &[
    "NNODES",
    "NPROC_PER_NODE",
    "NODE_RANK",
    "MASTER_ADDR",
    "MASTER_PORT",
];

/// The variable with the completion index of a pod of an indexed Job.
const COMPLETION_INDEX: &str = "JOB_COMPLETION_INDEX";

/// Whether the variable is set for each pod of the task.
///
/// Source: kubeflow/trainer@v2.3.0 `pkg/constants/constants.go` (`PET_...`, which its webhook rejects in jobs);
/// kubeflow/training-operator `pkg/controller.v1/pytorch/envvar.go`; kubernetes-sigs/lws `api/leaderworkerset/v1`;
/// Kubernetes, `JOB_COMPLETION_INDEX` of indexed Jobs (all from memory).
fn is_reserved(task: Task<'_>, name: &str) -> bool {
    let torch = name.strip_prefix("PET_");
    let rendezvous = torch.is_some_and(|option| TORCHRUN_OPTIONS.contains(&option));
    let master = matches!(name, "MASTER_ADDR" | "MASTER_PORT" | "WORLD_SIZE" | "RANK");
    match task {
        Task::TrainJob(_) | Task::JobSet(_) => rendezvous || name == COMPLETION_INDEX,
        Task::PytorchJob(_) => rendezvous || master,
        Task::LeaderWorkerSet(_) => name.starts_with("LWS_"),
        Task::Job(_) => name == COMPLETION_INDEX,
        Task::CudaTest(_)
        | Task::FabricTest(_)
        | Task::CronJob(_)
        | Task::Deployment(_)
        | Task::StatefulSet(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::messages_with_id;

    #[track_caller]
    fn check(task: &str, name: &str, is_reserved: bool) {
        let (kind, _) = task.split_once(':').unwrap();
        let yaml = format!(
            "
            cloud: {{onPrem: {{context: demo}}}}
            nodePools:
              - {{name: gpu, gpu: {{model: A30, perNode: 2}}, hosts: [a, b], nodes: {{count: 2}}}}
            workloads: [{{name: a, {task}, env: {{{name}: '1'}}}}}}]
            "
        );
        let message = format!("the variable `{name}` of a `{kind}` is reserved");
        let expected = is_reserved.then_some(message);
        let expected: Vec<_> = expected.into_iter().collect();
        assert_eq!(
            messages_with_id(&yaml, "GPUC2199"),
            expected,
            "{task} {name}"
        );
    }

    #[test]
    fn reserved_variables_are_found() {
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
