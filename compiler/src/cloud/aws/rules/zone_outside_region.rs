//! A zone that is not one of the region.

use super::{made_pools, names, section, zones_of_cluster};
use crate::check::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// A zone that is not one of the region.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2503",
        name: "zone-outside-region",
        severity: Severity::Error,
        summary: "a zone is not one of the cluster's region",
        explain: "### What it checks

Whether every zone is one of `cloud.aws.region`: the region and a letter. Local zones and
Wavelength zones are refused too, because managed node groups cannot be there.

### Why it matters

eksctl looks for subnets in the zones that it is given, and finds none in another region.

### What to do

Write zones of the region, or move the cluster to the region of its zones.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: gpu, machine: g5.xlarge, zones: [us-west-2a], nodes: {count: 2}}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: gpu, machine: g5.xlarge, zones: [us-east-1a], nodes: {count: 2}}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let region = &section(&cluster.written).region;
    if !names::is_region_name(region) {
        return;
    }
    let of_pools = made_pools(cluster).flat_map(|pool| &pool.written.zones);
    for zone in of_pools.chain(zones_of_cluster(cluster)) {
        let letter = zone.strip_prefix(region.as_str());
        let is_here =
            letter.is_some_and(|it| it.len() == 1 && it.as_bytes()[0].is_ascii_lowercase());
        if is_here {
            continue;
        }
        let message = match names::region_of_zone(zone) {
            Some(other) if other != region.as_str() => format!("`{zone}` is a zone of `{other}`"),
            Some(_) => format!("`{zone}` is a local zone, where node groups cannot be"),
            None => format!("`{zone}` is not a zone"),
        };
        report
            .draft(&RULE.code, zone.span, message)
            .label(region.span, "the cluster's region")
            .help(format!("write one like `{region}a`"))
            .emit();
    }
}
