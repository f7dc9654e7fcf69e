//! A workload may run as root where no root is let in.

use gpuc_schema::config::{Fragment, PodSecurityLevel, Task, Workload};

use super::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// A workload may run as root where no root is let in.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2194",
        name: "workload-root-refused",
        severity: Severity::Warning,
        summary: "a workload may run as root where no root is let in",
        explain: "### What it checks

Whether each workload of a team with `podSecurity: restricted` says as whom it runs, and whether
it is a `pytorchJob` on several nodes.

### Why it matters

Pods of such a team must not run as root, and most images of frameworks do: their containers end
in `CreateContainerConfigError`, while the Job looks as if it waited for its image. Before each
worker of a `pytorchJob`, the Training Operator runs a container that says nothing of its rights,
so that the API server refuses the worker.

### What to do

Write `runAs` with a user that the image knows, or allow the finding where the image names a user by
number itself. Instead of a `pytorchJob`, write a `trainJob`.
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
teams:
  - {name: research, podSecurity: restricted}
workloads:
  - {name: finetune, team: research, job: {image: "registry.example.com/model:1.0.0", gpus: 1}}
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
teams:
  - {name: research, podSecurity: restricted}
workloads:
  - {name: finetune, team: research, job: {image: "registry.example.com/model:1.0.0", gpus: 1, runAs: {user: 1000}}}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for workload in &cluster.written.workloads {
        let team = workload.team.as_ref().and_then(|name| cluster.team(name));
        let (Some(team), Some(task)) = (team, workload.task()) else {
            continue;
        };
        let level = team.written.pod_security;
        if level.value != PodSecurityLevel::Restricted {
            continue;
        }
        let name = &workload.name;
        if let Task::PytorchJob(job) = task
            && job.nodes.value > 1
        {
            let message = format!("the workers of `{name}` begin with a container that is refused");
            let draft = report.draft(&RULE.code, job.nodes.span, message);
            let draft = draft.label(level.span, "its team's pods must give up all rights");
            draft
                .help("write a `trainJob`, or another `podSecurity`")
                .emit();
        }
        let says = task.pods().is_none_or(|pods| pods.run_as.is_some());
        if !says && !patches_security(workload) {
            let message = format!("workload `{name}` does not say as whom it runs");
            let draft = report.draft(&RULE.code, name.span, message);
            let draft = draft.label(level.span, "its team's pods must not run as root");
            draft.help("add `runAs: {user: 1000}` to it").emit();
        }
    }
}

/// Whether a workload's own patch says it.
fn patches_security(workload: &Workload) -> bool {
    let Fragment::Map(entries) = &workload.pod_patch.value else {
        return false;
    };
    let mut keys = entries.iter().map(|(key, _)| key);
    keys.any(|key| key.as_str() == "securityContext")
}

#[cfg(test)]
mod tests {
    use crate::check::testing::messages;

    #[track_caller]
    fn check(workload: &str, expected: &[&str]) {
        let yaml = format!(
            "
            cloud: {{onPrem: {{context: demo}}}}
            nodePools:
              - {{name: gpu, gpu: {{model: A30, perNode: 2}}, hosts: [a, b], nodes: {{count: 2}}}}
            teams: [{{name: t}}, {{name: r, podSecurity: restricted}}]
            workloads: [{{name: a, {workload}}}]
            "
        );
        assert_eq!(messages(&yaml, "GPUC2194"), expected, "{workload}");
    }

    #[test]
    fn a_restricted_team_runs_nothing_as_root() {
        let whom = "workload `a` does not say as whom it runs";
        check("team: t, job: {image: 'a:1'}", &[]);
        check("team: r, job: {image: 'a:1'}", &[whom]);
        check("team: r, job: {image: 'a:1', runAs: {user: 5}}", &[]);
        check("team: r, cudaTest: {}", &[]);
        let patch = "podPatch: {securityContext: {runAsUser: 5}}";
        check(&format!("team: r, job: {{image: 'a:1'}}, {patch}"), &[]);
        let torch = |nodes| {
            format!(
                "team: r, pytorchJob: {{image: 'a:1', operator: existing, nodes: {nodes}, \
                 gpusPerNode: 1, runAs: {{user: 5}}}}"
            )
        };
        check(&torch(1), &[]);
        let worker = "the workers of `a` begin with a container that is refused";
        check(&torch(2), &[worker]);
    }
}
