//! The workloads of a team exceed its quota if they run at the same time.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_model::scheduling::contention::{self, ExceededByTeam};
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2201",
        name: "team-workloads-over-limit",
        severity: Severity::Warning,
        summary: "the workloads of a team exceed its quota if they run at the same time",
        checks: "Whether all workloads of a team fit into its quota together: its services, and its jobs with the
number of pods that they run in parallel. A cron job counts with one run. With queues, each job
alone counts in addition to the team's services.",
        reason: "Without queues, the pods of a job are rejected while other workloads run, and Kubernetes retries
with increasing delays. With queues, a job that does not fit next to the services waits until they
are deleted.",
        remedy: "Lower the requests, raise the team's `limit`, or set `queueing: kueue`, so that jobs wait for each
other. If the jobs never run at the same time, add the warning to `allow`.",
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
  - {name: research, quota: {gpus: [{pool: gpu, guaranteed: 2}]}}
workloads:
  - {name: finetune, team: research, job: {image: "registry.example.com/model:1.0.0", gpus: 2}}
  - {name: evaluate, team: research, job: {image: "registry.example.com/model:1.0.0", gpus: 1}}
"#,
        correction: Correction::Replace("gpus: 2", "gpus: 1"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let workloads = contention::running_workloads(cluster);
    for sum in ExceededByTeam::by_all_workloads(cluster, &workloads) {
        sum.diagnostic(&RULE.code, &workloads, report).emit();
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::messages_with_id;

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
        assert_eq!(messages_with_id(&yaml, "GPUC2201"), expected, "{workloads}");
    }

    fn job(name: &str, keys: &str) -> String {
        format!("{{name: {name}, team: t, job: {{image: 'a:1', {keys}}}}}")
    }

    fn service(keys: &str) -> String {
        format!("{{name: s, team: t, deployment: {{image: 'a:1', {keys}}}}}")
    }

    #[test]
    fn concurrent_jobs_beyond_the_quota_are_found() {
        let three = format!(
            "{}, {}, {}",
            job("a", "gpus: 1, completions: 2, parallelism: 2"),
            job("b", "gpus: 2"),
            job("c", "gpus: 1")
        );
        let over = "the workloads of team `t` need 5 of `nvidia.com/gpu` at once, but the team's limit is 4";
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
        // A test completes before another workload has to wait for it.
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
    fn job_that_does_not_fit_next_to_services_is_found() {
        let both = format!(
            "{}, {}",
            service("gpus: 1, replicas: 3"),
            job("a", "gpus: 2")
        );
        let over = "the services of team `t` and workload `a` need 5 of `nvidia.com/gpu` at once, but the team's limit is 4";
        check("kueue", &both, &[over]);
        let over = "the workloads of team `t` need 5 of `nvidia.com/gpu` at once, but the team's limit is 4";
        check("none", &both, &[over]);
        let fits = format!(
            "{}, {}, {}",
            service("gpus: 1, replicas: 3"),
            job("a", "gpus: 1"),
            job("b", "gpus: 1")
        );
        check("kueue", &fits, &[]);
        // Another rule reports services that do not fit by themselves.
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
