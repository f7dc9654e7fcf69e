//! A pool has too few nodes for the services that run on it.

use super::{Rule, together};
use crate::diag::{Code, Report, Severity};
use crate::model::{Cluster, Pool};
use crate::placement::crowded;

/// A pool has too few nodes for the services that run on it.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2202",
        name: "services-overfill-pool",
        severity: Severity::Error,
        summary: "a pool has too few nodes for the services that run on it",
        explain: "### What it checks

The deployments, stateful sets and leader-worker sets of the file together, with as many pods as they
always have, against the pools that hold them, each with its most nodes: GPUs, slices and shares, CPU
and memory. A pod is on one node: two that take more than half of one are not on the same. Of CPU and
memory it is the most that a node can have left for pods, so that a little less than what is found
here may be too much already.

### Why it matters

Services run until somebody takes them away, and an autoscaler stops at the pool's most nodes. Some
pods would wait for ever, and nothing is left for jobs.

### What to do

Give the pool more nodes, run fewer pods, or let some of them run on another pool.
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
workloads:
  - {name: chat, deployment: {image: "registry.example.com/model:1.0.0", gpus: 1, replicas: 3}}
  - {name: search, deployment: {image: "registry.example.com/model:1.0.0", gpus: 2}}
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
workloads:
  - {name: chat, deployment: {image: "registry.example.com/model:1.0.0", gpus: 1, replicas: 2}}
  - {name: search, deployment: {image: "registry.example.com/model:1.0.0", gpus: 2}}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    // What seems to crowd this pool may have room in one of which nobody knows what it has.
    let is_unknown = |pool: &Pool| pool.gpus.is_hole() || pool.offers.is_hole();
    if cluster.pools.iter().any(is_unknown) {
        return;
    }
    let loads = together::loads(cluster);
    let services: Vec<_> = loads.into_iter().filter(|load| load.lasts).collect();
    for crowd in crowded(cluster, &services) {
        together::draft(&crowd, &RULE.code, &services, report).emit();
    }
}

#[cfg(test)]
mod tests {
    use crate::check::testing::messages;

    #[track_caller]
    fn check(workloads: &str, expected: &[&str]) {
        let yaml = format!(
            "
            cloud: {{aws: {{account: '123456789012', region: us-east-1, cluster: {{create: {{}}}}}}}}
            nodePools:
              - {{name: system, machine: m7i.xlarge, nodes: {{count: 2}}}}
              - {{name: four, machine: g6.12xlarge, nodes: {{min: 0, max: 2}}}}
              - {{name: one, machine: g6.xlarge, nodes: {{min: 1, max: 2}}}}
            workloads: [{workloads}]
            "
        );
        assert_eq!(messages(&yaml, "GPUC2202"), expected, "{workloads}");
    }

    fn service(name: &str, pool: &str, keys: &str) -> String {
        format!("{{name: {name}{pool}, deployment: {{image: 'a:1', {keys}}}}}")
    }

    #[test]
    fn what_runs_for_good_fits_onto_the_nodes() {
        let (four, one) = (", pool: four", ", pool: one");
        check(&service("a", four, "gpus: 1, replicas: 8"), &[]);
        let over = "the services on pool `four` need 9 of `nvidia.com/gpu` at once, and it has 8 on its 2 nodes at most";
        check(&service("a", four, "gpus: 1, replicas: 9"), &[over]);
        let two = format!(
            "{}, {}",
            service("a", four, "gpus: 1, replicas: 5"),
            service("b", four, "gpus: 4")
        );
        check(&two, &[over]);
        // Six of eight GPUs, and yet no node has room for two of them.
        let over = "the services on pool `four` need 3 nodes at once for their `nvidia.com/gpu`, and it has 2 at most";
        check(&service("a", four, "gpus: 3, replicas: 2"), &[]);
        let mixed = format!(
            "{}, {}",
            service("a", four, "gpus: 3, replicas: 2"),
            service("b", four, "gpus: 2")
        );
        check(&mixed, &[over]);
        // Where no pool is named, all that hold a pod count.
        check(&service("a", "", "gpus: 1, replicas: 10"), &[]);
        let over = "the services on pools `four` and `one` need 11 of `nvidia.com/gpu` at once, and they have 10 on \
                    their 4 nodes at most";
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
        let over = "the services on pool `four` need 16 of `nvidia.com/gpu` at once, and it has 8 on its 2 nodes at most";
        check(set, &[over]);
        // A job's pods wait for each other, and an autoscaler adds some where there is room.
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
    fn cores_and_memory_count_as_they_are_left() {
        let one = ", pool: one";
        check(&service("a", one, "cpu: 1900m, replicas: 4"), &[]);
        let over = "the services on pool `one` need 8 cores at once, and it has 7.82 cores on its 2 nodes at most";
        check(&service("a", one, "cpu: 2, replicas: 4"), &[over]);
        let nodes =
            "the services on pool `one` need 3 nodes at once for their CPU, and it has 2 at most";
        check(&service("a", one, "cpu: 2, replicas: 3"), &[nodes]);
        let over = "the services on pool `one` need 32 GiB of memory at once, and it has 29.9 GiB of memory on its 2 nodes \
                    at most";
        check(&service("a", one, "memory: 8Gi, replicas: 4"), &[over]);
    }
}
