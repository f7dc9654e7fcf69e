//! A team's workloads cannot all run at once.

use super::Rule;
use super::together::{self, Sum};
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// A team's workloads cannot all run at once.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2201",
        name: "team-workloads-over-limit",
        severity: Severity::Warning,
        summary: "a team's workloads cannot all run at once",
        explain: "### What it checks

All workloads of a team together against what the team may have: its services, and its jobs with as
many pods as they run at once. A run of a cron job counts once. Where jobs wait in queues, each job
alone beside the team's services.

### Why it matters

Without queues the pods of a job are refused while the others run, and Kubernetes tries again later
and later. With queues a job that finds no room beside the services waits for as long as they run.

### What to do

Ask for less, raise the team's `limit`, or write `queueing: kueue`, so that jobs wait for each other.
Where jobs never run at the same time, name the finding in `allow`.
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
  - {name: research, quota: {gpus: [{pool: gpu, guaranteed: 2}]}}
workloads:
  - {name: finetune, team: research, job: {image: "registry.example.com/model:1.0.0", gpus: 2}}
  - {name: evaluate, team: research, job: {image: "registry.example.com/model:1.0.0", gpus: 1}}
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
  - {name: research, quota: {gpus: [{pool: gpu, guaranteed: 2}]}}
workloads:
  - {name: finetune, team: research, job: {image: "registry.example.com/model:1.0.0", gpus: 1}}
  - {name: evaluate, team: research, job: {image: "registry.example.com/model:1.0.0", gpus: 1}}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let loads = together::loads(cluster);
    for sum in Sum::of_everything(cluster, &loads) {
        sum.draft(&RULE.code, &loads, report).emit();
    }
}

#[cfg(test)]
mod tests {
    use crate::check::testing::messages;

    #[track_caller]
    fn check(queueing: &str, workloads: &str, expected: &[&str]) {
        let yaml = format!(
            "
            cloud: {{onPrem: {{context: demo}}}}
            queueing: {queueing}
            nodePools:
              - {{name: gpu, gpu: {{model: A30, perNode: 2}}, hosts: [a, b, c, d], nodes: {{count: 4}}}}
            teams: [{{name: t, quota: {{gpus: [{{pool: gpu, guaranteed: 4}}]}}}}]
            workloads: [{workloads}]
            "
        );
        assert_eq!(messages(&yaml, "GPUC2201"), expected, "{workloads}");
    }

    fn job(name: &str, keys: &str) -> String {
        format!("{{name: {name}, team: t, job: {{image: 'a:1', {keys}}}}}")
    }

    fn service(keys: &str) -> String {
        format!("{{name: s, team: t, deployment: {{image: 'a:1', {keys}}}}}")
    }

    #[test]
    fn jobs_that_wait_for_each_other_do_so_in_queues() {
        let three = format!(
            "{}, {}, {}",
            job("a", "gpus: 1, completions: 2, parallelism: 2"),
            job("b", "gpus: 2"),
            job("c", "gpus: 1")
        );
        let over =
            "the workloads of team `t` need 5 of `nvidia.com/gpu` at once, and the team may have 4";
        check("none", &three, &[over]);
        check("kueue", &three, &[]);
        check(
            "none",
            &format!("{}, {}", job("a", "gpus: 2"), job("b", "gpus: 2")),
            &[],
        );
        let cron = "{name: c, team: t, cronJob: {image: 'a:1', schedule: '@daily', gpus: 1}}";
        check(
            "none",
            &format!("{}, {}, {cron}", job("a", "gpus: 2"), job("b", "gpus: 2")),
            &[over],
        );
        // A test is over before anything else waits for it.
        check(
            "none",
            &format!(
                "{}, {}, {{name: c, team: t, cudaTest: {{}}}}",
                job("a", "gpus: 2"),
                job("b", "gpus: 2")
            ),
            &[],
        );
    }

    #[test]
    fn a_job_finds_room_beside_the_services() {
        let both = format!(
            "{}, {}",
            service("gpus: 1, replicas: 3"),
            job("a", "gpus: 2")
        );
        let over = "the services of team `t` and workload `a` need 5 of `nvidia.com/gpu` at once, and the team may have 4";
        check("kueue", &both, &[over]);
        let over =
            "the workloads of team `t` need 5 of `nvidia.com/gpu` at once, and the team may have 4";
        check("none", &both, &[over]);
        let fits = format!(
            "{}, {}, {}",
            service("gpus: 1, replicas: 3"),
            job("a", "gpus: 1"),
            job("b", "gpus: 1")
        );
        check("kueue", &fits, &[]);
        // Services that do not fit by themselves are an error of their own.
        let more = "{name: r, team: t, deployment: {image: 'a:1', gpus: 1, replicas: 2}}";
        check(
            "none",
            &format!(
                "{}, {more}, {}",
                service("gpus: 1, replicas: 3"),
                job("a", "gpus: 1")
            ),
            &[],
        );
    }
}
