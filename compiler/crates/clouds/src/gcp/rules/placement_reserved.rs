//! Compact placement of reserved machines.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_schema::config::Placement;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::super::gpudirect;

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2693",
        name: "gke-placement-reserved",
        severity: Severity::Error,
        summary: "a pool with a reservation has compact placement",
        checks: "Whether a pool with a reservation has `placement: compact`.",
        reason: "A reservation determines where its machines are. For `placement: compact`, GKE creates a placement
policy of its own, which does not match the reservation, and the pool cannot be created.",
        remedy: "Remove `placement: compact`. If the reservation was made with a placement policy, set its name:
`placement: {group: NAME}`.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {gcp: {project: acme-ml-prod, location: us-central1-a, nodeServiceAccount: gke-nodes@acme-ml-prod.iam.gserviceaccount.com, cluster: {existing: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: a2-highgpu-8g
    nodes: {count: 2}
    capacity: {reservation: {id: training, count: 2}}
    network: {placement: compact}
"#,
        correction: Correction::Replace("placement: compact", "placement: {group: training}"),
    },
    run,
};

/// Source: AI-Hypercomputer/xpk#1130, merged 2026-03-17: the creation of a pool of `a3-megagpu-8g` fails with both.
fn run(cluster: &Cluster, report: &mut Report) {
    for pool in cluster.pools.iter().filter(|pool| pool.is_reserved()) {
        let Some(placement) = &pool.settings.network.placement else {
            continue;
        };
        // gpuc creates a policy for racks.
        let is_rack = gpudirect::pool_adapters(pool).is_some_and(|adapters| adapters.is_rack);
        if is_rack || !matches!(placement.value, Placement::Compact) {
            continue;
        }
        let message = format!(
            "`placement: compact` does not match the reservation of pool `{}`",
            pool.name
        );
        report
            .diagnostic(&RULE.code, placement.span, message)
            .label(
                pool.settings.capacity.span,
                "the reservation determines where its machines are",
            )
            .help("remove it, or set the placement policy of the reservation: `placement: {group: NAME}`")
            .emit();
    }
}
