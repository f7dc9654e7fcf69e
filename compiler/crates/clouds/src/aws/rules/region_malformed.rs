//! An invalid AWS region.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::{names, section};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2502",
        name: "region-malformed",
        severity: Severity::Error,
        summary: "the name of an AWS region is invalid",
        checks:
            "Whether `cloud.aws.region` has the format of a region: `us-east-1`, `eu-central-1`,
`us-gov-west-1`.",
        reason: "The AWS CLI accepts any region name, and fails only when it cannot resolve the host.",
        remedy: "Write the name of a region. A zone such as us-east-1a belongs in `zones`.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1a, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: gpu, machine: g5.xlarge, nodes: {count: 2}}
"#,
        correction: Correction::Replace("us-east-1a", "us-east-1"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let region = &section(&cluster.config).region;
    if names::is_region_name(region) {
        return;
    }
    let message = format!("invalid AWS region `{region}`");
    let builder = report.diagnostic(&RULE.code, region.span, message);
    match names::region_of_zone(region) {
        Some(name) => builder
            .help(format!("write the region of this zone, `{name}`"))
            .replace(region.span, name),
        None => builder.help("write a region such as `us-east-1` or `eu-central-1`"),
    }
    .emit();
}
