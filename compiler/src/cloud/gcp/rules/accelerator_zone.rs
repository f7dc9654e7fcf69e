//! A zone that is not known to have the pool's GPUs.

use super::super::{accelerator, names, place, section, zones};
use crate::check::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2604",
        name: "gke-accelerator-zone",
        severity: Severity::Warning,
        summary: "a zone is not known to have a GPU",
        explain: r"### What it checks

Whether Google's list of accelerators, as it was on 2026-08-20, has the pool's GPU in each of
its zones; without zones, in any zone of the cluster's region. GPUs whose zones are in no list
that gpuc has are passed over.

### Why it matters

GKE makes the pool all the same, and then no machine comes.

### What to do

Choose a zone that has the GPU; the help names some. If Google has added the zone since, write
`allow: [gke-accelerator-zone]`.
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
    zones: [us-central1-f]
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
    let gcp = section(&cluster.written);
    for (pool, gpus) in cluster.gpu_pools() {
        let machine = pool.machine.get();
        let name = machine.and_then(|machine| accelerator::name(machine, gpus));
        let Some((name, known)) = name.and_then(|name| Some((name, zones::zones(name)?))) else {
            continue;
        };
        let region = names::region_of_zone(&gcp.location).unwrap_or(&gcp.location);
        let near = |zone: &&&str| names::region_of_zone(zone) == Some(region);
        let near: Vec<_> = known.iter().filter(near).copied().collect();
        let help = if near.is_empty() {
            format!(
                "no zone of {region} is known to have it; {} has",
                known.join(", ")
            )
        } else {
            format!("in {region} it is in {}", near.join(", "))
        };
        let wanted = place::zones(gcp, pool);
        if wanted.is_empty() && near.is_empty() && names::is_region_name(region) {
            let message = format!("region {region} is not known to have {name}");
            report
                .draft(&RULE.code, gpus.chosen, message)
                .label(gcp.location.span, "the cluster is here")
                .help(help.clone())
                .emit();
        }
        for zone in wanted.iter().filter(|zone| names::is_zone_name(zone)) {
            if known.contains(zone) {
                continue;
            }
            let written = pool.written.zones.iter().find(|it| it.value == *zone);
            let span = written.map_or(gcp.location.span, |zone| zone.span);
            report
                .draft(
                    &RULE.code,
                    span,
                    format!("zone {zone} is not known to have {name}"),
                )
                .label(gpus.chosen, "the GPU is chosen here")
                .help(help.clone())
                .emit();
        }
    }
}
