//! A workload names an unknown pool.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::phrases::closest_match;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::messages::one_of_help;

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2182",
        name: "workload-pool-unknown",
        severity: Severity::Error,
        summary: "a workload names an unknown pool",
        checks: "Whether the pool that a workload names is one of `nodePools`.",
        reason: "The resource name of a GPU, and the taints and labels of its nodes, follow from the pool.",
        remedy: "Write the name of a pool, or remove `pool`: then the workload can run on every pool that it fits on.",
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
  - {name: finetune, pool: gpus, job: {image: "registry.example.com/model:1.0.0", gpus: 1}}
"#,
        correction: Correction::Replace("pool: gpus", "pool: gpu"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let pools = cluster.pools.iter();
    let names: Vec<_> = pools.map(|pool| pool.name.as_str()).collect();
    for workload in &cluster.config.workloads {
        let Some(name) = &workload.pool else {
            continue;
        };
        if cluster.pool(name).is_some() {
            continue;
        }
        let message = format!("unknown pool `{name}`");
        let mut builder = report.diagnostic(&RULE.code, name.span, message);
        let similar =
            closest_match(name, names.iter().copied()).and_then(|name| cluster.pool(name));
        if let Some(similar) = similar {
            builder = builder.label(similar.name.span, "a pool with a similar name");
        }
        builder.help(one_of_help(&names)).emit();
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{WORKLOADS, check_in};

    #[track_caller]
    fn check(workloads: &str, expected: &[&str]) {
        check_in(WORKLOADS, "GPUC2182", workloads, expected);
    }

    #[test]
    fn unknown_pools_are_found() {
        check("{name: a, pool: gpu, job: {image: 'a:1'}}", &[]);
        check("{name: a, job: {image: 'a:1'}}", &[]);
        check(
            "{name: a, pool: gpus, job: {image: 'a:1'}}",
            &["unknown pool `gpus`"],
        );
    }
}
