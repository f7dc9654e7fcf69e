//! A workload names a pool that is dedicated to another team.

use gpuc_schema::config::Task;

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2197",
        name: "workload-pool-dedicated",
        severity: Severity::Warning,
        summary: "a workload names a pool that is dedicated to another team",
        checks: "Whether a workload on a pool with `dedicatedTo: <team>` belongs to that team. A `cudaTest` may run
on every pool.",
        reason: "gpuc adds a toleration for the taint that keeps other pods off the pool. The workload takes GPUs
that the other team relies on.",
        remedy: "Set the workload's `team`, or name another pool.",
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
    dedicatedTo: research
teams:
  - {name: research}
workloads:
  - {name: finetune, pool: gpu, job: {image: "registry.example.com/model:1.0.0", gpus: 1}}
"#,
        correction: Correction::Replace("gpu, job:", "gpu, team: research, job:"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for workload in &cluster.config.workloads {
        let Some(named) = &workload.pool else {
            continue;
        };
        let owner = cluster
            .pool(named)
            .and_then(|pool| pool.settings.dedicated_to.as_ref());
        // A pool that is dedicated to a use, and not to a team, is open to every workload that names it.
        let Some(owner) = owner.filter(|owner| cluster.team(owner).is_some()) else {
            continue;
        };
        let is_test = matches!(workload.task(), Some(Task::CudaTest(_)));
        if is_test || workload.team.as_ref() == Some(owner) {
            continue;
        }
        let name = &workload.name;
        let belongs = match &workload.team {
            Some(team) => format!("belongs to team `{team}`"),
            None => "has no team".to_owned(),
        };
        let message =
            format!("workload `{name}` {belongs}, but pool `{named}` is dedicated to `{owner}`");
        let help = match &workload.team {
            Some(_) => "name another pool".to_owned(),
            None => format!("add `team: {owner}`, or name another pool"),
        };
        report
            .diagnostic(&RULE.code, named.span, message)
            .label(owner.span, "the pool is dedicated to this team")
            .help(help)
            .emit();
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check_in;

    #[track_caller]
    fn check(workload: &str, expected: &[&str]) {
        let file = "
            cloud: {onPrem: {context: demo}}
            nodePools:
              - {name: gpu, gpu: {model: A30, perNode: 2}, hosts: [a], nodes: {count: 1}, dedicatedTo: t}
              - {name: use, gpu: {model: A30, perNode: 2}, hosts: [b], nodes: {count: 1}, dedicatedTo: batch}
            teams: [{name: t}, {name: u}]
            workloads: [{name: a, <rest>}]
            ";
        check_in(file, "GPUC2197", workload, expected);
    }

    #[test]
    fn pool_of_another_team_is_found() {
        let job = "job: {image: 'a:1', gpus: 1}";
        check(&format!("pool: gpu, team: t, {job}"), &[]);
        check(
            &format!("pool: gpu, team: u, {job}"),
            &["workload `a` belongs to team `u`, but pool `gpu` is dedicated to `t`"],
        );
        check(
            &format!("pool: gpu, {job}"),
            &["workload `a` has no team, but pool `gpu` is dedicated to `t`"],
        );
        check(&format!("pool: use, {job}"), &[]);
        check("pool: gpu, cudaTest: {}", &[]);
    }
}
