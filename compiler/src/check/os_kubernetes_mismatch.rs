//! A node image is not made for this Kubernetes version.

use super::Rule;
use super::words::{word, words};
use crate::diag::{Code, Report, Severity};
use crate::model::{Cluster, SUPPORTED};

/// A node image is not made for this Kubernetes version.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2011",
        name: "os-kubernetes-mismatch",
        severity: Severity::Error,
        summary: "a node image is not made for this Kubernetes version",
        explain: "### What it checks

Whether the cloud has node images of the pool's operating system for `kubernetes.version`.

### Why it matters

Clouds stop building images of an old family at some version, and begin a new one at another. The
pool would be refused after the cluster has been made.

### What to do

Write another family, which the help lists, or another version. Some families that tutorials still
name ended before the oldest version that gpuc supports, such as `AmazonLinux2` and `Ubuntu2004` on
EKS: `AmazonLinux2023` and `Ubuntu2404` took their places.
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
    os: {family: AmazonLinux2}
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
    let Some(version) = cluster.kubernetes.get() else {
        return;
    };
    let facts = cluster.cloud.facts();
    for pool in &cluster.pools {
        let Some(os) = cluster.cloud.os(pool.os.value) else {
            continue;
        };
        if os.kubernetes.contains(&version.value) {
            continue;
        }
        let (first, last) = (os.kubernetes.start(), os.kubernetes.end());
        // Some images have no end yet, which facts write as a version beyond all that are supported.
        let range = if last > SUPPORTED.end() {
            format!("from {first} on")
        } else {
            format!("from {first} to {last}")
        };
        let family = word(&os.family);
        let message = format!("{} has no {family} for Kubernetes {version}", facts.name);
        let primary = if pool.os.span.is_written() {
            pool.os.span
        } else {
            pool.name.span
        };
        let draft = report.draft(&RULE.code, primary, message);
        let fits = facts
            .os
            .iter()
            .filter(|os| os.kubernetes.contains(&version.value));
        let fits = words(fits.map(|os| &os.family));
        if last < SUPPORTED.start() {
            // No version that can be written here would help.
            let help = format!(
                "its last images are for {last}, and gpuc supports {} to {}; for {version} there is {fits}",
                SUPPORTED.start(),
                SUPPORTED.end()
            );
            draft.help(help).emit();
            continue;
        }
        let draft = draft.label(version.span, "the version is chosen here");
        let help = format!("{family} is there {range}; for {version} there is {fits}");
        draft.help(help).emit();
    }
}
