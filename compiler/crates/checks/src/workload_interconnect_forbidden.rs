//! The Pod Security level of a team does not allow a workload's network.

use gpuc_schema::Span;
use gpuc_schema::config::{Network, PodSecurityLevel, Task};

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_model::scheduling::fitting_pools;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2189",
        name: "workload-interconnect-forbidden",
        severity: Severity::Error,
        summary: "the Pod Security level of a team does not allow a workload's network",
        checks: "Whether a workload on several nodes of a pool with `network.rdma` or `network.gpudirect` belongs to
a team with `podSecurity: privileged`.",
        reason: "Network adapters read and write memory that must not be moved. To lock it, a container needs the
capability `IPC_LOCK`. Pods with GPUDirect mount directories and devices of the node. The Pod
Security levels `baseline` and `restricted` reject both: no pod would start.",
        remedy: "Set `podSecurity: privileged` for the team, or run the workload on one node.",
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
teams:
  - {name: research}
workloads:
  - {name: finetune, team: research, trainJob: {image: "registry.example.com/model:1.0.0", nodes: 2, gpusPerNode: 2}}
"#,
        correction: Correction::Replace("name: research", "name: research, podSecurity: privileged"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for workload in &cluster.config.workloads {
        let node_count = workload.task().and_then(Task::nodes);
        let node_count = node_count.filter(|nodes| nodes.value > 1);
        let team = workload.team.as_ref().and_then(|name| cluster.team(name));
        let (Some(nodes), Some(team)) = (node_count, team) else {
            continue;
        };
        let level = team.settings.pod_security;
        let pools = fitting_pools(cluster, workload);
        let mut networks = pools.iter().map(|pool| &pool.settings.network);
        let needed = networks.find_map(privileged_use);
        let Some((span, action, reason)) =
            needed.filter(|_| level.value != PodSecurityLevel::Privileged)
        else {
            continue;
        };
        let message = format!("pods of team `{}` cannot {action}", team.name);
        report
            .diagnostic(&RULE.code, nodes.span, message)
            .label(span, reason)
            .label(team.name.span, "this team needs `podSecurity: privileged`")
            .help("set `podSecurity: privileged` for the team, or use one node")
            .emit();
    }
}

/// The location of a pool's network, the privileged action of its pods, and the reason.
fn privileged_use(network: &Network) -> Option<(Span, &'static str, &'static str)> {
    let rdma = network.rdma.as_ref().map(|rdma| {
        let reason = "the pool's network adapters access locked memory";
        (rdma.span, "lock memory for RDMA", reason)
    });
    rdma.or_else(|| {
        let direct = network.gpudirect.as_ref()?;
        let reason = "GPUDirect uses directories and devices of the node";
        Some((
            direct.span,
            "mount the node's directories for GPUDirect",
            reason,
        ))
    })
}

#[cfg(test)]
mod tests {
    use crate::testing::{check_in, messages_with_id};

    #[track_caller]
    fn check(workloads: &str, expected: &[&str]) {
        let file = "
            cloud: {onPrem: {context: demo}}
            nodePools:
              - {name: gpu, gpu: {model: A30, perNode: 2}, hosts: [a, b], nodes: {count: 2}}
              - {name: fast, gpu: {model: A30, perNode: 2}, hosts: [c, d], nodes: {count: 2},
                  network: {rdma: {roce: {}}}}
            teams: [{name: t}, {name: p, podSecurity: privileged}]
            workloads: [<rest>]
            ";
        check_in(file, "GPUC2189", workloads, expected);
    }

    #[test]
    fn locked_memory_needs_the_privileged_level() {
        let run = |team: &str, nodes: u32| {
            let task = format!("trainJob: {{image: 'a:1', nodes: {nodes}, gpusPerNode: 1}}");
            format!("{{name: a, team: {team}, pool: fast, {task}}}")
        };
        check(
            &run("t", 2),
            &["pods of team `t` cannot lock memory for RDMA"],
        );
        check(&run("t", 1), &[]);
        check(&run("p", 2), &[]);
    }

    #[test]
    fn gpudirect_needs_the_privileged_level() {
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
            messages_with_id(&yaml, "GPUC2189")
        };
        let message = "pods of team `t` cannot mount the node's directories for GPUDirect";
        assert_eq!(found("baseline"), [message]);
        assert!(found("privileged").is_empty());
    }
}
