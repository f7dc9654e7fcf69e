//! MIG is not supported on a virtual GPU.

use gpuc_schema::config::Sharing;

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2021",
        name: "mig-on-fractional-gpu",
        severity: Severity::Error,
        summary: "MIG is not supported on a virtual GPU",
        checks: "Whether a pool with `sharing: {mig: …}` has full GPUs.",
        reason: "A machine with a fraction of a GPU gets a virtual GPU. Only the host that partitioned the GPU can
partition it again.",
        remedy: "Choose a machine with full GPUs, or share the virtual GPU through time-slicing.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
allow: [gke-fractional-gpu-unverified]
kubernetes: {version: "1.36"}
cloud: {gcp: {project: acme-demo, location: us-central1-a, nodeServiceAccount: gke-nodes@acme-demo.iam.gserviceaccount.com, cluster: {existing: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: g4-standard-6
    nodes: {count: 1}
    sharing: {mig: {strategy: mixed, perGpu: [{layout: [{profile: 1g.24gb, count: 4}]}]}}
"#,
        correction: Correction::Whole(r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {gcp: {project: acme-demo, location: us-central1-a, nodeServiceAccount: gke-nodes@acme-demo.iam.gserviceaccount.com, cluster: {existing: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: g4-standard-48
    nodes: {count: 1}
    sharing: {mig: {strategy: mixed, perGpu: [{layout: [{profile: 1g.24gb, count: 4}]}]}}
"#),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for (pool, gpus) in cluster.gpu_pools() {
        if gpus.fraction.is_none() {
            continue;
        }
        if let Sharing::Mig(_) = &cluster.pool_in_file(pool).sharing.value {
            let message = format!(
                "MIG is not supported on the virtual GPUs of pool `{}`",
                pool.name
            );
            report
                .diagnostic(&RULE.code, pool.sharing_span, message)
                .label(gpus.span, "this machine has a fraction of a GPU")
                .help("choose a machine with full GPUs, or write `sharing: {timeSlicing: {replicas: 2}}`")
                .emit();
        }
    }
}
