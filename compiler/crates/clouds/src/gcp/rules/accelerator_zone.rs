//! Zone that is not known to have the GPU model of the pool.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::super::{accelerator, location, names, section, zones};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2604",
        name: "gke-accelerator-zone",
        severity: Severity::Warning,
        summary: "a zone is not known to have the GPU model",
        checks: r"Whether every zone of a pool has its GPU model, according to Google's list of accelerators of
2026-08-20. For a pool without zones, the rule checks that any zone of the cluster's region has the GPU
model. The rule skips GPU models whose zones are not in the list.",
        reason: r"GKE creates the pool in any case, but then cannot create machines for it.",
        remedy: r"Choose a zone that has the GPU model; the help names some. If Google has added the zone since, write
`allow: [gke-accelerator-zone]`.",
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
    zones: [us-central1-f]
"#,
        correction: Correction::Replace("us-central1-f", "us-central1-a"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let gcp = section(&cluster.config);
    for (pool, gpus) in cluster.gpu_pools() {
        let machine = pool.machine.get();
        let name = machine.and_then(|machine| accelerator::accelerator_name(machine, gpus));
        let Some((name, available)) =
            name.and_then(|name| Some((name, zones::accelerator_zones(name)?)))
        else {
            continue;
        };
        let region = names::region_of_zone(&gcp.location).unwrap_or(&gcp.location);
        let is_in_region = |zone: &&&str| names::region_of_zone(zone) == Some(region);
        let in_region: Vec<_> = available.iter().filter(is_in_region).copied().collect();
        let help = if in_region.is_empty() {
            format!(
                "choose another region: {name} is available in {}",
                available.join(", ")
            )
        } else {
            format!(
                "choose a zone of {region} that has it: {}",
                in_region.join(", ")
            )
        };
        let used_zones = location::pool_zones(gcp, pool);
        if used_zones.is_empty() && in_region.is_empty() && names::is_region_name(region) {
            let message = format!("region `{region}` is not known to have {name}");
            report
                .diagnostic(&RULE.code, gpus.span, message)
                .label(gcp.location.span, "the location of the cluster is set here")
                .help(help.clone())
                .emit();
        }
        for zone in used_zones.iter().filter(|zone| names::is_zone_name(zone)) {
            if available.contains(zone) {
                continue;
            }
            let written = pool
                .settings
                .zones
                .iter()
                .find(|written| written.value == *zone);
            let span = written.map_or(gcp.location.span, |zone| zone.span);
            report
                .diagnostic(
                    &RULE.code,
                    span,
                    format!("zone `{zone}` is not known to have {name}"),
                )
                .label(gpus.span, "the GPU model is set here")
                .help(help.clone())
                .emit();
        }
    }
}
