//! A machine type with a part of a GPU.

use crate::check::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2621",
        name: "gke-fraction",
        severity: Severity::Warning,
        summary: "a machine with a part of a GPU is not verified on GKE",
        explain: r"### What it checks

Whether a pool's machine has less than a whole GPU: `g4-standard-6`, `-12`, `-24`.

### Why it matters

Compute Engine lists these machine types. Whether GKE takes them, and what it calls their GPU,
is not verified: the pool may be refused.

### What to do

Use a machine with whole GPUs, or try the pool by hand first and write `allow: [gke-fraction]`.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {gcp: {project: acme-ml-prod, location: us-central1-a, cluster: {existing: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: g4-standard-24
    nodes: {count: 1}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {gcp: {project: acme-ml-prod, location: us-central1-a, cluster: {existing: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: g4-standard-48
    nodes: {count: 1}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for (pool, gpus) in cluster.gpu_pools() {
        if gpus.fraction.is_none() {
            continue;
        }
        let message = format!(
            "pool `{}` has a part of a GPU, which is not verified on GKE",
            pool.name
        );
        report
            .draft(&RULE.code, gpus.chosen, message)
            .help("use a machine with whole GPUs, such as `g4-standard-48`")
            .emit();
    }
}
