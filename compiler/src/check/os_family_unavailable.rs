//! The cloud has no node image of this family.

use super::Rule;
use super::words::{word, words};
use crate::diag::{Code, Report, Severity};
use crate::model::{Cluster, SUPPORTED};

/// The cloud has no node image of this family.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2010",
        name: "os-family-unavailable",
        severity: Severity::Error,
        summary: "the cloud has no node image of this family",
        explain: "### What it checks

Whether `os.family` is one of the families that the cloud has node images of.

### Why it matters

Images differ in who brings the driver and how containers get their devices; one of another cloud
means nothing here.

### What to do

Write one of the families that the help lists, or leave `os` out for the usual one.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: g6.xlarge
    nodes: {count: 1}
    os: {family: AzureLinux}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: g6.xlarge
    nodes: {count: 1}
    os: {family: AmazonLinux2023}
"#,
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
        let message = format!("{} has no nodes with {}", facts.name, word(&family));
        let draft = report.draft(&RULE.code, family.span, message);
        // What ended before the oldest version that is supported would only bring the next finding.
        let known = facts.os.iter();
        let known = known.filter(|os| os.kubernetes.end() >= SUPPORTED.start());
        let known = words(known.map(|os| &os.family));
        draft.help(format!("it has {known}")).emit();
    }
}
