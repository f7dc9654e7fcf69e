//! EFA across zones.

use super::{made_pools, other_than_one_zone};
use crate::check::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// EFA across zones.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2520",
        name: "efa-several-zones",
        severity: Severity::Error,
        summary: "a pool with EFA is not in one zone",
        explain: "### What it checks

Whether a pool with EFA is in exactly one zone or subnet.

### Why it matters

EFA does not cross zones, and eksctl refuses a node group with EFA in several, and one without a
zone.

### What to do

Name one zone, or one subnet. For more zones, make a pool for each.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: gpu, machine: p4d.24xlarge, nodes: {count: 2}, network: {efa: {}}, zones: [us-east-1a, us-east-1b]}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: gpu, machine: p4d.24xlarge, nodes: {count: 2}, network: {efa: {}}, zones: [us-east-1a]}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for pool in made_pools(cluster) {
        let Some(efa) = &pool.written.network.efa else {
            continue;
        };
        if let Some(zones) = other_than_one_zone(pool) {
            let draft = report.draft(
                &RULE.code,
                efa.span,
                format!("EFA works in one zone, not in {zones}"),
            );
            let draft = match pool.written.zones.get(1) {
                Some(second) => draft.label(second.span, "a second zone"),
                None => draft,
            };
            draft
                .help("name one zone in `zones`, or one subnet in `subnets`")
                .emit();
        }
    }
}
