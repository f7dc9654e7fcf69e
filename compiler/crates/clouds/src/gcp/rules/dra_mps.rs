//! MPS with GPUs allocated through DRA on GKE.

use gpuc_model::check::Rule;
use gpuc_model::{Cluster, Sharing};
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2633",
        name: "gke-dra-mps",
        severity: Severity::Error,
        summary: "GPUs allocated through DRA cannot be shared through MPS on GKE",
        checks: "Whether a pool on GKE has `sharing.mps` with `allocation: dra`.",
        reason: "GKE's guide to Dynamic Resource Allocation excludes the Multi-Process Service (MPS). The MPS control
daemon of the DRA driver requires a shell below the directory of the NVIDIA driver, and these nodes have
none there.",
        remedy: "Write `sharing: none`; containers that share one ResourceClaim then share its GPU by time-slicing. Or write
`allocation: devicePlugin`.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {gcp: {project: acme-ml-prod, location: us-central1-a, nodeServiceAccount: gke-nodes@acme-ml-prod.iam.gserviceaccount.com, cluster: {existing: {}}}}
stack: {allocation: dra}
nodePools:
  - name: gpu
    machine: g2-standard-8
    nodes: {count: 1}
    sharing: {mps: {replicas: 4}}
"#,
        correction: Correction::Replace("{mps: {replicas: 4}}", "none"),
    },
    run,
};

/// Source: cloud.google.com/kubernetes-engine/docs/how-to/set-up-dra (an older copy);
/// kubernetes-sigs/dra-driver-nvidia-gpu `templates/mps-control-daemon.tmpl.yaml`; both read 2026-11-21.
fn run(cluster: &Cluster, report: &mut Report) {
    for pool in cluster.dra_pools() {
        if !matches!(pool.sharing.get(), Some(Sharing::Mps { .. })) {
            continue;
        }
        let message = format!(
            "pool `{}` cannot combine MPS with `allocation: dra` on GKE",
            pool.name
        );
        report
            .diagnostic(&RULE.code, pool.sharing_span, message)
            .label(pool.allocation.span, "the GPUs are allocated through DRA")
            .help("write `sharing: none`, or `allocation: devicePlugin`")
            .emit();
    }
}
