//! An upgrade that EKS does not do.

use super::made_pools;
use crate::check::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// An upgrade that EKS does not do.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2529",
        name: "upgrade-unavailable",
        severity: Severity::Error,
        summary: "an upgrade setting is not one of EKS",
        explain: "### What it checks

Whether `upgrade` of a pool is what a managed node group takes: `maxUnavailable` from 1 to the
most nodes of the pool and to 100, and no `maxSurge`.

### Why it matters

A managed node group starts the nodes that it needs for an upgrade by itself; only how many are
replaced at a time can be set. eksctl refuses a number above the group's `maxSize`.

### What to do

Write `upgrade: {maxUnavailable: 1}`.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: gpu, machine: g5.xlarge, nodes: {count: 2}, upgrade: {maxSurge: 1}}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: gpu, machine: g5.xlarge, nodes: {count: 2}, upgrade: {maxUnavailable: 1}}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for pool in made_pools(cluster) {
        let Some(upgrade) = &pool.written.upgrade else {
            continue;
        };
        if let Some(surge) = upgrade.max_surge {
            report
                .draft(
                    &RULE.code,
                    surge.span,
                    "a managed node group has no `maxSurge`",
                )
                .here("EKS starts the nodes it needs by itself")
                .help("remove it; `maxUnavailable` says how many nodes are replaced at a time")
                .emit();
        }
        let (Some(missing), Some(nodes)) = (upgrade.max_unavailable, pool.nodes.get()) else {
            continue;
        };
        let most = nodes.max.min(100);
        if !(1..=most).contains(&missing.value) {
            let message =
                format!("EKS replaces 1 to {most} nodes of this pool at a time, not {missing}");
            report
                .draft(&RULE.code, missing.span, message)
                .label(nodes.max_span, "the most nodes")
                .help(format!("write a number from 1 to {most}"))
                .emit();
        }
    }
}
