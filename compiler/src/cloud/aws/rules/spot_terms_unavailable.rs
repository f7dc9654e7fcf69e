//! Terms of spot machines that EKS does not have.

use gpuc_schema::config::Capacity;

use super::made_pools;
use crate::check::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// Terms of spot machines that EKS does not have.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2526",
        name: "spot-terms-unavailable",
        severity: Severity::Error,
        summary: "`eviction` and `maxPrice` of spot machines are not EKS's",
        explain: "### What it checks

Whether `capacity.spot` of a pool is empty.

### Why it matters

A managed node group takes spot machines at up to the on-demand price, and a machine that is
taken back is terminated. Neither can be set.

### What to do

Write `spot: {}`.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: gpu, machine: g5.xlarge, nodes: {count: 2}, capacity: {spot: {maxPrice: 1.5}}}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: gpu, machine: g5.xlarge, nodes: {count: 2}, capacity: {spot: {}}}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for pool in made_pools(cluster) {
        let Capacity::Spot(spot) = &pool.written.capacity.value else {
            continue;
        };
        let eviction = spot.eviction.map(|it| (it.span, "`eviction`"));
        let price = spot.max_price.map(|it| (it.span, "`maxPrice`"));
        for (span, what) in [eviction, price].into_iter().flatten() {
            let message = format!("a managed node group has no {what} for spot machines");
            report
                .draft(&RULE.code, span, message)
                .help("remove it")
                .emit();
        }
    }
}
