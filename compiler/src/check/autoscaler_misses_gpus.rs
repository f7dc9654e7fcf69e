//! The autoscaler takes nodes for unfinished whose GPUs have other names.

use gpuc_schema::config::{Allocation, Autoscaler};

use super::Rule;
use super::places::GPU;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// The autoscaler takes nodes for unfinished whose GPUs have other names.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2049",
        name: "autoscaler-misses-gpus",
        severity: Severity::Warning,
        summary: "the autoscaler takes nodes for unfinished whose GPUs have other names",
        explain: "### What it checks

Whether nodes that an autoscaler adds offer `nvidia.com/gpu` at all. Slices of strategy `mixed`
and renamed shares have other names.

### Why it matters

The Cluster Autoscaler takes a node with GPUs for ready when it offers `nvidia.com/gpu`. One that
offers only other names stays unready to it, and after some of them it adds no more
(kubernetes/autoscaler#8095, open on 2026-11-21).

### What to do

Use the strategy `single`, or shares without `rename`; or fix the number of nodes. If your
autoscaler has the repair, write `allow: [autoscaler-misses-gpus]`.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
autoscaler: clusterAutoscaler
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: g6.xlarge
    nodes: {min: 1, max: 3}
    sharing: {timeSlicing: {replicas: 4, rename: true}}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
autoscaler: clusterAutoscaler
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: g6.xlarge
    nodes: {min: 1, max: 3}
    sharing: {timeSlicing: {replicas: 4}}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let compares = [Autoscaler::ClusterAutoscaler, Autoscaler::Managed];
    if !compares.contains(&cluster.autoscaler.value) {
        return;
    }
    for (pool, _) in cluster.gpu_pools() {
        // Where pods claim GPUs no node has a resource of them.
        if pool.allocation.value == Allocation::Dra {
            continue;
        }
        let (Some(nodes), Some(offers)) = (pool.nodes.get(), pool.offers.get()) else {
            continue;
        };
        let finished = offers.iter().any(|offer| offer.resource == GPU);
        if nodes.is_fixed() || finished {
            continue;
        }
        let name = offers.first().map_or("", |offer| offer.resource.as_str());
        let message = format!(
            "the autoscaler never takes the nodes of pool `{}` for ready",
            pool.name
        );
        let draft = report.draft(&RULE.code, pool.written.sharing.span, message);
        let draft = draft.here(format!("GPUs are called `{name}`, not `{GPU}`"));
        let draft = draft.label(nodes.max_span, "nodes are added up to here");
        draft
            .help("use `strategy: single`, leave `rename` out, or fix the number of nodes")
            .emit();
    }
}
