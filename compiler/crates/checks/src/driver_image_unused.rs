//! `driverImage` is set, but no DaemonSet installs the driver.

use gpuc_model::check::Rule;
use gpuc_model::{Cluster, Pool};
use gpuc_schema::config::DriverOwner;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::messages::keyword;
use super::queries::unused_settings;

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2037",
        name: "driver-image-unused",
        severity: Severity::Error,
        summary: "`driverImage` is set, but no DaemonSet installs the driver",
        checks: "Whether `driverImage` is set only where `driver` is `daemonSet`.",
        reason: "The image would not run anywhere.",
        remedy: "Remove the key, or write `driver: daemonSet` where the cloud supports it.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: g6.xlarge
    nodes: {count: 1}
    stack: {driverImage: "registry.example.com/driver:1.0.0"}
"#,
        correction: Correction::Replace(
            r#"    stack: {driverImage: "registry.example.com/driver:1.0.0"}
"#,
            "",
        ),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let runs = |pool: &Pool| pool.driver.value == DriverOwner::DaemonSet;
    for unused in unused_settings(cluster, |stack| stack.driver_image.as_ref(), runs) {
        let message = "`driverImage` has no effect: no DaemonSet installs the driver";
        let owner = format!(
            "the driver is installed by `{}`",
            keyword(&unused.pool.driver)
        );
        let has_driver = cluster
            .cloud
            .os(unused.pool.os.value)
            .is_some_and(|os| os.has_driver);
        let help = if cluster.cloud.facts().has_driver_daemon_set && !has_driver {
            "remove `driverImage`, or write `driver: daemonSet`"
        } else {
            "remove `driverImage`"
        };
        report
            .diagnostic(&RULE.code, unused.written.span, message)
            .label(unused.pool.driver.span, owner)
            .help(help)
            .emit();
    }
}
