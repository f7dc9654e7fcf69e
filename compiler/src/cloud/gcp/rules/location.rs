//! A location that is neither a region nor a zone.

use super::super::names;
use super::super::section;
use crate::check::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2602",
        name: "gke-location",
        severity: Severity::Error,
        summary: "a location is neither a region nor a zone",
        explain: r"### What it checks

Whether `cloud.gcp.location` has the form of a region (`us-central1`) or of a zone (`us-
central1-a`).

### Why it matters

The location says what kind of cluster it is: a region has three control planes and nodes in
several zones, a zone has one of each. Names of other clouds mean nothing here.

### What to do

Write a region or zone as `gcloud compute zones list` names it.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {gcp: {project: acme-ml-prod, location: us-east-1, cluster: {existing: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: g2-standard-8
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
    machine: g2-standard-8
    nodes: {count: 1}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let location = &section(&cluster.written).location;
    if names::is_region_name(location) || names::is_zone_name(location) {
        return;
    }
    let message = format!("`{location}` is neither a region nor a zone of Google Cloud");
    report
        .draft(&RULE.code, location.span, message)
        .help("write a region such as `us-central1`, or a zone such as `us-central1-a`")
        .emit();
}
