//! `driverVersion` is set, but gpuc does not install the driver.

use gpuc_model::check::Rule;
use gpuc_model::{Cluster, Pool};
use gpuc_schema::config::DriverOwner;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::queries::unused_settings;

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2036",
        name: "driver-version-unused",
        severity: Severity::Error,
        summary: "`driverVersion` is set, but gpuc does not install the driver",
        checks: "Whether `driverVersion` is set only where a component that gpuc deploys installs the driver: not
where `driver` is `preinstalled`.",
        reason: "The nodes would have the driver of the image or of the cloud, in whatever version it has.",
        remedy: "Remove the key, or set `driver` to the component that installs this version.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0", driver: preinstalled, driverVersion: "580"}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [node-1]
    nodes: {count: 1}
"#,
        correction: Correction::Replace("preinstalled", "host"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    // A cloud that installs a selected driver version has its own rule.
    let is_selectable = !cluster.cloud.facts().driver_keywords.is_empty();
    let installs = |pool: &Pool| is_selectable || pool.driver.value != DriverOwner::Preinstalled;
    for unused in unused_settings(cluster, |stack| stack.driver_version.as_ref(), installs) {
        let message = format!("no component installs driver {}", unused.written);
        report
            .diagnostic(&RULE.code, unused.written.span, message)
            .label(unused.pool.driver.span, "the driver is preinstalled")
            .help("remove `driverVersion`, or set `driver` to the component that installs it")
            .emit();
    }
}
