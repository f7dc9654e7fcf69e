//! The cloud has no node image of this family.

use gpuc_model::check::Rule;
use gpuc_model::{Cluster, SUPPORTED};
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::messages::{keyword, keyword_list, needs_driver_in_image};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2010",
        name: "os-family-unavailable",
        severity: Severity::Error,
        summary: "the cloud has no node image of this family",
        checks: "Whether `os.family` is one of the families for which the cloud has node images.",
        reason: "Images differ in how the driver is installed and how containers access their devices. A family of
another cloud is unknown here.",
        remedy: "Write one of the families in the help, or remove `os` to use the default.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: g6.xlarge
    nodes: {count: 1}
    os: {family: AzureLinux}
"#,
        correction: Correction::Replace("AzureLinux", "AmazonLinux2023"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let facts = cluster.cloud.facts();
    for pool in &cluster.pools {
        let family = pool.os;
        if cluster.cloud.os(family.value).is_some() {
            continue;
        }
        let message = format!(
            "{} has no node image of the family `{}`",
            facts.name,
            keyword(&family)
        );
        let builder = report.diagnostic(&RULE.code, family.span, message);
        // A family that ended before the oldest supported version would only cause the next diagnostic.
        let current = facts
            .os
            .iter()
            .filter(|os| os.kubernetes.end() >= SUPPORTED.start())
            .filter(|os| os.has_driver || !needs_driver_in_image(pool));
        let families = keyword_list(current.map(|os| &os.family));
        builder.help(format!("write one of {families}")).emit();
    }
}
