//! Location that is neither a region nor a zone.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::super::{names, section};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2602",
        name: "gke-location",
        severity: Severity::Error,
        summary: "the location is neither a region nor a zone",
        checks: r"Whether `cloud.gcp.location` has the form of a region (`us-central1`) or of a zone (`us-
central1-a`).",
        reason: r"The location determines the type of the cluster. A regional cluster has three control planes and nodes
in several zones, a zonal cluster has one of each. Names of other clouds are not valid.",
        remedy: r"Write a region or a zone that `gcloud compute zones list` shows.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {gcp: {project: acme-ml-prod, location: us-east-1, nodeServiceAccount: gke-nodes@acme-ml-prod.iam.gserviceaccount.com, cluster: {existing: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: g2-standard-8
    nodes: {count: 1}
"#,
        correction: Correction::Replace("us-east-1", "us-central1-a"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let location = &section(&cluster.config).location;
    if names::is_region_name(location) || names::is_zone_name(location) {
        return;
    }
    let message = format!("`{location}` is neither a region nor a zone of Google Cloud");
    report
        .diagnostic(&RULE.code, location.span, message)
        .help("write a region such as `us-central1`, or a zone such as `us-central1-a`")
        .emit();
}
