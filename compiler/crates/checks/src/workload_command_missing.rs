//! A workload without a command, whose interconnect needs a script before the program.

use gpuc_schema::config::Task;

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_model::scheduling::fitting_pools;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2245",
        name: "workload-command-missing",
        severity: Severity::Warning,
        summary: "a workload does not run the script that configures NCCL for its interconnect",
        checks: "Whether a workload on several nodes of a pool with GPUDirect RDMA on GKE has a `command`.",
        reason: "The NCCL settings for GPUDirect RDMA differ by machine type and by release of Google's plugin, and a script
of the plugin sets them. gpuc runs the script before the `command` of the workload. It does not know the
default command of an image.",
        remedy: "Set `command`, with the default command of the image. If the image runs the script
`/usr/local/gib/scripts/set_nccl_env.sh` itself, add the warning to `allow`.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {gcp: {project: acme-ml-prod, location: us-central1-a, nodeServiceAccount: gke-nodes@acme-ml-prod.iam.gserviceaccount.com, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: system, machine: e2-standard-4, nodes: {count: 1}}
  - name: gpu
    machine: a3-ultragpu-8g
    nodes: {count: 2}
    network: {gpudirect: {managed: {}}}
teams: [{name: research, podSecurity: privileged}]
workloads:
  - name: train
    team: research
    trainJob: {image: "registry.example.com/model:1.0.0", nodes: 2, gpusPerNode: 8}
"#,
        correction: Correction::Replace(
            "gpusPerNode: 8}",
            "gpusPerNode: 8, command: [torchrun, train.py]}",
        ),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for workload in &cluster.config.workloads {
        let task = workload.task();
        let nodes = task.and_then(Task::nodes).filter(|nodes| nodes.value > 1);
        let (Some(task), Some(nodes)) = (task, nodes) else {
            continue;
        };
        let pools = fitting_pools(cluster, workload);
        let (Some(pool), Some(pods)) = (pools.first(), task.pods()) else {
            continue;
        };
        let settings = cluster.cloud.interconnect_settings(cluster, pool);
        if settings.additions.setup.is_none() {
            continue;
        }
        let leader = match task {
            Task::LeaderWorkerSet(set) => set.leader.as_ref(),
            _ => None,
        };
        let missing = [
            (pods.command.is_empty(), "`command`"),
            (
                leader.is_some_and(|leader| leader.command.is_empty()),
                "`command` of `leader`",
            ),
        ];
        for (_, key) in missing.into_iter().filter(|(is_missing, _)| *is_missing) {
            let message = format!(
                "workload `{}` does not run the script that configures NCCL, because it has no {key}",
                workload.name
            );
            let builder = report
                .diagnostic(&RULE.code, pods.image.span, message)
                .primary_label("the default command of this image is not known")
                .label(nodes.span, "pods on several nodes use GPUDirect");
            let builder = match &pool.settings.network.gpudirect {
                Some(written) => {
                    builder.label(written.span, format!("the network of pool `{}`", pool.name))
                }
                None => builder,
            };
            builder
                .help(format!("set the {key}: gpuc runs the script before it"))
                .emit();
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check_in;

    #[track_caller]
    fn check(task: &str, expected: &[&str]) {
        let file = "
cloud: {gcp: {project: acme-ml-prod, location: us-central1-a, nodeServiceAccount: gke-nodes@acme-ml-prod.iam.gserviceaccount.com, cluster: {create: {}}}}
nodePools:
- {name: system, machine: e2-standard-4, nodes: {count: 1}}
- {name: gpu, machine: a4-highgpu-8g, nodes: {count: 2}, network: {gpudirect: {managed: {}}}}
teams: [{name: t, podSecurity: privileged}]
<rest>
";
        let workload = format!("workloads: [{{name: a, team: t, {task}}}]");
        check_in(file, "GPUC2245", &workload, expected);
    }

    #[test]
    fn the_script_runs_before_a_command() {
        let missing = "workload `a` does not run the script that configures NCCL, because it has no `command`";
        check(
            "jobSet: {image: \"a:1\", nodes: 2, gpusPerNode: 8}",
            &[missing],
        );
        check(
            "jobSet: {image: \"a:1\", nodes: 2, gpusPerNode: 8, command: [train]}",
            &[],
        );
        check("jobSet: {image: \"a:1\", nodes: 1, gpusPerNode: 8}", &[]);
        check("fabricTest: {nodes: 2, gpusPerNode: 8}", &[]);
        let leader = "workload `a` does not run the script that configures NCCL, because it has no `command` of `leader`";
        let set = "leaderWorkerSet: {image: \"a:1\", nodes: 2, gpusPerNode: 8, command: [serve]";
        check(&format!("{set}, leader: {{args: [lead]}}}}"), &[leader]);
        check(&format!("{set}, leader: {{command: [lead]}}}}"), &[]);
    }
}
