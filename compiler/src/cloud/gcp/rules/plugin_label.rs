//! A label of GKE's that follows from `stack.devicePlugin`.

use super::super::NO_DEFAULT_PLUGIN;
use crate::check::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2612",
        name: "gke-plugin-label",
        severity: Severity::Error,
        summary: "the label that says who advertises GPUs is written by hand",
        explain: r"### What it checks

Whether a pool's `labels` have `gke-no-default-nvidia-gpu-device-plugin`.

### Why it matters

The label keeps GKE's own device plugin off a node. By hand it can contradict
`stack.devicePlugin`: then two plugins advertise the same GPUs, or none does.

### What to do

Remove it. gpuc sets it wherever `stack.devicePlugin` is not `cloud`.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {gcp: {project: acme-ml-prod, location: us-central1-a, cluster: {existing: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: g2-standard-8
    nodes: {count: 1}
    labels: {gke-no-default-nvidia-gpu-device-plugin: "true"}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {gcp: {project: acme-ml-prod, location: us-central1-a, cluster: {existing: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: g2-standard-8
    nodes: {count: 1}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for pool in &cluster.pools {
        let mut keys = pool.written.labels.keys();
        let Some(key) = keys.find(|key| key.value == NO_DEFAULT_PLUGIN) else {
            continue;
        };
        report
            .draft(
                &RULE.code,
                key.span,
                format!("`{key}` is not a label to write by hand"),
            )
            .label(pool.plugin.span, "this decides it")
            .help("remove it, and say who advertises GPUs by `stack.devicePlugin`")
            .emit();
    }
}
