//! The branch of a driver version does not exist.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_schema::gpu::driver_branches::{BRANCHES, BranchStatus};
use gpuc_syntax::diag::{Code, Correction, Report, Severity, phrases};

use super::queries::configured_branches;

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2222",
        name: "driver-branch-unknown",
        severity: Severity::Error,
        summary: "the branch of a driver version does not exist",
        checks: "Whether the branch of `driverVersion`, such as 580 in 580.95.05, is a branch of NVIDIA's drivers. One
that can be newer than gpuc's table is a warning: `driver-branch-new`.",
        reason: "There is no package or image of this driver, so the installation fails on every node.",
        remedy: "Write a branch that exists. If yours exists, add `allow: [driver-branch-unknown]`, which `--deny` does
not override.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0", driver: host, driverVersion: "999"}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [node-1]
    nodes: {count: 1}
"#,
        correction: Correction::Replace(r#"driverVersion: "999""#, r#"driverVersion: "580""#),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for (written, version) in configured_branches(cluster, BranchStatus::Unknown) {
        let names: Vec<_> = BRANCHES.iter().map(ToString::to_string).collect();
        let branch = version.branch.to_string();
        let closest = phrases::closest_match(&branch, names.iter().map(String::as_str));
        let message = format!("unknown driver branch `{branch}`");
        let example = closest.unwrap_or("580");
        let help = format!(
            "write a branch such as \"{example}\"; if `{branch}` exists, add `allow: [{}]`",
            RULE.code.name
        );
        report
            .diagnostic(&RULE.code, written.span, message)
            .help(help)
            .emit();
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::messages_with_id;

    #[test]
    fn only_impossible_branches_are_found() {
        for (version, expected) in [
            ("999", &["unknown driver branch `999`"][..]),
            ("58.95.05", &["unknown driver branch `58`"]),
            ("581.10", &["unknown driver branch `581`"]),
            ("580", &[]),
            ("450", &[]),
            ("640.1.2", &[]),
        ] {
            let yaml = format!(
                "
                cloud: {{onPrem: {{context: demo}}}}
                stack: {{driver: host, driverVersion: '{version}'}}
                nodePools: [{{name: a, gpu: {{model: A30, perNode: 1}}, hosts: [a], nodes: {{count: 1}}}}]
                "
            );
            assert_eq!(messages_with_id(&yaml, "GPUC2222"), expected, "{version}");
        }
    }
}
