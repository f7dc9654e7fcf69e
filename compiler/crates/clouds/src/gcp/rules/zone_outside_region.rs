//! Zone outside of the cluster's region.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::super::{names, section};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2603",
        name: "gke-zone-outside-region",
        severity: Severity::Error,
        summary: "a pool has a zone outside of the cluster's region",
        checks: r"Whether each of the `zones` of a pool is a zone of the cluster's region, and is listed once.",
        reason: r"The nodes of a GKE cluster are in zones of its region. gcloud does not validate the zones.",
        remedy: r"Write zones of the cluster's region, each of them once.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {gcp: {project: acme-ml-prod, location: us-central1-a, nodeServiceAccount: gke-nodes@acme-ml-prod.iam.gserviceaccount.com, cluster: {existing: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: g2-standard-8
    nodes: {count: 1}
    zones: [europe-west4-a]
"#,
        correction: Correction::Replace("europe-west4-a", "us-central1-a"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let location = &section(&cluster.config).location;
    let region = names::region_of_zone(location).unwrap_or(location);
    if !names::is_region_name(region) {
        return;
    }
    for pool in &cluster.pools {
        for (index, zone) in pool.settings.zones.iter().enumerate() {
            let message = match names::region_of_zone(zone) {
                None => format!("unknown zone `{zone}`"),
                Some(other) if other != region => {
                    format!("zone `{zone}` is in region {other}, but the cluster is in {region}")
                }
                Some(_) if pool.settings.zones[..index].contains(zone) => {
                    format!("zone `{zone}` is listed twice")
                }
                Some(_) => continue,
            };
            report
                .diagnostic(&RULE.code, zone.span, message)
                .label(location.span, "the location of the cluster is set here")
                .help(format!(
                    "write zones of {region}, each of them once, such as `{region}-a`"
                ))
                .emit();
        }
    }
}
