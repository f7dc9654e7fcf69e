//! Fixed number of nodes that cannot be spread evenly over the zones.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::super::{location, names, section};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2605",
        name: "gke-node-count-uneven",
        severity: Severity::Error,
        summary: "a fixed number of nodes cannot be spread evenly over the zones",
        checks: r"Whether a pool with a fixed number of nodes sets its zones, in a regional cluster. The number of nodes
must be a multiple of the number of zones.",
        reason: r"GKE creates the same number of nodes in each zone of such a pool. The flag `--num-nodes` of gcloud counts
nodes per zone: with 4 in three zones, the pool has 12 nodes.",
        remedy: r"Set the zones and a number of nodes that is a multiple of their number. Or set `min` and `max`, which
count the nodes of all zones.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {gcp: {project: acme-ml-prod, location: us-central1-a, nodeServiceAccount: gke-nodes@acme-ml-prod.iam.gserviceaccount.com, cluster: {existing: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: g2-standard-8
    nodes: {count: 3}
    zones: [us-central1-a, us-central1-b]
"#,
        correction: Correction::Replace("count: 3", "count: 4"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let gcp = section(&cluster.config);
    if !names::is_region_name(&gcp.location) && !names::is_zone_name(&gcp.location) {
        return;
    }
    for pool in cluster.pools.iter().filter(|pool| !pool.is_existing()) {
        let Some(nodes) = pool.nodes.get().filter(|nodes| nodes.is_fixed()) else {
            continue;
        };
        let zones = u32::try_from(location::pool_zones(gcp, pool).len()).unwrap_or(u32::MAX);
        if zones == 0 {
            let message = format!(
                "pool `{}` has a fixed number of nodes but no zones",
                pool.name
            );
            report
                .diagnostic(&RULE.code, nodes.min_span, message)
                .label(
                    gcp.location.span,
                    "in a regional cluster, GKE counts a fixed number of nodes per zone",
                )
                .help("set `zones` of the pool, or write `min` and `max` instead of `count`")
                .emit();
        } else if nodes.min % zones != 0 {
            let message = match nodes.min {
                1 => format!("1 node cannot be spread evenly over {zones} zones"),
                nodes => format!("{nodes} nodes cannot be spread evenly over {zones} zones"),
            };
            let (lower, higher) = (nodes.min / zones * zones, nodes.min.div_ceil(zones) * zones);
            let help = if lower == 0 {
                format!("write {higher}, or remove zones")
            } else {
                format!("write {lower} or {higher}, or change the number of zones")
            };
            let first = pool.settings.zones.first();
            report
                .diagnostic(&RULE.code, nodes.min_span, message)
                .label(
                    first.map_or(gcp.location.span, |zone| zone.span),
                    "the zones are set here",
                )
                .help(help)
                .emit();
        }
    }
}
