//! The services on a pool need more nodes than its maximum.

use gpuc_model::check::Rule;
use gpuc_model::scheduling::{contention, find_over_capacity};
use gpuc_model::{Cluster, Pool};
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2202",
        name: "services-overfill-pool",
        severity: Severity::Error,
        summary: "the services on a pool need more nodes than its maximum",
        checks: "Whether all deployments, stateful sets and leader-worker sets of the file fit together on their
pools. They count with their fixed number of pods, and the pools with their maximum node count. The
check covers GPUs, MIG devices and replicas, CPU and memory. Two pods that each need more than half
of a node cannot share it. For CPU and memory gpuc assumes the upper bound of what a node can
allocate to pods. Slightly less than a reported total may be too much already.",
        reason: "Services run until they are deleted, and an autoscaler stops at the pool's maximum node count. Some
pods would stay pending indefinitely, and no capacity is left for jobs.",
        remedy: "Give the pool more nodes, run fewer pods, or move some of them to another pool.",
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
workloads:
  - {name: chat, deployment: {image: "registry.example.com/model:1.0.0", gpus: 1, replicas: 3}}
  - {name: search, deployment: {image: "registry.example.com/model:1.0.0", gpus: 2}}
"#,
        correction: Correction::Replace("replicas: 3", "replicas: 2"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    // Pods that do not fit here may fit on a pool with unresolved resources.
    let is_unresolved = |pool: &Pool| pool.gpus.is_unresolved() || pool.advertised.is_unresolved();
    if cluster.pools.iter().any(is_unresolved) {
        return;
    }
    let workloads = contention::running_workloads(cluster);
    let services: Vec<_> = workloads
        .into_iter()
        .filter(|workload| workload.is_long_running)
        .collect();
    for over_capacity in find_over_capacity(cluster, &services) {
        contention::over_capacity_diagnostic(&over_capacity, &RULE.code, &services, report).emit();
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check_in;

    #[track_caller]
    fn check(workloads: &str, expected: &[&str]) {
        let file = "
            cloud: {aws: {account: '123456789012', region: us-east-1, cluster: {create: {}}}}
            nodePools:
              - {name: system, machine: m7i.xlarge, nodes: {count: 2}}
              - {name: four, machine: g6.12xlarge, nodes: {min: 0, max: 2}}
              - {name: one, machine: g6.xlarge, nodes: {min: 1, max: 2}}
            workloads: [<rest>]
            ";
        check_in(file, "GPUC2202", workloads, expected);
    }

    fn service(name: &str, pool: &str, keys: &str) -> String {
        format!("{{name: {name}{pool}, deployment: {{image: 'a:1', {keys}}}}}")
    }

    #[test]
    fn services_beyond_the_nodes_are_found() {
        let (four, one) = (", pool: four", ", pool: one");
        check(&service("a", four, "gpus: 1, replicas: 8"), &[]);
        let over = "the services on pool `four` need 9 of `nvidia.com/gpu` at once, but its maximum of 2 nodes has 8";
        check(&service("a", four, "gpus: 1, replicas: 9"), &[over]);
        let two = format!(
            "{}, {}",
            service("a", four, "gpus: 1, replicas: 5"),
            service("b", four, "gpus: 4")
        );
        check(&two, &[over]);
        // Six of eight GPUs are used, but no node has two of them unallocated.
        let over = "the services on pool `four` need 3 nodes at once for their `nvidia.com/gpu`, but its maximum is 2";
        check(&service("a", four, "gpus: 3, replicas: 2"), &[]);
        let mixed = format!(
            "{}, {}",
            service("a", four, "gpus: 3, replicas: 2"),
            service("b", four, "gpus: 2")
        );
        check(&mixed, &[over]);
        // Without a named pool, all pools that a pod fits on count.
        check(&service("a", "", "gpus: 1, replicas: 10"), &[]);
        let over = "the services on pools `four` and `one` need 11 of `nvidia.com/gpu` at once, but their maximum of 4 nodes has 10";
        check(&service("a", "", "gpus: 1, replicas: 11"), &[over]);
        check(
            &format!(
                "{}, {}",
                service("a", "", "gpus: 1, replicas: 8"),
                service("b", one, "gpus: 1, replicas: 2")
            ),
            &[],
        );
        let set = "{name: a, pool: four, leaderWorkerSet: {image: 'a:1', nodes: 2, gpusPerNode: 4, replicas: 2}}";
        let over = "the services on pool `four` need 16 of `nvidia.com/gpu` at once, but its maximum of 2 nodes has 8";
        check(set, &[over]);
        // A job's pods can wait for each other, and an autoscaler adds pods only if they fit.
        check(
            "{name: a, pool: four, job: {image: 'a:1', gpus: 4, completions: 9, parallelism: 9}}",
            &[],
        );
        check(
            &service("a", four, "gpus: 4, cpu: 1, autoscaling: {min: 1, max: 9}"),
            &[],
        );
    }

    #[test]
    fn allocatable_cpu_and_memory_are_counted() {
        let one = ", pool: one";
        check(&service("a", one, "cpu: 1900m, replicas: 4"), &[]);
        let over = "the services on pool `one` need 8 cores at once, but its maximum of 2 nodes has 7.64 cores";
        check(&service("a", one, "cpu: 2, replicas: 4"), &[over]);
        let nodes =
            "the services on pool `one` need 3 nodes at once for their CPU, but its maximum is 2";
        check(&service("a", one, "cpu: 2, replicas: 3"), &[nodes]);
        let over = "the services on pool `one` need 32 GiB of memory at once, but its maximum of 2 nodes has 29.9 GiB of memory";
        check(&service("a", one, "memory: 8Gi, replicas: 4"), &[over]);
    }
}
