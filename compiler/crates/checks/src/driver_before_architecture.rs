//! The driver is older than the architecture of the GPU.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_schema::gpu::driver_branches::{BranchStatus, branch_status, first_branch_for};
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::queries::installed_driver_versions;

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2225",
        name: "driver-before-architecture",
        severity: Severity::Error,
        summary: "the driver is older than the architecture of the GPU",
        checks: "Whether the branch of `driverVersion` is at least that of the first CUDA version for the compute
capability of the GPU model: 520 for Hopper, 570 for Blackwell.",
        reason: "The driver does not know the GPU: `nvidia-smi` reports no devices.",
        remedy: "Write the branch that the help names, or a later one.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0", driver: host, driverVersion: "535"}
nodePools:
  - name: gpu
    gpu: {model: b200-sxm6-180gb, perNode: 8}
    hosts: [node-1]
    nodes: {count: 1}
"#,
        correction: Correction::Replace(r#"driverVersion: "535""#, r#"driverVersion: "580""#),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for (pool, gpus, written, version) in installed_driver_versions(cluster) {
        let model = gpus.model;
        let first = first_branch_for(model.compute_capability);
        let is_unknown = branch_status(version.branch) == BranchStatus::Unknown;
        if is_unknown || first.is_none_or(|first| version.branch >= first) {
            continue;
        }
        let message = format!(
            "driver {written} is older than the architecture of the {} of pool `{}`",
            model.key, pool.name
        );
        report
            .diagnostic(&RULE.code, written.span, message)
            .label(gpus.span, "the GPU model is set here")
            .help(format!("write \"{}\" or later", model.min_driver_branch))
            .emit();
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::messages_with_id;

    #[test]
    fn ended_branches_are_found_too() {
        for (driver, is_found) in [("450", true), ("525", false), ("999", false)] {
            let yaml = format!(
                "
                allow: [driver-branch-ended]
                cloud: {{onPrem: {{context: demo}}}}
                stack: {{driver: host, driverVersion: '{driver}'}}
                nodePools: [{{name: a, gpu: {{model: H100, perNode: 8}}, hosts: [a], nodes: {{count: 1}}}}]
                "
            );
            let found = messages_with_id(&yaml, "GPUC2225");
            assert_eq!(found.len(), usize::from(is_found), "{driver}");
        }
    }
}
