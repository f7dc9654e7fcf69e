//! A workload shares a namespace with privileged pods.

use gpuc_schema::config::{Task, Workload};

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_model::scheduling::fitting_pools;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2196",
        name: "workload-namespace-privileged",
        severity: Severity::Warning,
        summary: "a workload shares a namespace with privileged pods",
        checks: "Whether a workload that uses RDMA or GPUDirect shares its namespace with one that does not. The
check covers namespaces without a team: teams set `podSecurity` themselves.",
        reason: "Network adapters read and write memory that must not be moved. To lock it, a container needs the
capability `IPC_LOCK`. Pods with GPUDirect mount directories and devices of the node. Only a
namespace with the Pod Security level `privileged` allows this. There every pod is unrestricted, and
can take over its node.",
        remedy: "Give the workloads that use such a network a `namespace` of their own.",
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
    network: {rdma: {infiniband: {}}}
workloads:
  - {name: finetune, trainJob: {image: "registry.example.com/model:1.0.0", nodes: 2, gpusPerNode: 2}}
  - {name: report, job: {image: "registry.example.com/model:1.0.0"}}
"#,
        correction: Correction::Replace("trainJob:", "namespace: training, trainJob:"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    // The needs of a workload on an unknown pool cannot be determined.
    let (privileged, unprivileged): (Vec<_>, Vec<_>) = cluster
        .config
        .workloads
        .iter()
        .filter(|it| it.team.is_none())
        .filter(|it| {
            let pool = it.pool.as_ref();
            pool.is_none_or(|name| cluster.pool(name).is_some())
        })
        .partition(|it| is_privileged(cluster, it));
    for workload in privileged {
        let namespace = cluster.namespace_of(workload);
        let mut others = unprivileged.iter();
        let Some(other) = others.find(|other| cluster.namespace_of(other) == namespace) else {
            continue;
        };
        let name = &workload.name;
        let message =
            format!("workload `{name}` makes namespace `{namespace}` privileged for all its pods");
        let primary = workload.namespace.as_ref().unwrap_or(name);
        report
            .diagnostic(&RULE.code, primary.span, message)
            .label(other.name.span, "this workload runs in the same namespace")
            .help("set a `namespace` for this workload only")
            .emit();
    }
}

/// Whether the interconnect of a workload requires a privileged namespace.
fn is_privileged(cluster: &Cluster, workload: &Workload) -> bool {
    let nodes = workload.task().and_then(Task::nodes);
    let is_multi_node = nodes.is_some_and(|nodes| nodes.value > 1);
    let pools = fitting_pools(cluster, workload);
    is_multi_node && pools.iter().any(|pool| pool.is_interconnect_privileged())
}

#[cfg(test)]
mod tests {
    use crate::testing::check_in;

    #[track_caller]
    fn check(workloads: &str, expected: &[&str]) {
        let file = "
            cloud: {onPrem: {context: demo}}
            nodePools:
              - {name: gpu, gpu: {model: A30, perNode: 2}, hosts: [a, b], nodes: {count: 2}, network: {rdma: {roce: {}}}}
            teams: [{name: t, podSecurity: privileged}]
            workloads: [<rest>]
            ";
        check_in(file, "GPUC2196", workloads, expected);
    }

    #[test]
    fn shared_namespace_is_found() {
        let run = |keys: &str, nodes: u32| {
            let task = format!("trainJob: {{image: 'a:1', nodes: {nodes}, gpusPerNode: 1}}");
            format!("{{name: a, {keys}{task}}}, {{name: b, job: {{image: 'a:1'}}}}")
        };
        let all = "workload `a` makes namespace `workloads` privileged for all its pods";
        check(&run("", 2), &[all]);
        check(&run("", 1), &[]);
        check(&run("namespace: own, ", 2), &[]);
        check(&run("team: t, ", 2), &[]);
    }
}
