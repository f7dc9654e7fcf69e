//! A driver version is invalid.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_schema::gpu::cuda::DriverVersion;
use gpuc_syntax::diag::{Code, Correction, Report, Severity, phrases};

use super::queries::configured_stacks;

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2035",
        name: "driver-version-unreadable",
        severity: Severity::Error,
        summary: "a driver version is invalid",
        checks: r#"Whether `driverVersion` is a branch, such as "580", or a version, such as "580.95.05". Where the
cloud installs the driver, it can also be one of the cloud's keywords."#,
        reason: r"Packages and images are selected by this version.",
        remedy: r"Write a branch or a version, in quotes.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0", driver: host, driverVersion: "v580"}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [node-1]
    nodes: {count: 1}
"#,
        correction: Correction::Replace(r#"driverVersion: "v580""#, r#"driverVersion: "580""#),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let keywords = cluster.cloud.facts().driver_keywords;
    for written in configured_stacks(cluster).filter_map(|stack| stack.driver_version.as_ref()) {
        if DriverVersion::parse(written).is_some() || keywords.contains(&written.as_str()) {
            continue;
        }
        let message = format!("invalid driver version `{written}`");
        let help = "write a branch or a version, in quotes: \"580\" or \"580.95.05\"";
        let help = match keywords {
            [] => help.to_owned(),
            keywords => format!("{help}; or {}", phrases::quoted_list(keywords, 4)),
        };
        report
            .diagnostic(&RULE.code, written.span, message)
            .help(help)
            .emit();
    }
}
