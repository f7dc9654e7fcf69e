//! A zone outside of the cluster's region.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::{cluster_zones, created_pools, names, section};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2503",
        name: "zone-outside-region",
        severity: Severity::Error,
        summary: "a zone is not in the cluster's region",
        checks: "Whether every zone is in `cloud.aws.region`: the name of the region and a letter. Local Zones and
Wavelength Zones are not supported either, because managed node groups cannot run there.",
        reason: "eksctl looks for subnets in the given zones, and finds none in another region.",
        remedy: "Use zones of the region, or change the region to that of the zones.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: gpu, machine: g5.xlarge, zones: [us-west-2a], nodes: {count: 2}}
"#,
        correction: Correction::Replace("us-west-2a", "us-east-1a"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let region = &section(&cluster.config).region;
    if !names::is_region_name(region) {
        return;
    }
    let of_pools = created_pools(cluster).flat_map(|pool| &pool.settings.zones);
    for zone in of_pools.chain(cluster_zones(cluster)) {
        let letter = zone.strip_prefix(region.as_str());
        let is_in_region =
            letter.is_some_and(|it| it.len() == 1 && it.as_bytes()[0].is_ascii_lowercase());
        if is_in_region {
            continue;
        }
        let message = match names::region_of_zone(zone) {
            Some(other) if other != region.as_str() => {
                format!(
                    "zone `{zone}` is in region `{other}`, not in `{}`",
                    region.value
                )
            }
            Some(_) => format!("node groups are not supported in the Local Zone `{zone}`"),
            None if names::is_zone_id(zone) => {
                format!("`{zone}` is the ID of a zone, not its name")
            }
            None => format!("invalid zone `{zone}`"),
        };
        let builder = report
            .diagnostic(&RULE.code, zone.span, message)
            .label(region.span, "the cluster's region");
        if names::is_zone_id(zone) {
            builder.help(format!(
                "write the name that this zone ID has in your account: `aws ec2 describe-availability-zones --region \
                 {region} --zone-ids {zone} --query 'AvailabilityZones[].ZoneName'` prints it"
            ))
        } else {
            builder.help(format!("write a zone such as `{region}a`"))
        }
        .emit();
    }
}
