//! The services of a team exceed its quota.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_model::scheduling::contention::{self, ExceededByTeam};
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2200",
        name: "team-services-over-limit",
        severity: Severity::Error,
        summary: "the services of a team exceed its quota",
        checks: "Whether all deployments, stateful sets and leader-worker sets of a team, with their fixed number of
pods, fit into its quota: GPUs, MIG devices and replicas by pool, CPU, memory and pods. A workload
that may run on several pools counts against the team's quotas of all of them. Another rule reports
a workload that exceeds the quota alone.",
        reason: "Services run until they are deleted. The pods of the last one would stay pending indefinitely or be
rejected. Which service that is depends on the order of their start.",
        remedy: "Run fewer pods, or raise the team's `limit`, or its quota of CPU, memory or pods.",
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
  - {name: chat, team: research, deployment: {image: "registry.example.com/model:1.0.0", gpus: 1, replicas: 2}}
  - {name: search, team: research, deployment: {image: "registry.example.com/model:1.0.0", gpus: 1}}
"#,
        correction: Correction::Replace(", replicas: 2", ""),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let workloads = contention::running_workloads(cluster);
    for sum in ExceededByTeam::by_services(cluster, &workloads) {
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
              - {{name: l4, gpu: {{model: L4, perNode: 2}}, hosts: [e, f], nodes: {{count: 2}}}}
            teams: [{{name: t, quota: {{cpu: 8, memory: 16Gi, pods: 9, gpus: [{{pool: gpu, guaranteed: 2, limit: 3}}, {{pool: l4, guaranteed: 2}}]}}}}]
            workloads: [{workloads}]
            "
        );
        assert_eq!(messages_with_id(&yaml, "GPUC2200"), expected, "{workloads}");
    }

    fn service(name: &str, pool: &str, keys: &str) -> String {
        format!(
            "{{name: {name}, team: t{pool}, deployment: {{image: 'a:1', cpu: 1, memory: 1Gi, {keys}}}}}"
        )
    }

    #[test]
    fn services_beyond_the_gpu_quota_are_found() {
        let on = ", pool: gpu";
        let two = service("a", on, "gpus: 2");
        for queueing in ["none", "kueue"] {
            check(
                queueing,
                &format!("{two}, {}", service("b", on, "gpus: 1")),
                &[],
            );
            let over = "the services of team `t` need 4 of `nvidia.com/gpu` at once, but the team's limit is 3";
            check(
                queueing,
                &format!("{two}, {}", service("b", on, "gpus: 1, replicas: 2")),
                &[over],
            );
        }
        // Other pools have separate quotas, and jobs end.
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
        // A workload that may run on both pools counts against both.
        let both = format!(
            "{two}, {}, {}",
            service("b", "", "gpus: 2"),
            service("c", "", "gpus: 1")
        );
        check("none", &both, &[]);
        let over = "the services of team `t` need 6 of `nvidia.com/gpu` at once, but the team's limit is 5";
        check(
            "none",
            &format!("{both}, {}", service("d", "", "gpus: 1")),
            &[over],
        );
        // An autoscaler adds pods only if they fit.
        let grows = service("b", on, "gpus: 1, autoscaling: {min: 1, max: 3}");
        check("none", &format!("{two}, {grows}"), &[]);
        // Another rule reports a workload that exceeds the quota alone.
        check(
            "none",
            &format!("{two}, {}", service("b", on, "gpus: 2, replicas: 2")),
            &[],
        );
    }

    #[test]
    fn services_beyond_other_quotas_are_found() {
        let plain = |name: &str, keys: &str| {
            format!("{{name: {name}, team: t, deployment: {{image: 'a:1', {keys}}}}}")
        };
        let cpu = format!("{}, {}", plain("a", "cpu: 5"), plain("b", "cpu: 3500m"));
        let over =
            "the services of team `t` need 8.5 cores at once, but the team's limit is 8 cores";
        check("none", &cpu, &[over]);
        let memory = format!(
            "{}, {}",
            plain("a", "memory: 8Gi"),
            plain("b", "memory: 9Gi")
        );
        let over = "the services of team `t` need 17 GiB of memory at once, but the team's limit is 16 GiB of memory";
        check("none", &memory, &[over]);
        // The default request of half a core counts for pods that set no requests.
        let quiet = format!("{}, {}", plain("a", "cpu: 7"), plain("b", "replicas: 3"));
        let over =
            "the services of team `t` need 8.5 cores at once, but the team's limit is 8 cores";
        check("none", &quiet, &[over]);
        let pods = format!(
            "{}, {}",
            plain("a", "replicas: 6, cpu: 1m"),
            plain("b", "replicas: 4, cpu: 1m")
        );
        let over = "the services of team `t` need 10 pods at once, but the team's limit is 9 pods";
        check("none", &pods, &[over]);
    }

    #[test]
    fn service_beyond_the_quota_of_its_namespace_is_not_reported_twice() {
        let service = |name: &str, namespace: &str, replicas: u32| {
            format!(
                "{{name: {name}, team: t, namespace: {namespace}, deployment: {{image: 'a:1', replicas: {replicas}}}}}"
            )
        };
        let found = |workloads: &str, id: &str| {
            let yaml = format!(
                "
                cloud: {{onPrem: {{context: demo}}}}
                nodePools:
                  - {{name: gpu, gpu: {{model: A30, perNode: 2}}, hosts: [a, b], nodes: {{count: 2}}}}
                teams: [{{name: t, namespaces: [ra, rb], namespaceQuotas: [{{namespace: ra, quota: {{pods: 2}}}}]}}]
                workloads: [{workloads}]
                "
            );
            messages_with_id(&yaml, id)
        };
        let chat = service("chat", "ra", 3);
        let over = ["workload `chat` exceeds its team's quota of pods"];
        for workloads in [
            chat.clone(),
            format!("{chat}, {}", service("other", "rb", 1)),
            format!("{chat}, {}", service("other", "ra", 1)),
        ] {
            assert_eq!(found(&workloads, "GPUC2187"), over, "{workloads}");
            let none: [&str; 0] = [];
            assert_eq!(found(&workloads, "GPUC2200"), none, "{workloads}");
        }
        let both = format!("{}, {}", service("a", "ra", 2), service("b", "ra", 1));
        let over = ["the services of team `t` need 3 pods at once, but the team's limit is 2 pods"];
        assert_eq!(found(&both, "GPUC2200"), over);
    }

    #[test]
    fn volumes_beyond_the_storage_quota_are_found() {
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
            assert_eq!(messages_with_id(&yaml, "GPUC2200"), expected, "{workloads}");
        };
        let with = |name: &str, size: u32| {
            let volume =
                format!("{{name: v, mountPath: /v, from: {{claim: {{sizeGiB: {size}}}}}}}");
            format!("{{name: {name}, team: t, deployment: {{image: 'a:1', volumes: [{volume}]}}}}")
        };
        check(&format!("{}, {}", with("a", 20), with("b", 10)), &[]);
        let over = "the services of team `t` need 31 GiB of storage at once, but the team's limit is 30 GiB of storage";
        check(&format!("{}, {}", with("a", 20), with("b", 11)), &[over]);
    }
}
