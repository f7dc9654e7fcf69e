//! The services of a team together ask for more than it may have.

use super::Rule;
use super::together::{self, Sum};
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// The services of a team together ask for more than it may have.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2200",
        name: "team-services-over-limit",
        severity: Severity::Error,
        summary: "the services of a team together ask for more than it may have",
        explain: "### What it checks

All of a team's deployments, stateful sets and leader-worker sets together, with as many pods as they
always have, against what the team may have: GPUs, slices and shares by pool, CPU, memory and pods. A
workload that may run on several pools counts against all that the team may have of them. What one
workload asks for alone is another finding.

### Why it matters

Services run until somebody takes them away. The last of them would wait for ever, or its pods would
be refused, and which one that is depends on which came first.

### What to do

Run fewer pods, or raise the team's `limit`, or its quota of CPU, memory or pods.
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
  - {name: chat, team: research, deployment: {image: "registry.example.com/model:1.0.0", gpus: 1, replicas: 2}}
  - {name: search, team: research, deployment: {image: "registry.example.com/model:1.0.0", gpus: 1}}
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
  - {name: chat, team: research, deployment: {image: "registry.example.com/model:1.0.0", gpus: 1}}
  - {name: search, team: research, deployment: {image: "registry.example.com/model:1.0.0", gpus: 1}}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let loads = together::loads(cluster);
    for sum in Sum::of_services(cluster, &loads) {
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
              - {{name: l4, gpu: {{model: L4, perNode: 2}}, hosts: [e, f], nodes: {{count: 2}}}}
            teams: [{{name: t, quota: {{cpu: 8, memory: 16Gi, pods: 9, gpus: [{{pool: gpu, guaranteed: 2, limit: 3}}, {{pool: l4, guaranteed: 2}}]}}}}]
            workloads: [{workloads}]
            "
        );
        assert_eq!(messages(&yaml, "GPUC2200"), expected, "{workloads}");
    }

    fn service(name: &str, pool: &str, keys: &str) -> String {
        format!(
            "{{name: {name}, team: t{pool}, deployment: {{image: 'a:1', cpu: 1, memory: 1Gi, {keys}}}}}"
        )
    }

    #[test]
    fn what_runs_for_good_fits_into_what_the_team_may_have() {
        let on = ", pool: gpu";
        let two = service("a", on, "gpus: 2");
        for queueing in ["none", "kueue"] {
            check(
                queueing,
                &format!("{two}, {}", service("b", on, "gpus: 1")),
                &[],
            );
            let over = "the services of team `t` need 4 of `nvidia.com/gpu` at once, and the team may have 3";
            check(
                queueing,
                &format!("{two}, {}", service("b", on, "gpus: 1, replicas: 2")),
                &[over],
            );
        }
        // Another pool's are other GPUs, and a job ends.
        check(
            "none",
            &format!("{two}, {}", service("b", ", pool: l4", "gpus: 2")),
            &[],
        );
        check(
            "none",
            &format!("{two}, {{name: b, team: t, pool: gpu, job: {{image: 'a:1', gpus: 2}}}}"),
            &[],
        );
        // One that may run on both counts against both.
        let both = format!(
            "{two}, {}, {}",
            service("b", "", "gpus: 2"),
            service("c", "", "gpus: 1")
        );
        check("none", &both, &[]);
        let over =
            "the services of team `t` need 6 of `nvidia.com/gpu` at once, and the team may have 5";
        check(
            "none",
            &format!("{both}, {}", service("d", "", "gpus: 1")),
            &[over],
        );
        // An autoscaler adds pods only where there is room.
        let grows = service("b", on, "gpus: 1, autoscaling: {min: 1, max: 3}");
        check("none", &format!("{two}, {grows}"), &[]);
        // What one alone asks for is said elsewhere.
        check(
            "none",
            &format!("{two}, {}", service("b", on, "gpus: 2, replicas: 2")),
            &[],
        );
    }

    #[test]
    fn cores_memory_and_pods_count_too() {
        let plain = |name: &str, keys: &str| {
            format!("{{name: {name}, team: t, deployment: {{image: 'a:1', {keys}}}}}")
        };
        let cpu = format!("{}, {}", plain("a", "cpu: 5"), plain("b", "cpu: 3500m"));
        let over = "the services of team `t` need 8.5 cores at once, and the team may have 8 cores";
        check("none", &cpu, &[over]);
        let memory = format!(
            "{}, {}",
            plain("a", "memory: 8Gi"),
            plain("b", "memory: 9Gi")
        );
        let over = "the services of team `t` need 17 GiB of memory at once, and the team may have 16 GiB of memory";
        check("none", &memory, &[over]);
        // What a pod that says nothing is given counts as well: half a core each.
        let quiet = format!("{}, {}", plain("a", "cpu: 7"), plain("b", "replicas: 3"));
        let over = "the services of team `t` need 8.5 cores at once, and the team may have 8 cores";
        check("none", &quiet, &[over]);
        let pods = format!(
            "{}, {}",
            plain("a", "replicas: 6, cpu: 1m"),
            plain("b", "replicas: 4, cpu: 1m")
        );
        let over = "the services of team `t` need 10 pods at once, and the team may have 9 pods";
        check("none", &pods, &[over]);
    }

    #[test]
    fn volumes_are_the_teams_too() {
        let check = |workloads: &str, expected: &[&str]| {
            let yaml = format!(
                "
                cloud: {{onPrem: {{context: demo}}}}
                nodePools:
                  - {{name: gpu, gpu: {{model: A30, perNode: 2}}, hosts: [a, b], nodes: {{count: 2}}}}
                teams: [{{name: t, quota: {{storage: 30Gi}}}}]
                workloads: [{workloads}]
                "
            );
            assert_eq!(messages(&yaml, "GPUC2200"), expected, "{workloads}");
        };
        let with = |name: &str, size: u32| {
            let volume =
                format!("{{name: v, mountPath: /v, from: {{claim: {{sizeGiB: {size}}}}}}}");
            format!("{{name: {name}, team: t, deployment: {{image: 'a:1', volumes: [{volume}]}}}}")
        };
        check(&format!("{}, {}", with("a", 20), with("b", 10)), &[]);
        let over = "the services of team `t` need 31 GiB of storage at once, and the team may have 30 GiB of storage";
        check(&format!("{}, {}", with("a", 20), with("b", 11)), &[over]);
    }
}
