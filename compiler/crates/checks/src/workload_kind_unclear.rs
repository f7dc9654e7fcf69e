//! A workload does not have exactly one kind.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_schema::config::TASKS;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::messages::keyword_list;

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2180",
        name: "workload-kind-unclear",
        severity: Severity::Error,
        summary: "a workload does not have exactly one kind",
        checks: "Whether each workload has exactly one of the keys that set its kind: `cudaTest`, `fabricTest`, `job`,
`cronJob`, `deployment`, `statefulSet`, `trainJob`, `pytorchJob`, `jobSet`, `leaderWorkerSet`.",
        reason: "gpuc creates a different Kubernetes object for each kind. Without a kind there is nothing to create,
and with two kinds the workload is ambiguous.",
        remedy: "Add one of the keys, or split the workload into two.",
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
  - {name: finetune, pool: gpu}
"#,
        correction: Correction::Replace("pool: gpu", r#"pool: gpu, job: {image: "registry.example.com/model:1.0.0", gpus: 1}"#),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for workload in &cluster.config.workloads {
        let name = &workload.name;
        match workload.tasks().as_slice() {
            [_] => {}
            [] => {
                let message = format!("workload `{name}` has no kind");
                report
                    .diagnostic(&RULE.code, name.span, message)
                    .help(format!("add one of the keys {}", keyword_list(TASKS)))
                    .emit();
            }
            [(first, first_span, _), (second, span, _), ..] => {
                let message = format!("workload `{name}` has two kinds, `{first}` and `{second}`");
                report
                    .diagnostic(&RULE.code, *span, message)
                    .label(*first_span, "the other kind")
                    .help("split it into two workloads")
                    .emit();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{WORKLOADS, check_in};

    #[track_caller]
    fn check(workloads: &str, expected: &[&str]) {
        check_in(WORKLOADS, "GPUC2180", workloads, expected);
    }

    #[test]
    fn workloads_without_exactly_one_kind_are_found() {
        check("{name: a, job: {image: 'a:1'}}", &[]);
        check("{name: a}", &["workload `a` has no kind"]);
        check(
            "{name: a, job: {image: 'a:1'}, cudaTest: {}}",
            &["workload `a` has two kinds, `cudaTest` and `job`"],
        );
    }
}
