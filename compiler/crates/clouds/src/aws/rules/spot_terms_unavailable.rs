//! Settings of spot machines that EKS does not support.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_schema::config::Capacity;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::created_pools;

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2526",
        name: "spot-terms-unavailable",
        severity: Severity::Error,
        summary: "EKS does not support `eviction` and `maxPrice` for spot machines",
        checks: "Whether `capacity.spot` of a pool is empty.",
        reason: "A managed node group uses spot machines up to the on-demand price, and an interrupted machine is
terminated. Neither can be configured.",
        remedy: "Write `spot: {}`.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: gpu, machine: g5.xlarge, nodes: {count: 2}, capacity: {spot: {maxPrice: 1.5}}}
"#,
        correction: Correction::Replace("maxPrice: 1.5", ""),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for pool in created_pools(cluster) {
        let Capacity::Spot(spot) = &pool.settings.capacity.value else {
            continue;
        };
        let eviction = spot.eviction.map(|it| (it.span, "`eviction`"));
        let price = spot.max_price.map(|it| (it.span, "`maxPrice`"));
        for (span, setting) in [eviction, price].into_iter().flatten() {
            let message = format!("EKS does not support {setting} for spot machines");
            report
                .diagnostic(&RULE.code, span, message)
                .help("remove it")
                .emit();
        }
    }
}
