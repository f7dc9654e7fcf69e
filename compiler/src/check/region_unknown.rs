//! A region is not one that the cloud is known to have.

use super::Rule;
use crate::diag::words;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// A region is not one that the cloud is known to have.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2062",
        name: "region-unknown",
        severity: Severity::Warning,
        summary: "a region is not one that the cloud is known to have",
        explain: "### What it checks

Whether the region, or the region of the zone, that the cluster is in is one that gpuc knows the
cloud to have. A name without the shape of a region is a finding of its own.

### Why it matters

A typing mistake such as us-esat-1 has the shape of a region, so nothing else finds it before the
cloud's command fails.

### What to do

Write the region's name. Clouds open regions: when the region is there and gpuc does not know it
yet, allow this finding.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-esat-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: gpu, machine: g6.xlarge, nodes: {count: 1}}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: gpu, machine: g6.xlarge, nodes: {count: 1}}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let facts = cluster.cloud.facts();
    let Some(location) = cluster.written.cloud.value.location() else {
        return;
    };
    let region = (facts.region_of)(location).filter(|region| !facts.regions.contains(region));
    let Some(region) = region else {
        return;
    };
    let message = format!(
        "`{region}` is not a region that gpuc knows {} to have",
        facts.name
    );
    let draft = report.draft(&RULE.code, location.span, message);
    match words::nearest(region, facts.regions.iter().copied()) {
        Some(near) => {
            // A zone keeps its own letter.
            let meant = location.replacen(region, near, 1);
            let help = format!("did you mean `{meant}`?");
            draft.help(help).replace(location.span, meant)
        }
        None => draft.help(format!(
            "write a region of the cloud; if this one is new, write `allow: [{}]`",
            RULE.code.name
        )),
    }
    .emit();
}

#[cfg(test)]
mod tests {
    use crate::check::testing::messages;
    use crate::cloud::CLOUDS;

    const POOL: &str = "nodePools: [{name: gpu, nodes: {count: 1}, gpu: {model: L4, perNode: 1}}]";

    #[test]
    fn a_mistyped_region_is_found_in_every_cloud() {
        for (cloud, region) in [
            (
                "aws: {account: '123456789012', region: us-esat-1, cluster: {create: {}}}",
                "us-esat-1",
            ),
            (
                "gcp: {project: acme-ml, location: us-cnetral1, cluster: {existing: {}}}",
                "us-cnetral1",
            ),
            (
                "gcp: {project: acme-ml, location: us-cnetral1-a, cluster: {existing: {}}}",
                "us-cnetral1",
            ),
            (
                "azure: {subscription: s, resourceGroup: g, location: esatus, cluster: {existing: {}}}",
                "esatus",
            ),
        ] {
            let found = messages(&format!("cloud: {{{cloud}}}\n{POOL}"), "GPUC2062");
            assert_eq!(found.len(), 1, "{cloud}");
            assert!(
                found[0].starts_with(&format!("`{region}` is not a region")),
                "{found:?}"
            );
        }
    }

    #[test]
    fn what_is_known_or_is_no_region_at_all_is_left_alone() {
        for cloud in [
            "aws: {account: '123456789012', region: cn-northwest-1, cluster: {create: {}}}",
            "aws: {account: '123456789012', region: us-esat-1a, cluster: {create: {}}}",
            "gcp: {project: acme-ml, location: us-south1-ai1b, cluster: {existing: {}}}",
            "azure: {subscription: s, resourceGroup: g, location: East US, cluster: {existing: {}}}",
            "onPrem: {context: us-esat-1}",
        ] {
            let found = messages(&format!("cloud: {{{cloud}}}\n{POOL}"), "GPUC2062");
            assert_eq!(found, [""; 0], "{cloud}");
        }
    }

    #[test]
    fn every_known_region_has_the_shape_of_one_and_is_listed_once() {
        for cloud in CLOUDS {
            let facts = cloud.facts();
            for (index, region) in facts.regions.iter().enumerate() {
                assert_eq!((facts.region_of)(region), Some(*region));
                assert!(!facts.regions[..index].contains(region), "{region}");
            }
        }
    }
}
