//! A workload may run as root but its team's Pod Security level forbids it.

use gpuc_schema::config::{Fragment, PodSecurityLevel, Task, Workload};

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2194",
        name: "workload-root-refused",
        severity: Severity::Warning,
        summary: "a workload may run as root but its team's Pod Security level forbids it",
        checks: "Whether each workload of a team with `podSecurity: restricted` sets its user, and is not a
`pytorchJob` on several nodes.",
        reason: "Pods of such a team must not run as root, and most images of frameworks do. Their containers fail
with `CreateContainerConfigError`, and the Job appears to wait for its image. The Training Operator
adds an init container without a security context to each worker of a `pytorchJob`, so that the API
server rejects the worker.",
        remedy: "Set `runAs` to a user that exists in the image, or allow the warning if the image sets a numeric
user itself. Replace a `pytorchJob` with a `trainJob`.",
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
teams:
  - {name: research, podSecurity: restricted}
workloads:
  - {name: finetune, team: research, job: {image: "registry.example.com/model:1.0.0", gpus: 1}}
"#,
        correction: Correction::Replace("gpus: 1", "gpus: 1, runAs: {user: 1000}"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for workload in &cluster.config.workloads {
        let team = workload.team.as_ref().and_then(|name| cluster.team(name));
        let tasks = workload.tasks();
        let (Some(team), [(kind, _, task)]) = (team, tasks.as_slice()) else {
            continue;
        };
        let level = team.settings.pod_security;
        if level.value != PodSecurityLevel::Restricted {
            continue;
        }
        let name = &workload.name;
        if let Task::PytorchJob(job) = task
            && job.nodes.value > 1
        {
            let message =
                format!("the init container of the workers of `{name}` violates Pod Security");
            report
                .diagnostic(&RULE.code, job.nodes.span, message)
                .label(level.span, "the team's pods must drop all privileges")
                .help("use a `trainJob`, or another `podSecurity`")
                .emit();
        }
        let sets_user = task.pods().is_none_or(|pods| pods.run_as.is_some());
        if !sets_user && !patches_security(workload) {
            let message = format!("workload `{name}` does not set the user that it runs as");
            report
                .diagnostic(&RULE.code, name.span, message)
                .label(level.span, "the team's pods must not run as root")
                .help(format!("add `runAs: {{user: 1000}}` to `{kind}`"))
                .emit();
        }
    }
}

/// Whether the workload's `podPatch` sets the security context.
fn patches_security(workload: &Workload) -> bool {
    let Fragment::Map(entries) = &workload.pod_patch.value else {
        return false;
    };
    let mut keys = entries.iter().map(|(key, _)| key);
    keys.any(|key| key.as_str() == "securityContext")
}

#[cfg(test)]
mod tests {
    use crate::testing::check_in;

    #[track_caller]
    fn check(workload: &str, expected: &[&str]) {
        let file = "
            cloud: {onPrem: {context: demo}}
            nodePools:
              - {name: gpu, gpu: {model: A30, perNode: 2}, hosts: [a, b], nodes: {count: 2}}
            teams: [{name: t}, {name: r, podSecurity: restricted}]
            workloads: [{name: a, <rest>}]
            ";
        check_in(file, "GPUC2194", workload, expected);
    }

    #[test]
    fn workload_without_a_user_is_found() {
        let message = "workload `a` does not set the user that it runs as";
        check("team: t, job: {image: 'a:1'}", &[]);
        check("team: r, job: {image: 'a:1'}", &[message]);
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
        let worker = "the init container of the workers of `a` violates Pod Security";
        check(&torch(2), &[worker]);
    }
}
