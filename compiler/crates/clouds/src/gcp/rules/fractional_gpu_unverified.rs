//! Machine type with a fraction of a GPU.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2621",
        name: "gke-fractional-gpu-unverified",
        severity: Severity::Warning,
        summary: "a machine type with a fraction of a GPU is not verified on GKE",
        checks: r"Whether the machine type of a pool has less than a full GPU: `g4-standard-6`, `-12`, `-24`.",
        reason: r"Compute Engine lists these machine types. Whether GKE supports them, and the name of their GPU on GKE, is
not verified. GKE may refuse the pool.",
        remedy: r"Use a machine type with full GPUs. Or create the pool by hand first and write
`allow: [gke-fractional-gpu-unverified]`.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {gcp: {project: acme-ml-prod, location: us-central1-a, nodeServiceAccount: gke-nodes@acme-ml-prod.iam.gserviceaccount.com, cluster: {existing: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: g4-standard-24
    nodes: {count: 1}
"#,
        correction: Correction::Replace("g4-standard-24", "g4-standard-48"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for (pool, gpus) in cluster.gpu_pools() {
        if gpus.fraction.is_none() {
            continue;
        }
        let message = format!(
            "pool `{}` has a fraction of a GPU, which is not verified on GKE",
            pool.name
        );
        report
            .diagnostic(&RULE.code, gpus.span, message)
            .help("use a machine type with full GPUs, such as `g4-standard-48`")
            .emit();
    }
}
