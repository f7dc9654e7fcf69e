//! A fixed number of nodes that GKE cannot spread over the zones.

use super::super::{names, place, section};
use crate::check::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2605",
        name: "gke-count-zones",
        severity: Severity::Error,
        summary: "a fixed number of nodes does not go into the zones",
        explain: r"### What it checks

Whether a pool with a fixed number of nodes names its zones in a regional cluster, and whether
the number goes into the zones evenly.

### Why it matters

GKE has the same number of nodes of such a pool in each zone. gcloud's `--num-nodes` counts per
zone: 4 in three zones are 12 nodes.

### What to do

Write the zones, and a number that they divide; or write `min` and `max`, which count over all
zones.
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
    nodes: {count: 3}
    zones: [us-central1-a, us-central1-b]
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
    nodes: {count: 4}
    zones: [us-central1-a, us-central1-b]
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let gcp = section(&cluster.written);
    if !names::is_region_name(&gcp.location) && !names::is_zone_name(&gcp.location) {
        return;
    }
    for pool in cluster.pools.iter().filter(|pool| !pool.is_existing()) {
        let Some(nodes) = pool.nodes.get().filter(|nodes| nodes.is_fixed()) else {
            continue;
        };
        let zones = u32::try_from(place::zones(gcp, pool).len()).unwrap_or(u32::MAX);
        if zones == 0 {
            let message = format!(
                "pool `{}` has a fixed number of nodes and no zones",
                pool.name
            );
            report
                .draft(&RULE.code, nodes.min_span, message)
                .label(
                    gcp.location.span,
                    "a regional cluster: GKE counts such nodes per zone",
                )
                .help("write the pool's `zones`, or `min` and `max` instead of `count`")
                .emit();
        } else if nodes.min % zones != 0 {
            let message = match nodes.min {
                1 => format!("1 node does not go into {zones} zones evenly"),
                nodes => format!("{nodes} nodes do not go into {zones} zones evenly"),
            };
            let (fewer, more) = (nodes.min / zones * zones, nodes.min.div_ceil(zones) * zones);
            let help = if fewer == 0 {
                format!("write {more}, or fewer zones")
            } else {
                format!("write {fewer} or {more}, or other zones")
            };
            let first = pool.written.zones.first();
            report
                .draft(&RULE.code, nodes.min_span, message)
                .label(
                    first.map_or(gcp.location.span, |zone| zone.span),
                    "the zones",
                )
                .help(help)
                .emit();
        }
    }
}
