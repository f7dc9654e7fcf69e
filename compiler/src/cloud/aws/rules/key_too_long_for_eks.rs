//! A label or taint that is too long for EKS.

use super::made_pools;
use crate::check::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// A label or taint that is too long for EKS.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2528",
        name: "key-too-long-for-eks",
        severity: Severity::Error,
        summary: "a label or taint is longer than EKS takes",
        explain: "### What it checks

Whether keys of labels and taints have at most 63 characters, the domain included.

### Why it matters

Kubernetes counts the domain apart and lets it have 253 characters. The EKS API counts both
together.

### What to do

Shorten the domain or the name.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: gpu, machine: g5.xlarge, nodes: {count: 2}, labels: {a-label-with-a-name-that-fits.example.com/but-not-with-its-whole-domain: x}}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: gpu, machine: g5.xlarge, nodes: {count: 2}, labels: {example.com/short: x}}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for pool in made_pools(cluster) {
        let labels = pool.written.labels.keys();
        let taints = pool.written.taints.iter().map(|taint| &taint.key);
        for key in labels.chain(taints) {
            let length = key.chars().count();
            if length > LONGEST {
                let message = format!("`{key}` has {length} characters, EKS takes {LONGEST}");
                report
                    .draft(&RULE.code, key.span, message)
                    .help("shorten the domain or the name")
                    .emit();
            }
        }
    }
}

/// The most characters of a key, its domain included (botocore 1.43.11, eks `labelKey` and `taintKey`, 2026-11-21).
const LONGEST: usize = 63;
