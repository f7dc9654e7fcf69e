//! A team's namespaces do not let a workload use its network.

use gpuc_schema::Span;
use gpuc_schema::config::{Network, PodSecurityLevel, Task};

use super::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;
use crate::placement::holding;

/// A team's namespaces do not let a workload use its network.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2189",
        name: "workload-fabric-forbidden",
        severity: Severity::Error,
        summary: "a team's namespaces do not let a workload use its network",
        explain: "### What it checks

Whether a workload on several nodes of a pool with `network.rdma` or `network.gpudirect` is of a
team with `podSecurity: privileged`.

### Why it matters

Network cards read and write memory that must not move. To keep it in place a container needs the
capability `IPC_LOCK`. Pods with GPUDirect see folders and devices of the node. Kubernetes'
standards `baseline` and `restricted` refuse both: no pod would start.

### What to do

Write `podSecurity: privileged` for the team, or run it on one node.
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
teams:
  - {name: research}
workloads:
  - {name: finetune, team: research, trainJob: {image: "registry.example.com/model:1.0.0", nodes: 2, gpusPerNode: 2}}
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
teams:
  - {name: research, podSecurity: privileged}
workloads:
  - {name: finetune, team: research, trainJob: {image: "registry.example.com/model:1.0.0", nodes: 2, gpusPerNode: 2}}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for workload in &cluster.written.workloads {
        let several = workload.task().and_then(Task::nodes);
        let several = several.filter(|nodes| nodes.value > 1);
        let team = workload.team.as_ref().and_then(|name| cluster.team(name));
        let (Some(nodes), Some(team)) = (several, team) else {
            continue;
        };
        let level = team.written.pod_security;
        let pools = holding(cluster, workload);
        let mut networks = pools.iter().map(|pool| &pool.written.network);
        let asked = networks.find_map(asks_for);
        let Some((place, what, why)) =
            asked.filter(|_| level.value != PodSecurityLevel::Privileged)
        else {
            continue;
        };
        let message = format!("team `{}` may not {what}", team.name);
        let draft = report.draft(&RULE.code, nodes.span, message);
        let draft = draft.label(place, why);
        let draft = draft.label(team.name.span, "the team");
        draft
            .help("write `podSecurity: privileged` for the team, or one node")
            .emit();
    }
}

/// Where a pool's network is written, what its pods do for it, and why.
fn asks_for(network: &Network) -> Option<(Span, &'static str, &'static str)> {
    let rdma = network.rdma.as_ref().map(|rdma| {
        let why = "the pool's cards read and write memory that is pinned";
        (rdma.span, "pin memory for RDMA", why)
    });
    rdma.or_else(|| {
        let direct = network.gpudirect.as_ref()?;
        let why = "packets come to GPUs by folders and devices of the node";
        Some((direct.span, "see the node's folders for GPUDirect", why))
    })
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
              - {{name: fast, gpu: {{model: A30, perNode: 2}}, hosts: [c, d], nodes: {{count: 2}},
                  network: {{rdma: {{roce: {{}}}}}}}}
            teams: [{{name: t}}, {{name: p, podSecurity: privileged}}]
            workloads: [{workloads}]
            "
        );
        assert_eq!(messages(&yaml, "GPUC2189"), expected, "{workloads}");
    }

    #[test]
    fn memory_is_pinned_where_it_may_be() {
        let run = |team: &str, nodes: u32| {
            let task = format!("trainJob: {{image: 'a:1', nodes: {nodes}, gpusPerNode: 1}}");
            format!("{{name: a, team: {team}, pool: fast, {task}}}")
        };
        check(&run("t", 2), &["team `t` may not pin memory for RDMA"]);
        check(&run("t", 1), &[]);
        check(&run("p", 2), &[]);
    }

    #[test]
    fn the_nodes_folders_are_seen_where_they_may_be() {
        let found = |level: &str| {
            let interfaces: Vec<_> = (0..4)
                .map(|it| format!("{{network: gpu-{it}, subnetwork: gpu-{it}}}"))
                .collect();
            let yaml = format!(
                "
                cloud: {{gcp: {{project: acme-ml-prod, location: us-central1-a, cluster: {{create: {{}}}}}}}}
                nodePools:
                  - {{name: fast, machine: a3-highgpu-8g, nodes: {{count: 2}}, network: {{gpudirect: {{interfaces: [{}]}}}}}}
                teams: [{{name: t, podSecurity: {level}}}]
                workloads: [{{name: a, team: t, jobSet: {{image: 'a:1', nodes: 2, gpusPerNode: 8}}}}]
                ",
                interfaces.join(", ")
            );
            messages(&yaml, "GPUC2189")
        };
        let message = "team `t` may not see the node's folders for GPUDirect";
        assert_eq!(found("baseline"), [message]);
        assert!(found("privileged").is_empty());
    }
}
