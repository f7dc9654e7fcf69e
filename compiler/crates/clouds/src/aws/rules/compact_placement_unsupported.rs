//! Compact placement without EFA, or with a reservation.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_schema::config::{Capacity, Placement};
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::{created_pools, karpenter};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2522",
        name: "compact-placement-unsupported",
        severity: Severity::Error,
        summary: "compact placement is set without EFA, or with a reservation",
        checks: "Whether a pool with `placement: compact` has EFA and no reservation.",
        reason: "eksctl creates a placement group only for a node group with EFA and without a reservation. The
location of reserved machines is fixed. In every other case, `placement: compact` has no effect.",
        remedy: "Create a cluster placement group and set its name, `placement: {group: …}`. Or add `efa`, or remove
`placement`.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: gpu, machine: g5.8xlarge, zones: [us-east-1a], nodes: {count: 2}, network: {placement: compact}}
"#,
        correction: Correction::Replace("compact", "compact, efa: {}"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for pool in created_pools(cluster) {
        // Another rule reports pools that Karpenter provisions.
        if karpenter::provisions(cluster, pool) {
            continue;
        }
        let network = &pool.settings.network;
        let Some(placement) = &network.placement else {
            continue;
        };
        if !matches!(placement.value, Placement::Compact) {
            continue;
        }
        let capacity = &pool.settings.capacity;
        let reserved = matches!(
            capacity.value,
            Capacity::Reservation(_) | Capacity::CapacityBlock(_)
        );
        if reserved {
            report
                .diagnostic(
                    &RULE.code,
                    placement.span,
                    "eksctl creates no placement group for reserved machines",
                )
                .label(capacity.span, "the location of reserved machines is fixed")
                .help("remove `placement`, or set the placement group of the reservation: `{group: …}`")
                .emit();
        } else if network.efa.is_none() {
            report
                .diagnostic(
                    &RULE.code,
                    placement.span,
                    "eksctl creates a placement group only with EFA",
                )
                .help("add `efa: {}`, or create a cluster placement group and set `{group: …}`")
                .emit();
        }
    }
}
