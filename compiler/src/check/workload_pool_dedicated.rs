//! A workload names a pool that is for another team.

use gpuc_schema::config::Task;

use super::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// A workload names a pool that is for another team.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2197",
        name: "workload-pool-dedicated",
        severity: Severity::Warning,
        summary: "a workload names a pool that is for another team",
        explain: "### What it checks

Whether a workload that names a pool with `dedicatedTo: <team>` is that team's. A `cudaTest` may
run everywhere.

### Why it matters

gpuc has it tolerate the taint that keeps others off the pool, so that it takes GPUs which another
team counts on.

### What to do

Name the team, or another pool.
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
    dedicatedTo: research
teams:
  - {name: research}
workloads:
  - {name: finetune, pool: gpu, job: {image: "registry.example.com/model:1.0.0", gpus: 1}}
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
    dedicatedTo: research
teams:
  - {name: research}
workloads:
  - {name: finetune, pool: gpu, team: research, job: {image: "registry.example.com/model:1.0.0", gpus: 1}}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for workload in &cluster.written.workloads {
        let Some(named) = &workload.pool else {
            continue;
        };
        let whom = cluster
            .pool(named)
            .and_then(|pool| pool.written.dedicated_to.as_ref());
        // What is dedicated to no team is reached by name alone.
        let Some(whom) = whom.filter(|whom| cluster.team(whom).is_some()) else {
            continue;
        };
        let is_test = matches!(workload.task(), Some(Task::CudaTest(_)));
        if is_test || workload.team.as_ref() == Some(whom) {
            continue;
        }
        let name = &workload.name;
        let whose = match &workload.team {
            Some(team) => format!("team `{team}`'s"),
            None => "nobody's".to_owned(),
        };
        let message = format!("workload `{name}` is {whose}, and pool `{named}` is for `{whom}`");
        let draft = report.draft(&RULE.code, named.span, message);
        let draft = draft.label(whom.span, "whom the pool is for");
        let help = match &workload.team {
            Some(_) => "name another pool".to_owned(),
            None => format!("add `team: {whom}`, or name another pool"),
        };
        draft.help(help).emit();
    }
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
              - {{name: gpu, gpu: {{model: A30, perNode: 2}}, hosts: [a], nodes: {{count: 1}}, dedicatedTo: t}}
              - {{name: use, gpu: {{model: A30, perNode: 2}}, hosts: [b], nodes: {{count: 1}}, dedicatedTo: batch}}
            teams: [{{name: t}}, {{name: u}}]
            workloads: [{{name: a, {workload}}}]
            "
        );
        assert_eq!(messages(&yaml, "GPUC2197"), expected, "{workload}");
    }

    #[test]
    fn a_teams_pool_is_the_teams() {
        let job = "job: {image: 'a:1', gpus: 1}";
        check(&format!("pool: gpu, team: t, {job}"), &[]);
        check(
            &format!("pool: gpu, team: u, {job}"),
            &["workload `a` is team `u`'s, and pool `gpu` is for `t`"],
        );
        check(
            &format!("pool: gpu, {job}"),
            &["workload `a` is nobody's, and pool `gpu` is for `t`"],
        );
        check(&format!("pool: use, {job}"), &[]);
        check("pool: gpu, cudaTest: {}", &[]);
    }
}
