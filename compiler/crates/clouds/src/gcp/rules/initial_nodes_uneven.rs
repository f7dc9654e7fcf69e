//! Initial number of nodes that GKE cannot spread evenly over the zones.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::super::{location, names, section};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2660",
        name: "gke-initial-nodes-uneven",
        severity: Severity::Error,
        summary: "an initial number of nodes cannot be spread evenly over the zones",
        checks: r"Whether a pool with `nodes.initial` sets its zones, in a regional cluster. The number must be a multiple
of the number of zones.",
        reason: r"GKE creates a pool with the same number of nodes in each zone. The flag `--num-nodes` of gcloud counts
nodes per zone: with 4 in three zones, the pool starts with 12 nodes.",
        remedy: r"Set the zones, and write a multiple of their number as `initial`.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {gcp: {project: acme-ml-prod, location: us-central1-a, nodeServiceAccount: gke-nodes@acme-ml-prod.iam.gserviceaccount.com, cluster: {existing: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: g2-standard-8
    nodes: {min: 0, max: 8, initial: 3}
    zones: [us-central1-a, us-central1-b]
"#,
        correction: Correction::Replace("initial: 3", "initial: 4"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let gcp = section(&cluster.config);
    if !names::is_region_name(&gcp.location) && !names::is_zone_name(&gcp.location) {
        return;
    }
    for pool in cluster.pools.iter().filter(|pool| !pool.is_existing()) {
        let nodes = pool.nodes.get().filter(|nodes| !nodes.is_fixed());
        let Some((nodes, initial)) = nodes.and_then(|nodes| Some((nodes, nodes.initial?))) else {
            continue;
        };
        let zones = u32::try_from(location::pool_zones(gcp, pool).len()).unwrap_or(u32::MAX);
        // Other rules report a number outside the range.
        if zones != 0 && initial.value.is_multiple_of(zones)
            || !(nodes.min..=nodes.max).contains(&initial.value)
        {
            continue;
        }
        let (message, help) = if zones == 0 {
            (
                format!(
                    "pool `{}` has an initial number of nodes but no zones",
                    pool.name
                ),
                "set `zones` of the pool, or remove `initial`".to_owned(),
            )
        } else {
            (
                format!("{initial} initial nodes cannot be spread evenly over {zones} zones"),
                format!("write a multiple of {zones}, or change the number of zones"),
            )
        };
        let zone = pool.settings.zones.first();
        report
            .diagnostic(&RULE.code, initial.span, message)
            .label(
                zone.map_or(gcp.location.span, |zone| zone.span),
                "GKE creates the same number of nodes in each zone",
            )
            .help(help)
            .emit();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::super::testing::{cluster, messages_with_id};

    #[test]
    fn regional_cluster_needs_zones() {
        let found = |location: &str, zones: &[&str]| {
            let mut config = cluster(&[json!({
                "name": "gpu", "machine": "g2-standard-8", "nodes": {"min": 0, "max": 8, "initial": 4}, "zones": zones,
            })]);
            config["cloud"]["gcp"]["location"] = json!(location);
            messages_with_id(config, "GPUC2660")
        };
        let message = "pool `gpu` has an initial number of nodes but no zones";
        assert_eq!(found("us-central1", &[]), [message]);
        assert_eq!(found("us-central1", &["us-central1-a"]), [""; 0]);
        assert_eq!(found("us-central1-a", &[]), [""; 0]);
    }
}
