//! A pool with EFA that is not in exactly one zone.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::{created_pools, describe_unless_one_zone};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2520",
        name: "efa-several-zones",
        severity: Severity::Error,
        summary: "a pool with EFA is not in exactly one zone",
        checks: "Whether a pool with EFA is in exactly one zone or subnet.",
        reason: "EFA does not work across zones. eksctl rejects a node group with EFA in several zones or without a
zone.",
        remedy: "Set one zone or one subnet. To use more zones, add a pool for each.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: gpu, machine: p4d.24xlarge, nodes: {count: 2}, network: {efa: {}}, zones: [us-east-1a, us-east-1b]}
"#,
        correction: Correction::Replace(", us-east-1b", ""),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for pool in created_pools(cluster) {
        let Some(efa) = &pool.settings.network.efa else {
            continue;
        };
        if let Some(zones) = describe_unless_one_zone(pool) {
            let builder = report.diagnostic(
                &RULE.code,
                efa.span,
                format!("EFA requires exactly one zone; the pool is in {zones}"),
            );
            let builder = match pool.settings.zones.get(1) {
                Some(second) => builder.label(second.span, "second zone"),
                None => builder,
            };
            builder
                .help("set one zone in `zones`, or one subnet in `subnets`")
                .emit();
        }
    }
}
