//! A pool has no local disks, or does not support this use of them.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::messages::{keyword, one_of_help};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2106",
        name: "local-disks-unavailable",
        severity: Severity::Error,
        summary: "a pool has no local disks, or does not support this use of them",
        checks: "Whether the machine of a pool is known to have local NVMe disks, and whether its cloud and node
image support the value of `localDisks`.",
        reason: "Nodes would have only their boot disk, and pods that expect fast scratch space would fill it.",
        remedy: "Write a value that the help lists, or remove `localDisks`. On EKS `scratch` is for `AmazonLinux2023`
and `Bottlerocket`.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: gpu, machine: g6.xlarge, nodes: {count: 1}, localDisks: block}
"#,
        correction: Correction::Replace("localDisks: block", "localDisks: scratch"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for pool in cluster.pools.iter().filter(|pool| !pool.is_existing()) {
        let Some(disks) = pool.settings.local_disks else {
            continue;
        };
        let choices = cluster.cloud.local_disks(pool);
        if pool.machine.is_unresolved() || choices.contains(&disks.value) {
            continue;
        }
        let (message, help) = if choices.is_empty() {
            (
                format!(
                    "the machines of pool `{}` are not known to have local disks",
                    pool.name
                ),
                "remove `localDisks`".to_owned(),
            )
        } else {
            (
                format!(
                    "`localDisks: {}` is not supported in pool `{}`",
                    keyword(&disks.value),
                    pool.name
                ),
                one_of_help(choices),
            )
        };
        report
            .diagnostic(&RULE.code, disks.span, message)
            .label(pool.os.span, "the node image")
            .help(help)
            .emit();
    }
}
