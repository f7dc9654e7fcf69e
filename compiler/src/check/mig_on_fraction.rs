//! A virtual part of a card cannot be cut into slices.

use gpuc_schema::config::Sharing;

use super::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// A virtual part of a card cannot be cut into slices.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2021",
        name: "mig-on-fraction",
        severity: Severity::Error,
        summary: "a virtual part of a card cannot be cut into slices",
        explain: "### What it checks

Whether a pool with `sharing: {mig: …}` has whole cards.

### Why it matters

Who rents a part of a card gets a virtual GPU. Only the host that cut the card can cut it again.

### What to do

Choose a machine with whole cards, or share the part by time-slicing.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
allow: [gke-fraction]
kubernetes: {version: "1.34"}
cloud: {gcp: {project: acme-demo, location: us-central1-a, cluster: {existing: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: g4-standard-6
    nodes: {count: 1}
    sharing: {mig: {strategy: mixed, perGpu: [{layout: [{profile: 1g.24gb, count: 4}]}]}}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {gcp: {project: acme-demo, location: us-central1-a, cluster: {existing: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: g4-standard-48
    nodes: {count: 1}
    sharing: {mig: {strategy: mixed, perGpu: [{layout: [{profile: 1g.24gb, count: 4}]}]}}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for (pool, gpus) in cluster.gpu_pools() {
        if gpus.fraction.is_none() {
            continue;
        }
        if let Sharing::Mig(_) = &pool.written.sharing.value {
            let message = format!(
                "the GPUs of pool `{}` are parts of a card already",
                pool.name
            );
            let draft = report.draft(&RULE.code, pool.written.sharing.span, message);
            let draft = draft.label(gpus.chosen, "this machine has less than a card");
            draft
                .help("choose a machine with whole cards, or share by `timeSlicing`")
                .emit();
        }
    }
}
