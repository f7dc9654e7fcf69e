//! A workload starts more processes than its pods have GPUs.

use gpuc_kubernetes::launch;
use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2240",
        name: "workload-processes-over-gpus",
        severity: Severity::Warning,
        summary: "a workload starts more processes than its pods have GPUs",
        checks: "Whether `--nproc-per-node` of `torchrun` and `torch.distributed.launch`, and `--tensor-parallel-size` of vLLM on
one node, are at most the number of GPUs of each pod.",
        reason: "PyTorch and vLLM start one process for each GPU. A process without a GPU ends with `CUDA error: invalid device
ordinal`, and the others with it.",
        remedy: "Request as many GPUs as there are processes, or lower the number. `--nproc-per-node=gpu` starts a process for
each GPU.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: system, machine: m7i.large, nodes: {count: 2}}
  - {name: gpu, machine: g6.12xlarge, nodes: {count: 1}}
workloads:
  - name: finetune
    job: {image: "registry.example.com/model:1.0.0", command: [torchrun, --nproc-per-node=8, train.py], gpus: 4}
"#,
        correction: Correction::Replace("--nproc-per-node=8", "--nproc-per-node=4"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for workload in &cluster.config.workloads {
        let Some(task) = workload.task() else {
            continue;
        };
        let (Some(pods), Some(gpus)) = (task.pods(), task.gpus()) else {
            continue;
        };
        let words: Vec<_> = pods.command.iter().chain(pods.args).collect();
        let texts: Vec<_> = words.iter().map(|word| word.value.as_str()).collect();
        let is_single_node = task.nodes().is_none_or(|nodes| nodes.value == 1);
        let found = launch::process_count(&texts, pods.image)
            .filter(|it| it.count > u64::from(gpus.value) && gpus.value > 0)
            .filter(|it| is_single_node || it.option.contains("nproc"));
        let Some(found) = found else {
            continue;
        };
        let message = format!(
            "workload `{}` starts {} processes in a pod with {}",
            workload.name,
            found.count,
            gpuc_syntax::diag::phrases::pluralize(gpus.value, "GPU")
        );
        let help = if found.option.contains("nproc") {
            "request as many GPUs, or write `--nproc-per-node=gpu`".to_owned()
        } else {
            format!("request as many GPUs, or lower `{}`", found.option)
        };
        report
            .diagnostic(&RULE.code, words[found.word].span, message)
            .primary_label("one process for each GPU")
            .label(gpus.span, "the GPUs of a pod")
            .help(help)
            .emit();
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check_in;

    #[track_caller]
    fn check(task: &str, expected: &[&str]) {
        let file = "
cloud: {aws: {account: \"123456789012\", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: \"registry.example.com/gpuc-runtime:0.1.0\"}
nodePools:
- {name: system, machine: m7i.large, nodes: {count: 2}}
- {name: gpu, machine: g6.12xlarge, nodes: {count: 2}}
<rest>
";
        check_in(
            file,
            "GPUC2240",
            &format!("workloads: [{{name: a, {task}}}]"),
            expected,
        );
    }

    #[test]
    fn processes_need_gpus() {
        check(
            "job: {image: \"a:1\", command: [torchrun, --nproc-per-node=4], gpus: 4}",
            &[],
        );
        check(
            "job: {image: \"a:1\", command: [torchrun, --nproc-per-node=4], gpus: 0}",
            &[],
        );
        check(
            "deployment: {image: \"vllm/vllm-openai:v0.11.0\", args: [--model=m, -tp=8], gpus: 4}",
            &["workload `a` starts 8 processes in a pod with 4 GPUs"],
        );
        check(
            "trainJob: {image: \"a:1\", command: [torchrun, --nproc-per-node=8], nodes: 2, gpusPerNode: 1}",
            &["workload `a` starts 8 processes in a pod with 1 GPU"],
        );
    }
}
