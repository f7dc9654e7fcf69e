//! The branch of a driver version is newer than gpuc's table.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_schema::gpu::driver_branches::{BRANCHES, BranchStatus};
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::queries::configured_branches;

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2223",
        name: "driver-branch-new",
        severity: Severity::Warning,
        summary: "the branch of a driver version is newer than the branches that gpuc knows",
        checks: "Whether the branch of `driverVersion` is at most the newest branch in gpuc's table.",
        reason: "gpuc cannot tell a new branch from a typo, nor whether the branch still supports the GPU model.",
        remedy: "Check that NVIDIA publishes the branch and that it supports your GPUs, and add
`allow: [driver-branch-new]`, which `--deny` does not override.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0", driver: host, driverVersion: "640"}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [node-1]
    nodes: {count: 1}
"#,
        correction: Correction::Replace(r#"driverVersion: "640""#, r#"driverVersion: "580""#),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let newest = BRANCHES.last().copied().unwrap_or_default();
    for (written, version) in configured_branches(cluster, BranchStatus::New) {
        let message = format!(
            "driver branch `{}` is newer than {newest}, the newest that gpuc knows",
            version.branch
        );
        report
            .diagnostic(&RULE.code, written.span, message)
            .help(format!(
                "write a branch such as \"580\"; if this one exists, add `allow: [{}]`",
                RULE.code.name
            ))
            .emit();
    }
}
