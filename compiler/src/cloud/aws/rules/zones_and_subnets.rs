//! Zones and subnets of the same pool.

use super::made_pools;
use crate::check::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// Zones and subnets of the same pool.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2504",
        name: "zones-and-subnets",
        severity: Severity::Error,
        summary: "a pool has both `zones` and `subnets`",
        explain: "### What it checks

Whether a pool has `zones` or `subnets`, and not both.

### Why it matters

A subnet is in one zone. eksctl takes either and refuses both.

### What to do

Keep `subnets` if the VPC is yours, `zones` if eksctl makes it.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: gpu, machine: g5.xlarge, zones: [us-east-1a], subnets: [subnet-0123456789abcdef0], nodes: {count: 2}}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: gpu, machine: g5.xlarge, subnets: [subnet-0123456789abcdef0], nodes: {count: 2}}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for pool in made_pools(cluster) {
        let (zones, subnets) = (&pool.written.zones, &pool.written.subnets);
        if let (Some(zone), Some(subnet)) = (zones.first(), subnets.first()) {
            let message = format!("pool `{}` has both zones and subnets", pool.name);
            report
                .draft(&RULE.code, zone.span, message)
                .label(subnet.span, "each subnet is in a zone already")
                .help("remove `zones`")
                .emit();
        }
    }
}
