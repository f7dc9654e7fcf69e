//! The region is not a known region of the cloud.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity, phrases};

use super::region_mistyped::intended_regions;

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2062",
        name: "region-unknown",
        severity: Severity::Warning,
        summary: "the region is not a known region of the cloud",
        checks: "Whether the cluster's region, or the region of its zone, is a region of the cloud that gpuc knows.
Other rules report a name that does not have the form of a region, and a name that is one character away from a
region.",
        reason: "A name such as us-southeast-1 has the form of a region, so that it is found only when the cloud's
command fails.",
        remedy: "Correct the region's name. If the region exists and gpuc does not know it yet, add
`allow: [region-unknown]`, which `--deny` does not override.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-southeast-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: gpu, machine: g6.xlarge, nodes: {count: 1}}
"#,
        correction: Correction::Replace("us-southeast-1", "us-east-1"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let facts = cluster.cloud.facts();
    let Some(location) = cluster.config.cloud.value.location() else {
        return;
    };
    let region = (facts.region_of)(location).filter(|region| !facts.regions.contains(region));
    let Some(region) = region else {
        return;
    };
    if !intended_regions(region, facts.regions).is_empty() {
        return;
    }
    let message = format!("unknown {} region `{region}`", facts.name);
    let builder = report.diagnostic(&RULE.code, location.span, message);
    match phrases::closest_match(region, facts.regions.iter().copied()) {
        Some(similar) => {
            // A zone keeps its suffix.
            let corrected = location.replacen(region, similar, 1);
            let help = format!("did you mean `{corrected}`?");
            builder.help(help).replace(location.span, corrected)
        }
        None => builder.help(format!(
            "write a region of {}; if this region is new, add `allow: [{}]`",
            facts.name, RULE.code.name
        )),
    }
    .emit();
}

#[cfg(test)]
mod tests {
    use crate::testing::messages_with_id;
    use gpuc_clouds::CLOUDS;

    const POOL: &str = "nodePools: [{name: gpu, nodes: {count: 1}, gpu: {model: L4, perNode: 1}}]";

    #[test]
    fn unknown_region_is_found_in_every_cloud() {
        for (cloud, region) in [
            (
                "aws: {account: '123456789012', region: us-southeast-1, cluster: {create: {}}}",
                "us-southeast-1",
            ),
            (
                "gcp: {project: acme-ml, location: us-lower1, nodeServiceAccount: gke-nodes@acme-ml.iam.gserviceaccount.com, cluster: {existing: {}}}",
                "us-lower1",
            ),
            (
                "gcp: {project: acme-ml, location: us-lower1-a, nodeServiceAccount: gke-nodes@acme-ml.iam.gserviceaccount.com, cluster: {existing: {}}}",
                "us-lower1",
            ),
            (
                "azure: {subscription: s, resourceGroup: g, location: westus9, cluster: {existing: {}}}",
                "westus9",
            ),
        ] {
            let found = messages_with_id(&format!("cloud: {{{cloud}}}\n{POOL}"), "GPUC2062");
            assert_eq!(found.len(), 1, "{cloud}");
            assert!(
                found[0].ends_with(&format!("region `{region}`")),
                "{found:?}"
            );
        }
    }

    #[test]
    fn known_regions_and_malformed_names_are_ignored() {
        for cloud in [
            "aws: {account: '123456789012', region: cn-northwest-1, cluster: {create: {}}}",
            "aws: {account: '123456789012', region: us-southeast-1a, cluster: {create: {}}}",
            "gcp: {project: acme-ml, location: us-south1-ai1b, nodeServiceAccount: gke-nodes@acme-ml.iam.gserviceaccount.com, cluster: {existing: {}}}",
            "azure: {subscription: s, resourceGroup: g, location: East US, cluster: {existing: {}}}",
            "onPrem: {context: us-southeast-1}",
        ] {
            let found = messages_with_id(&format!("cloud: {{{cloud}}}\n{POOL}"), "GPUC2062");
            assert_eq!(found, [""; 0], "{cloud}");
        }
    }

    #[test]
    fn known_regions_are_well_formed_and_unique() {
        for cloud in CLOUDS {
            let facts = cloud.facts();
            for (index, region) in facts.regions.iter().enumerate() {
                assert_eq!((facts.region_of)(region), Some(*region));
                assert!(!facts.regions[..index].contains(region), "{region}");
            }
        }
    }
}
