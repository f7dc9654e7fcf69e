//! The branch of a driver version has ended and is too old for CUDA 12.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_schema::gpu::cuda::min_branch_for;
use gpuc_schema::gpu::driver_branches::BranchStatus;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::queries::configured_branches;

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2224",
        name: "driver-branch-ended",
        severity: Severity::Error,
        summary: "the branch of a driver version has ended and is too old for CUDA 12",
        checks: "Whether the branch of `driverVersion` is at least 525, the first that runs CUDA 12.",
        reason: "NVIDIA no longer fixes these branches. Containers with CUDA 12 or later do not start with them:
`unsatisfied condition: cuda>=12.0`.",
        remedy: "Write a maintained branch, such as 580. If your hosts have the old driver and run only CUDA 11, add
`allow: [driver-branch-ended]`, which `--deny` does not override.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0", driver: host, driverVersion: "450"}
nodePools:
  - name: gpu
    gpu: {model: a100-sxm4-40gb, perNode: 8}
    hosts: [node-1]
    nodes: {count: 1}
"#,
        correction: Correction::Replace(r#"driverVersion: "450""#, r#"driverVersion: "580""#),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let first = min_branch_for(12).unwrap_or_default();
    for (written, version) in configured_branches(cluster, BranchStatus::Ended) {
        let message = format!(
            "driver branch `{}` has ended, and CUDA 12 requires {first}",
            version.branch
        );
        report
            .diagnostic(&RULE.code, written.span, message)
            .help(format!(
                "write a maintained branch such as \"580\"; if your hosts run only CUDA 11, add `allow: [{}]`",
                RULE.code.name
            ))
            .emit();
    }
}
