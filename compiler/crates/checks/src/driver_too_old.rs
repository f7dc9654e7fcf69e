//! The driver is too old for the GPU model.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_schema::gpu::driver_branches::first_branch_for;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::queries::{installed_driver_versions, is_usable_branch};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2033",
        name: "driver-too-old",
        severity: Severity::Warning,
        summary: "the driver is too old for the GPU model",
        checks: "Whether the branch of `driverVersion` supports the GPU model of the pool.",
        reason: "An older driver may not find the GPU: `nvidia-smi` reports no devices.",
        remedy: "Write the branch that the help names, or a later one. The first branch for each GPU model is common
knowledge; if yours supports it, write `allow: [driver-too-old]`.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0", driver: host, driverVersion: "525"}
nodePools:
  - name: gpu
    gpu: {model: l40s-48gb, perNode: 8}
    hosts: [node-1]
    nodes: {count: 1}
"#,
        correction: Correction::Replace(r#"driverVersion: "525""#, r#"driverVersion: "580""#),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for (pool, gpus, written, version) in installed_driver_versions(cluster) {
        let (model, first) = (gpus.model, gpus.model.min_driver_branch);
        let is_older_than_architecture =
            first_branch_for(model.compute_capability).is_some_and(|first| version.branch < first);
        if version.branch >= first || is_older_than_architecture || !is_usable_branch(version) {
            continue;
        }
        let message = format!(
            "driver {written} does not support the {} of pool `{}`",
            model.key, pool.name
        );
        report
            .diagnostic(&RULE.code, written.span, message)
            .label(gpus.span, "the GPU model is set here")
            .help(format!("write \"{first}\" or later"))
            .emit();
    }
}
