//! A workload is not of exactly one kind.

use gpuc_schema::config::TASKS;

use super::Rule;
use super::words::one_of;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// A workload is not of exactly one kind.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2180",
        name: "workload-kind-unclear",
        severity: Severity::Error,
        summary: "a workload is not of exactly one kind",
        explain: "### What it checks

Whether each workload has exactly one of the keys that say what it is: `cudaTest`, `job`,
`cronJob`, `deployment`, `statefulSet`, `trainJob`, `pytorchJob`, `jobSet`, `leaderWorkerSet`.

### Why it matters

Each kind becomes another Kubernetes object. Without one there is nothing to make, and with two
nobody knows which is meant.

### What to do

Add one of them, or make two workloads of it.
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
  - {name: finetune, pool: gpu}
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
  - {name: finetune, pool: gpu, job: {image: "registry.example.com/model:1.0.0", gpus: 1}}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for workload in &cluster.written.workloads {
        let name = &workload.name;
        match workload.tasks().as_slice() {
            [_] => {}
            [] => {
                let message = format!("workload `{name}` is of no kind");
                let draft = report.draft(&RULE.code, name.span, message);
                draft.help(one_of(TASKS)).emit();
            }
            [(first, place, _), (second, span, _), ..] => {
                let message = format!("workload `{name}` is both `{first}` and `{second}`");
                let draft = report.draft(&RULE.code, *span, message);
                let draft = draft.label(*place, "the other kind");
                draft.help("make two workloads of it").emit();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::check::testing::messages;

    #[track_caller]
    fn check(workloads: &str, expected: &[&str]) {
        let yaml = format!(
            "
            cloud: {{onPrem: {{context: demo}}}}
            nodePools:
              - {{name: gpu, gpu: {{model: A30, perNode: 2}}, hosts: [a, b], nodes: {{count: 2}}}}
            workloads: [{workloads}]
            "
        );
        assert_eq!(messages(&yaml, "GPUC2180"), expected, "{workloads}");
    }

    #[test]
    fn a_workload_is_one_thing() {
        check("{name: a, job: {image: 'a:1'}}", &[]);
        check("{name: a}", &["workload `a` is of no kind"]);
        check(
            "{name: a, job: {image: 'a:1'}, cudaTest: {}}",
            &["workload `a` is both `cudaTest` and `job`"],
        );
    }
}
