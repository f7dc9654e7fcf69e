//! A workload shares a namespace whose pods may do everything.

use gpuc_schema::config::{Task, Workload};

use super::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;
use crate::placement::holding;

/// A workload shares a namespace whose pods may do everything.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2196",
        name: "workload-namespace-privileged",
        severity: Severity::Warning,
        summary: "a workload shares a namespace whose pods may do everything",
        explain: "### What it checks

Whether a workload that uses RDMA or GPUDirect shares its namespace with one that does not. It is
about namespaces of no team: those of teams say `podSecurity` themselves.

### Why it matters

Memory that network cards read and write must not move. To keep it in place a container needs the
capability `IPC_LOCK`; pods with GPUDirect see folders and devices of the node. Only a namespace
with the level `privileged` lets these in: there every pod may do everything, take over its node
too.

### What to do

Give what uses such a network a `namespace` of its own.
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
    network: {rdma: {infiniband: {}}}
workloads:
  - {name: finetune, trainJob: {image: "registry.example.com/model:1.0.0", nodes: 2, gpusPerNode: 2}}
  - {name: report, job: {image: "registry.example.com/model:1.0.0"}}
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
    network: {rdma: {infiniband: {}}}
workloads:
  - {name: finetune, namespace: training, trainJob: {image: "registry.example.com/model:1.0.0", nodes: 2, gpusPerNode: 2}}
  - {name: report, job: {image: "registry.example.com/model:1.0.0"}}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let workloads = cluster.written.workloads.iter();
    let nobodys = workloads.filter(|it| it.team.is_none());
    // Of one whose pool is not known, nobody knows what it needs.
    let nobodys = nobodys.filter(|it| {
        let pool = it.pool.as_ref();
        pool.is_none_or(|name| cluster.pool(name).is_some())
    });
    let (locking, others): (Vec<_>, Vec<_>) = nobodys.partition(|it| is_privileged(cluster, it));
    for workload in locking {
        let namespace = cluster.namespace_of(workload);
        let mut beside = others.iter();
        let Some(other) = beside.find(|other| cluster.namespace_of(other) == namespace) else {
            continue;
        };
        let name = &workload.name;
        let message =
            format!("for `{name}`, all pods in namespace `{namespace}` may do everything");
        let place = workload.namespace.as_ref().unwrap_or(name);
        let draft = report.draft(&RULE.code, place.span, message);
        let draft = draft.label(other.name.span, "runs there as well");
        draft.help("write a `namespace` for it alone").emit();
    }
}

/// Whether a workload does what most namespaces refuse, for the network between its nodes.
fn is_privileged(cluster: &Cluster, workload: &Workload) -> bool {
    let nodes = workload.task().and_then(Task::nodes);
    let several = nodes.is_some_and(|nodes| nodes.value > 1);
    let pools = holding(cluster, workload);
    several && pools.iter().any(|pool| pool.fabric_is_privileged())
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
              - {{name: gpu, gpu: {{model: A30, perNode: 2}}, hosts: [a, b], nodes: {{count: 2}}, network: {{rdma: {{roce: {{}}}}}}}}
            teams: [{{name: t, podSecurity: privileged}}]
            workloads: [{workloads}]
            "
        );
        assert_eq!(messages(&yaml, "GPUC2196"), expected, "{workloads}");
    }

    #[test]
    fn what_pins_memory_is_apart() {
        let run = |keys: &str, nodes: u32| {
            let task = format!("trainJob: {{image: 'a:1', nodes: {nodes}, gpusPerNode: 1}}");
            format!("{{name: a, {keys}{task}}}, {{name: b, job: {{image: 'a:1'}}}}")
        };
        let all = "for `a`, all pods in namespace `workloads` may do everything";
        check(&run("", 2), &[all]);
        check(&run("", 1), &[]);
        check(&run("namespace: own, ", 2), &[]);
        check(&run("team: t, ", 2), &[]);
    }
}
