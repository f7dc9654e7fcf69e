//! Pods that request extended resources do not share GPUs.

use gpuc_model::check::Rule;
use gpuc_model::{Cluster, Sharing};
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2233",
        name: "extended-resources-with-mps",
        severity: Severity::Error,
        summary: "pods that request extended resources do not share a GPU with MPS",
        checks: "Whether a pool with `allocation: dra` and `extendedResources: true` has no `sharing.mps`.",
        reason: "With DRA, MPS clients share a GPU by naming the same ResourceClaim. For a pod that requests an
extended resource, the scheduler creates a ResourceClaim of its own: the pod would get a GPU alone,
and could use only a part of it.",
        remedy: "Remove `extendedResources` from the pool and let pods name one ResourceClaim; or use a device plugin
(`allocation: devicePlugin`), which advertises replicas; or write `sharing: none`.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {onPrem: {context: demo}}
stack: {allocation: dra, extendedResources: true}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [node-1]
    nodes: {count: 1}
    sharing: {mps: {replicas: 4}}
"#,
        correction: Correction::Replace("sharing: {mps: {replicas: 4}}", "sharing: none"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for pool in cluster.dra_pools() {
        let is_mps = matches!(pool.sharing.get(), Some(Sharing::Mps { .. }));
        if !is_mps || !pool.extended_resources.value {
            continue;
        }
        let message = format!(
            "pods that request extended resources do not share the GPUs of pool `{}`",
            pool.name
        );
        report
            .diagnostic(&RULE.code, pool.sharing_span, message)
            .primary_label("clients share a GPU by naming the same ResourceClaim")
            .label(
                pool.extended_resources.span,
                "Kubernetes creates a ResourceClaim for each pod",
            )
            .help(format!(
                "set `extendedResources: false` in the `stack` of pool `{}`",
                pool.name
            ))
            .emit();
    }
}
