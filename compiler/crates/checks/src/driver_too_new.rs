//! The driver no longer supports the GPU model.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::queries::{installed_driver_versions, is_usable_branch};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2034",
        name: "driver-too-new",
        severity: Severity::Error,
        summary: "the driver no longer supports the GPU model",
        checks: "Whether the branch of `driverVersion` supports the GPU model of the pool. 580 is the last branch for
Pascal and Volta.",
        reason: "NVIDIA's later drivers and CUDA 13 do not support these architectures. The driver would be installed
and find no GPU.",
        remedy: "Write the branch that the help names.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0", driver: host, driverVersion: "595"}
nodePools:
  - name: gpu
    gpu: {model: v100-sxm2-16gb, perNode: 1}
    hosts: [node-1]
    nodes: {count: 1}
"#,
        correction: Correction::Replace(r#"driverVersion: "595""#, r#"driverVersion: "580""#),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for (pool, gpus, written, version) in installed_driver_versions(cluster) {
        let model = gpus.model;
        let Some(last) = model
            .max_driver_branch
            .filter(|last| version.branch > *last && is_usable_branch(version))
        else {
            continue;
        };
        let message = format!(
            "driver {written} no longer supports the {} of pool `{}`",
            model.key, pool.name
        );
        let help = format!(
            "write \"{last}\", the last branch for {}",
            model.architecture
        );
        report
            .diagnostic(&RULE.code, written.span, message)
            .label(gpus.span, "the GPU model is set here")
            .help(help)
            .replace(written.span, format!("\"{last}\""))
            .emit();
    }
}
