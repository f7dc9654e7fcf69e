//! A workload names a pool that there is not.

use super::Rule;
use super::words::one_of;
use crate::diag::words::nearest;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// A workload names a pool that there is not.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2182",
        name: "workload-pool-unknown",
        severity: Severity::Error,
        summary: "a workload names a pool that there is not",
        explain: "### What it checks

Whether the pool that a workload names is one of `nodePools`.

### Why it matters

What a GPU is called, which taints its nodes have and by which labels they are found follow from
the pool.

### What to do

Write the name of a pool, or leave `pool` out: then it runs on every pool that has what it asks for.
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
  - {name: finetune, pool: gpus, job: {image: "registry.example.com/model:1.0.0", gpus: 1}}
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
    let pools = cluster.pools.iter();
    let names: Vec<_> = pools.map(|pool| pool.name.as_str()).collect();
    for workload in &cluster.written.workloads {
        let Some(name) = &workload.pool else {
            continue;
        };
        if cluster.pool(name).is_some() {
            continue;
        }
        let message = format!("no pool is called `{name}`");
        let mut draft = report.draft(&RULE.code, name.span, message);
        let meant = nearest(name, names.iter().copied()).and_then(|name| cluster.pool(name));
        if let Some(meant) = meant {
            draft = draft.label(meant.name.span, "the nearest name");
        }
        draft.help(one_of(&names)).emit();
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
        assert_eq!(messages(&yaml, "GPUC2182"), expected, "{workloads}");
    }

    #[test]
    fn pools_are_those_of_the_file() {
        check("{name: a, pool: gpu, job: {image: 'a:1'}}", &[]);
        check("{name: a, job: {image: 'a:1'}}", &[]);
        check(
            "{name: a, pool: gpus, job: {image: 'a:1'}}",
            &["no pool is called `gpus`"],
        );
    }
}
