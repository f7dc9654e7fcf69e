//! A workload on several nodes gets no huge pages for its interconnect.

use gpuc_schema::config::Task;

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_model::scheduling::fitting_pools;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2195",
        name: "workload-huge-pages-missing",
        severity: Severity::Warning,
        summary: "a workload on several nodes gets no huge pages for its interconnect",
        checks: "Whether a workload on several nodes sets `memory` if the driver of its interconnect uses huge pages.",
        reason: "Kubernetes allocates huge pages only to containers that also request memory or CPU. Therefore gpuc
does not request huge pages if `memory` is not set. The interconnect's library then starts without
them, and is slower or falls back to TCP.",
        remedy: "Set `memory`.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud:
  aws:
    account: "123456789012"
    region: us-east-1
    cluster: {create: {zones: [us-east-1a, us-east-1b]}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: system, machine: m7i.4xlarge, nodes: {count: 2}}
  - name: gpu
    machine: p5.48xlarge
    zones: [us-east-1a]
    nodes: {count: 2}
    network: {efa: {}}
workloads:
  - {name: finetune, trainJob: {image: "registry.example.com/model:1.0.0", nodes: 2, gpusPerNode: 8}}
"#,
        correction: Correction::Replace("gpusPerNode: 8", "gpusPerNode: 8, memory: 1000Gi"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for workload in &cluster.config.workloads {
        let task = workload.task();
        let nodes = task.and_then(Task::nodes).filter(|nodes| nodes.value > 1);
        let memory = task.and_then(Task::memory);
        let (Some(nodes), None) = (nodes, memory) else {
            continue;
        };
        let pool = fitting_pools(cluster, workload).into_iter().find(|pool| {
            !pool.interconnect.is_empty()
                && cluster
                    .cloud
                    .interconnect_settings(cluster, pool)
                    .huge_pages_mib
                    > 0
        });
        let Some(pool) = pool else {
            continue;
        };
        let name = &workload.name;
        let message = format!("workload `{name}` does not set `memory` and gets no huge pages");
        report
            .diagnostic(&RULE.code, nodes.span, message)
            .label(
                pool.name.span,
                "the interconnect of this pool uses huge pages",
            )
            .help("add `memory` to the workload")
            .emit();
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check_in;

    #[track_caller]
    fn check(task: &str, expected: &[&str]) {
        let file = "
            cloud: {aws: {account: '123456789012', region: us-east-1, cluster: {create: {zones: [us-east-1a, us-east-1b]}}}}
            nodePools:
              - {name: fast, machine: p5.48xlarge, zones: [us-east-1a], nodes: {count: 2}, network: {efa: {}}}
              - {name: slow, machine: g6.12xlarge, nodes: {count: 2}}
            workloads: [{name: a, <rest>}]
            ";
        check_in(file, "GPUC2195", task, expected);
    }

    #[test]
    fn huge_pages_need_memory() {
        let job = |pool: &str, nodes: u32, more: &str| {
            let keys = format!("image: 'a:1', nodes: {nodes}, gpusPerNode: 4{more}");
            format!("pool: {pool}, jobSet: {{{keys}}}")
        };
        let none = "workload `a` does not set `memory` and gets no huge pages";
        check(&job("fast", 2, ""), &[none]);
        check(&job("fast", 1, ""), &[]);
        check(&job("fast", 2, ", memory: 100Gi"), &[]);
        check(&job("slow", 2, ""), &[]);
    }
}
