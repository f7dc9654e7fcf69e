//! The autoscaler treats nodes as unready because they do not advertise `nvidia.com/gpu`.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_schema::config::{Allocation, Autoscaler, Sharing};
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::queries::GPU_RESOURCE;

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2049",
        name: "autoscaler-nodes-unready",
        severity: Severity::Warning,
        summary: "the autoscaler treats nodes that do not advertise `nvidia.com/gpu` as unready",
        checks: "Whether nodes that an autoscaler adds advertise `nvidia.com/gpu`. MIG devices of the strategy
`mixed` and renamed replicas have other resource names.",
        reason: "The Cluster Autoscaler considers a GPU node ready when it advertises `nvidia.com/gpu`. A node that
advertises only other resource names stays unready. After several such nodes the autoscaler adds no
more (kubernetes/autoscaler#8095, open on 2026-11-21).",
        remedy: "Use the strategy `single`, or replicas without `rename`; or set a fixed number of nodes. If your
autoscaler contains the fix, write `allow: [autoscaler-nodes-unready]`.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
autoscaler: clusterAutoscaler
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: g6.xlarge
    nodes: {min: 1, max: 3}
    sharing: {timeSlicing: {replicas: 4, rename: true}}
"#,
        correction: Correction::Replace(", rename: true", ""),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let affected = [Autoscaler::ClusterAutoscaler, Autoscaler::Managed];
    if !affected.contains(&cluster.autoscaler.value) {
        return;
    }
    for (pool, _) in cluster.gpu_pools() {
        // GPUs allocated through DRA are not extended resources.
        if pool.allocation.value == Allocation::Dra {
            continue;
        }
        let (Some(nodes), Some(advertised)) = (pool.nodes.get(), pool.advertised.get()) else {
            continue;
        };
        let becomes_ready = advertised
            .iter()
            .any(|resource| resource.name == GPU_RESOURCE);
        if nodes.is_fixed() || becomes_ready {
            continue;
        }
        let name = advertised
            .first()
            .map_or("", |resource| resource.name.as_str());
        let message = format!(
            "the autoscaler never considers the nodes of pool `{}` ready",
            pool.name
        );
        let help = match &cluster.pool_in_file(pool).sharing.value {
            Sharing::Mig(_) => "write `strategy: single` in `mig`, or set a fixed number of nodes",
            _ => "remove `rename`, or set a fixed number of nodes",
        };
        report
            .diagnostic(&RULE.code, pool.sharing_span, message)
            .primary_label(format!(
                "the nodes advertise `{name}`, not `{GPU_RESOURCE}`"
            ))
            .label(
                nodes.max_span,
                "the autoscaler adds nodes up to this number",
            )
            .help(help)
            .emit();
    }
}
