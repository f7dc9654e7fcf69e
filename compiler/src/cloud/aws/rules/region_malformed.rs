//! A region that AWS cannot have.

use super::{names, section};
use crate::check::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// A region that AWS cannot have.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2502",
        name: "region-malformed",
        severity: Severity::Error,
        summary: "a region does not look like one of AWS",
        explain: "### What it checks

Whether `cloud.aws.region` has the shape of a region: `us-east-1`, `eu-central-1`, `us-gov-
west-1`.

### Why it matters

The AWS CLI takes any word for a region and fails only when it finds no such host.

### What to do

Write a region. A zone such as us-east-1a belongs into `zones`.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1a, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: gpu, machine: g5.xlarge, nodes: {count: 2}}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: gpu, machine: g5.xlarge, nodes: {count: 2}}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let region = &section(&cluster.written).region;
    if names::is_region_name(region) {
        return;
    }
    let message = format!("`{region}` is not an AWS region");
    let draft = report.draft(&RULE.code, region.span, message);
    match names::region_of_zone(region) {
        Some(name) => draft
            .help(format!("this is a zone of `{name}`; write the region here"))
            .replace(region.span, name),
        None => draft.help("write one like `us-east-1` or `eu-central-1`"),
    }
    .emit();
}
