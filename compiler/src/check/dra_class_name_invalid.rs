//! A pool whose name no class can have.

use super::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// A pool whose name no class can have.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2117",
        name: "dra-class-name-invalid",
        severity: Severity::Error,
        summary: "a pool whose GPUs are claimed has a name that no class can have",
        explain: "### What it checks

Whether the name of a pool with `allocation: dra` has only lower-case letters, digits and `-`.

### Why it matters

Claims name a DeviceClass that is called after the pool: `train.gpuc.dev`. Kubernetes takes no
upper-case letters there.

### What to do

Write the name in lower case.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {allocation: dra}
nodePools:
  - {name: system, machine: m7i.xlarge, nodes: {count: 2}}
  - {name: Train, machine: g6.xlarge, nodes: {count: 1}}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {allocation: dra}
nodePools:
  - {name: system, machine: m7i.xlarge, nodes: {count: 2}}
  - {name: train, machine: g6.xlarge, nodes: {count: 1}}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for pool in cluster.pools_claimed() {
        let name = &pool.name.value;
        if !name.bytes().any(|byte| byte.is_ascii_uppercase()) {
            continue;
        }
        let lower = name.to_ascii_lowercase();
        report
            .draft(
                &RULE.code,
                pool.name.span,
                format!("no DeviceClass can be called after pool `{name}`"),
            )
            .here("an object's name has no upper-case letters")
            .label(pool.allocation.span, "claims name a class of the pool")
            .help(format!("write `{lower}`"))
            .replace(pool.name.span, lower)
            .emit();
    }
}
