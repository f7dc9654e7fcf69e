//! A driver version does not name a driver container of NVIDIA.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_schema::config::DriverOwner;
use gpuc_schema::gpu::cuda::DriverVersion;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::queries::ReportedSpans;

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2092",
        name: "operator-driver-version",
        severity: Severity::Error,
        summary: "a driver version does not name a driver container of NVIDIA",
        checks: "Whether `driverVersion` is a complete version such as `595.91.07`, if the GPU Operator installs the
driver.",
        reason: "The operator pulls an image whose tag contains the complete version. No image exists for a branch or
a keyword, and the driver is never installed.",
        remedy: "Write a complete version for which NVIDIA publishes a driver container, or remove `driverVersion`:
gpuc chooses the newest version that supports the pool's GPU model.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {onPrem: {context: demo}}
stack: {driver: operator, devicePlugin: operator, driverVersion: "595"}
nodePools:
  - {name: gpu, gpu: {model: L4, perNode: 1}, hosts: [node-1], nodes: {count: 1}}
"#,
        correction: Correction::Replace(r#"driverVersion: "595""#, r#"driverVersion: "595.91.07""#),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let keywords = cluster.cloud.facts().driver_keywords;
    let mut reported = ReportedSpans::default();
    for (pool, _) in cluster.gpu_pools() {
        let Some(version) = &pool.driver_version else {
            continue;
        };
        // Another rule reports a value that is neither a version nor a keyword of the cloud.
        let is_keyword = keywords.contains(&version.as_str());
        let is_valid = match DriverVersion::parse(version) {
            Some(_) => version.split('.').count() == 3,
            None => !is_keyword,
        };
        if is_valid || pool.driver.value != DriverOwner::Operator || !reported.insert(version.span)
        {
            continue;
        }
        let message = format!("no driver container exists for version `{version}`");
        report
            .diagnostic(&RULE.code, version.span, message)
            .label(
                pool.driver.span,
                "the GPU Operator pulls a driver container",
            )
            .help("write a complete version such as \"595.91.07\", or remove `driverVersion`")
            .emit();
    }
}
