//! An autoscaler that is there, and that the file does not ask for.

use gpuc_schema::config::{Autoscaler, AwsCluster};

use super::section;
use crate::check::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// An autoscaler that is there, and that the file does not ask for.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2542",
        name: "autoscaler-there-unused",
        severity: Severity::Error,
        summary: "an autoscaler is said to be there, and nothing uses it",
        explain: "### What it checks

Whether `autoscaler` is `clusterAutoscaler` where `hasAutoscaler` says that one runs in the
cluster.

### Why it matters

`hasAutoscaler` only keeps gpuc from installing a second one. Without the first, pools get none
of the tags and labels by which an autoscaler knows their nodes. gpuc has nothing yet for a
Karpenter that is there: it would have to know that one's instance profile.

### What to do

Write `autoscaler: clusterAutoscaler`, or remove `hasAutoscaler`.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {existing: {hasAutoscaler: true}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: g6.xlarge
    nodes: {count: 1}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
autoscaler: clusterAutoscaler
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {existing: {hasAutoscaler: true}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: g6.xlarge
    nodes: {count: 1}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let AwsCluster::Existing(existing) = &section(&cluster.written).cluster.value else {
        return;
    };
    let asked = cluster.autoscaler.value == Autoscaler::ClusterAutoscaler;
    if existing.has_autoscaler.value && !asked {
        report
            .draft(
                &RULE.code,
                existing.has_autoscaler.span,
                "the file does not ask for the Cluster Autoscaler",
            )
            .label(cluster.autoscaler.span, "who adds nodes")
            .help("write `autoscaler: clusterAutoscaler`, or remove `hasAutoscaler`")
            .emit();
    }
}
