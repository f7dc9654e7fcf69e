//! A workload on several nodes gets no huge pages for its network.

use gpuc_schema::config::Task;

use super::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;
use crate::placement::holding;

/// A workload on several nodes gets no huge pages for its network.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2195",
        name: "workload-huge-pages-missing",
        severity: Severity::Warning,
        summary: "a workload on several nodes gets no huge pages for its network",
        explain: "### What it checks

Whether a workload on several nodes says how much memory it wants where the driver of its network
uses huge pages.

### Why it matters

Kubernetes gives huge pages only to containers that ask for memory or CPU as well, so that gpuc asks
for none where `memory` is missing. The network's library then starts without them, and is slower or
falls back to TCP.

### What to do

Write `memory`.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
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
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
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
  - {name: finetune, trainJob: {image: "registry.example.com/model:1.0.0", nodes: 2, gpusPerNode: 8, memory: 1000Gi}}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for workload in &cluster.written.workloads {
        let task = workload.task();
        let nodes = task.and_then(Task::nodes).filter(|nodes| nodes.value > 1);
        let memory = task.and_then(Task::pods).and_then(|pods| pods.memory);
        let (Some(nodes), None) = (nodes, memory) else {
            continue;
        };
        let pools = holding(cluster, workload).into_iter();
        let pool = pools.filter(|pool| !pool.fabric.is_empty());
        let mut pool = pool.filter(|pool| cluster.cloud.fabric_settings(pool).huge_pages_mib > 0);
        let Some(pool) = pool.next() else {
            continue;
        };
        let name = &workload.name;
        let message = format!("workload `{name}` says no `memory`, and gets no huge pages");
        let draft = report.draft(&RULE.code, nodes.span, message);
        let draft = draft.label(pool.name.span, "the network between its nodes uses them");
        draft.help("add `memory` to it").emit();
    }
}

#[cfg(test)]
mod tests {
    use crate::check::testing::messages;

    #[track_caller]
    fn check(task: &str, expected: &[&str]) {
        let yaml = format!(
            "
            cloud: {{aws: {{account: '123456789012', region: us-east-1, cluster: {{create: {{zones: [us-east-1a, us-east-1b]}}}}}}}}
            nodePools:
              - {{name: fast, machine: p5.48xlarge, zones: [us-east-1a], nodes: {{count: 2}}, network: {{efa: {{}}}}}}
              - {{name: slow, machine: g6.12xlarge, nodes: {{count: 2}}}}
            workloads: [{{name: a, {task}}}]
            "
        );
        assert_eq!(messages(&yaml, "GPUC2195"), expected, "{task}");
    }

    #[test]
    fn huge_pages_come_with_memory() {
        let job = |pool: &str, nodes: u32, more: &str| {
            let keys = format!("image: 'a:1', nodes: {nodes}, gpusPerNode: 4{more}");
            format!("pool: {pool}, jobSet: {{{keys}}}")
        };
        let none = "workload `a` says no `memory`, and gets no huge pages";
        check(&job("fast", 2, ""), &[none]);
        check(&job("fast", 1, ""), &[]);
        check(&job("fast", 2, ", memory: 100Gi"), &[]);
        check(&job("slow", 2, ""), &[]);
    }
}
