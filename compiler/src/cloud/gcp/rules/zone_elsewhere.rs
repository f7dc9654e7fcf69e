//! A zone that is not in the cluster's region.

use super::super::{names, section};
use crate::check::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2603",
        name: "gke-zone-elsewhere",
        severity: Severity::Error,
        summary: "a pool is in a zone that its cluster cannot reach",
        explain: r"### What it checks

Whether each of a pool's `zones` is a zone, of the region that the cluster is in, and written
once.

### Why it matters

The nodes of a GKE cluster are in zones of its region. gcloud passes any text on.

### What to do

Write zones of the cluster's region.
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
    zones: [europe-west4-a]
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
    zones: [us-central1-a]
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let location = &section(&cluster.written).location;
    let region = names::region_of_zone(location).unwrap_or(location);
    if !names::is_region_name(region) {
        return;
    }
    for pool in &cluster.pools {
        for (index, zone) in pool.written.zones.iter().enumerate() {
            let message = match names::region_of_zone(zone) {
                None => format!("`{zone}` is not a zone of Google Cloud"),
                Some(other) if other != region => {
                    format!("zone `{zone}` is in {other}, the cluster is in {region}")
                }
                Some(_) if pool.written.zones[..index].contains(zone) => {
                    format!("zone `{zone}` is written twice")
                }
                Some(_) => continue,
            };
            report
                .draft(&RULE.code, zone.span, message)
                .label(location.span, "the cluster is here")
                .help(format!("write zones of {region}, each once: `{region}-a`"))
                .emit();
        }
    }
}
