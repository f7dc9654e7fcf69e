//! The name of a region is probably a typo.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity, phrases};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2221",
        name: "region-mistyped",
        severity: Severity::Error,
        summary: "the name of a region is probably a typo",
        checks: "Whether the cluster's region, or the region of its zone, is one character away from a region of the
cloud, in a word such as `east`. A name that differs only in its number or in a short word such as `eu` can be new, and
is a warning: `region-unknown`.",
        reason: "A typo such as us-esat-1 has the form of a region, so that it is found only when the cloud's command
fails.",
        remedy: "Write the name that the help suggests. If the region exists, add `allow: [region-mistyped]`, which
`--deny` does not override.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-esat-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: gpu, machine: g6.xlarge, nodes: {count: 1}}
"#,
        correction: Correction::Replace("us-esat-1", "us-east-1"),
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
    let similar = intended_regions(region, facts.regions);
    if similar.is_empty() {
        return;
    }
    // A zone keeps its suffix.
    let corrected = similar
        .iter()
        .map(|similar| location.replacen(region, similar, 1));
    let corrected: Vec<_> = corrected.collect();
    let message = format!("unknown {} region `{region}`", facts.name);
    let help = format!(
        "write {}; if `{region}` exists, add `allow: [{}]`",
        phrases::quoted_conjunction(&corrected, "or"),
        RULE.code.name
    );
    let builder = report
        .diagnostic(&RULE.code, location.span, message)
        .help(help);
    match corrected.as_slice() {
        [only] => builder.replace(location.span, only.as_str()).emit(),
        _ => builder.emit(),
    };
}

/// The regions of which a name is a typo: one character away, in a word of at least four letters. Regions that a cloud
/// adds have another number, such as `eu-west-4`, or another short word, such as `ca-east-1`.
pub(super) fn intended_regions(name: &str, regions: &'static [&'static str]) -> Vec<&'static str> {
    const MIN_LETTERS: usize = 4;
    let words = |name: &str| -> Vec<String> {
        let words = name.split(|c: char| !c.is_ascii_alphabetic());
        words.map(str::to_owned).collect()
    };
    let is_typo = |region: &&str| {
        let (name, region) = (words(name), words(region));
        let mut pairs = name.iter().zip(&region);
        name.len() == region.len()
            && pairs.any(|(a, b)| a != b && a.len().max(b.len()) >= MIN_LETTERS)
    };
    phrases::one_edit_away(name, regions.iter().copied())
        .into_iter()
        .filter(is_typo)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::messages_with_id;
    use gpuc_clouds::CLOUDS;

    const POOL: &str = "nodePools: [{name: gpu, nodes: {count: 1}, gpu: {model: L4, perNode: 1}}]";

    #[test]
    fn mistyped_region_is_found_in_every_cloud() {
        for (cloud, region) in [
            (
                "aws: {account: '123456789012', region: us-esat-1, cluster: {create: {}}}",
                "us-esat-1",
            ),
            (
                "gcp: {project: acme-ml, location: us-cnetral1, nodeServiceAccount: gke-nodes@acme-ml.iam.gserviceaccount.com, cluster: {existing: {}}}",
                "us-cnetral1",
            ),
            (
                "gcp: {project: acme-ml, location: us-cnetral1-a, nodeServiceAccount: gke-nodes@acme-ml.iam.gserviceaccount.com, cluster: {existing: {}}}",
                "us-cnetral1",
            ),
            (
                "azure: {subscription: s, resourceGroup: g, location: esatus, cluster: {existing: {}}}",
                "esatus",
            ),
        ] {
            let found = messages_with_id(&format!("cloud: {{{cloud}}}\n{POOL}"), "GPUC2221");
            assert_eq!(found.len(), 1, "{cloud}");
            assert!(
                found[0].ends_with(&format!("region `{region}`")),
                "{found:?}"
            );
        }
    }

    #[test]
    fn regions_that_can_be_new_are_ignored() {
        let regions = |key: &str| {
            let mut clouds = CLOUDS.iter();
            clouds
                .find(|cloud| cloud.facts().key == key)
                .expect("a cloud")
                .facts()
                .regions
        };
        for (cloud, name) in [
            ("aws", "us-east-3"),
            ("aws", "mx-central-2"),
            ("aws", "ca-east-1"),
            ("aws", "ap-southeast-8"),
            ("aws", "nz-north-1"),
            ("gcp", "us-west9"),
            ("gcp", "me-central3"),
            ("azure", "westus4"),
            ("azure", "easteurope"),
            ("azure", "italysouth"),
        ] {
            assert_eq!(intended_regions(name, regions(cloud)), [""; 0], "{name}");
        }
    }
}
