//! An upgrade setting that EKS does not support.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::created_pools;

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2529",
        name: "upgrade-unavailable",
        severity: Severity::Error,
        summary: "EKS does not support an upgrade setting",
        checks: "Whether a managed node group supports the pool's `upgrade`: `maxUnavailable` from 1 to the pool's
maximum number of nodes, at most 100, and neither `maxSurge` nor `blueGreen`.",
        reason: "A managed node group starts the extra nodes for an upgrade automatically. Only the number of nodes
that are replaced at a time can be set. eksctl rejects a number above the group's `maxSize`.",
        remedy: "Write `upgrade: {maxUnavailable: 1}`.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: gpu, machine: g5.xlarge, nodes: {count: 2}, upgrade: {maxSurge: 1}}
"#,
        correction: Correction::Replace("maxSurge:", "maxUnavailable:"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for pool in created_pools(cluster) {
        let Some(upgrade) = &pool.settings.upgrade else {
            continue;
        };
        if let Some(blue_green) = &upgrade.blue_green {
            report
                .diagnostic(
                    &RULE.code,
                    blue_green.span,
                    "EKS does not support `blueGreen`",
                )
                .help("remove it; `maxUnavailable` sets how many nodes are replaced at a time")
                .emit();
        }
        if let Some(surge) = upgrade.max_surge {
            report
                .diagnostic(
                    &RULE.code,
                    surge.span,
                    "a managed node group does not support `maxSurge`",
                )
                .primary_label("EKS starts the extra nodes automatically")
                .help("remove it; `maxUnavailable` sets how many nodes are replaced at a time")
                .emit();
        }
        let (Some(unavailable), Some(nodes)) = (upgrade.max_unavailable, pool.nodes.get()) else {
            continue;
        };
        let max = nodes.max.min(100);
        if !(1..=max).contains(&unavailable.value) {
            let message = format!("`maxUnavailable` must be 1 to {max} for this pool");
            report
                .diagnostic(&RULE.code, unavailable.span, message)
                .label(nodes.max_span, "the maximum number of nodes")
                .help(format!("write a number from 1 to {max}"))
                .emit();
        }
    }
}
