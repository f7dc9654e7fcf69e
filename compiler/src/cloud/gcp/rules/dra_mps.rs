//! Claims with the Multi-Process Service on GKE.

use crate::check::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::{Cluster, Sharing};

/// Claims with the Multi-Process Service on GKE.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2633",
        name: "gke-dra-mps",
        severity: Severity::Error,
        summary: "claimed GPUs shall be shared through MPS on GKE",
        explain: "### What it checks

Whether a pool on GKE has `sharing.mps` with `allocation: dra`.

### Why it matters

GKE's guide to Dynamic Resource Allocation excludes the Multi-Process Service, and the driver's
control daemon looks for a shell below the folder of NVIDIA's driver, which has none on these
nodes.

### What to do

Write `sharing: none`, so that containers that name one claim take turns on its GPU; or
`allocation: devicePlugin`.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {gcp: {project: acme-ml-prod, location: us-central1-a, cluster: {existing: {}}}}
stack: {allocation: dra}
nodePools:
  - name: gpu
    machine: g2-standard-8
    nodes: {count: 1}
    sharing: {mps: {replicas: 4}}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {gcp: {project: acme-ml-prod, location: us-central1-a, cluster: {existing: {}}}}
stack: {allocation: dra}
nodePools:
  - name: gpu
    machine: g2-standard-8
    nodes: {count: 1}
    sharing: none
"#,
    },
    run,
};

/// Source: cloud.google.com/kubernetes-engine/docs/how-to/set-up-dra (an older copy);
/// kubernetes-sigs/dra-driver-nvidia-gpu `templates/mps-control-daemon.tmpl.yaml`; both read 2026-11-21.
fn run(cluster: &Cluster, report: &mut Report) {
    for pool in cluster.pools_claimed() {
        if !matches!(pool.sharing.get(), Some(Sharing::Mps { .. })) {
            continue;
        }
        let message = format!(
            "claims cannot share the GPUs of pool `{}` through MPS",
            pool.name
        );
        report
            .draft(&RULE.code, pool.written.sharing.span, message)
            .label(pool.allocation.span, "pods claim the GPUs")
            .help("write `sharing: none`, or `allocation: devicePlugin`")
            .emit();
    }
}
