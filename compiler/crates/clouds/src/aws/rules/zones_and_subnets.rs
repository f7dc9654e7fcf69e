//! A pool with both zones and subnets.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::created_pools;

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2504",
        name: "zones-and-subnets",
        severity: Severity::Error,
        summary: "a pool has both `zones` and `subnets`",
        checks: "Whether a pool has both `zones` and `subnets`.",
        reason: "Each subnet is in one zone. eksctl accepts either setting and rejects both together.",
        remedy: "Keep `subnets` if the VPC exists already. Keep `zones` if eksctl creates it.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: gpu, machine: g5.xlarge, zones: [us-east-1a], subnets: [subnet-0123456789abcdef0], nodes: {count: 2}}
"#,
        correction: Correction::Replace("zones: [us-east-1a], ", ""),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for pool in created_pools(cluster) {
        let (zones, subnets) = (&pool.settings.zones, &pool.settings.subnets);
        if let (Some(zone), Some(subnet)) = (zones.first(), subnets.first()) {
            let message = format!("pool `{}` has both zones and subnets", pool.name);
            report
                .diagnostic(&RULE.code, zone.span, message)
                .label(subnet.span, "a subnet determines the zone")
                .help("remove `zones`")
                .emit();
        }
    }
}
