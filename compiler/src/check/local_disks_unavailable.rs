//! Local disks that a pool does not have, or a use of them that there is not.

use super::Rule;
use super::words::{one_of, word};
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// Local disks that a pool does not have, or a use of them that there is not.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2106",
        name: "local-disks-unavailable",
        severity: Severity::Error,
        summary: "a pool has no local disks, or they cannot be used so",
        explain: "### What it checks

Whether the machine of a pool is known to have NVMe disks of its own, and its cloud and node
image can make of them what `localDisks` says.

### Why it matters

Nodes would come up with their boot disk alone, and pods that count on fast scratch space would
fill it.

### What to do

Write one of the values that the help names, or remove `localDisks`. On EKS `scratch` is for
`AmazonLinux2023` and `Bottlerocket`.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: gpu, machine: g6.xlarge, nodes: {count: 1}, localDisks: block}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: gpu, machine: g6.xlarge, nodes: {count: 1}, localDisks: scratch}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for pool in cluster.pools.iter().filter(|pool| !pool.is_existing()) {
        let Some(disks) = pool.written.local_disks else {
            continue;
        };
        let choices = cluster.cloud.local_disks(pool);
        if pool.machine.is_hole() || choices.contains(&disks.value) {
            continue;
        }
        let (message, help) = if choices.is_empty() {
            (
                format!(
                    "gpuc knows of no local disks of pool `{}` to use",
                    pool.name
                ),
                "remove `localDisks`".to_owned(),
            )
        } else {
            (
                format!(
                    "local disks of pool `{}` cannot be `{}`",
                    pool.name,
                    word(&disks.value)
                ),
                one_of(choices),
            )
        };
        report
            .draft(&RULE.code, disks.span, message)
            .label(pool.os.span, "the node image")
            .help(help)
            .emit();
    }
}
