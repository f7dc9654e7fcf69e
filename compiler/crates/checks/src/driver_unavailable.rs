//! The cloud does not support this way to install the driver.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::messages::{keyword, one_of_help};
use super::queries::{ReportedSpans, supported_drivers};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2028",
        name: "driver-unavailable",
        severity: Severity::Error,
        summary: "the cloud does not support this value of `driver`",
        checks: "Whether the cloud supports the value of `stack.driver`.",
        reason: "A driver that is installed twice breaks the node. So does a driver that is installed in a directory
where the image has its own.",
        remedy: "Write a value that the help lists, or remove the key.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {azure: {subscription: 00000000-1111-2222-3333-444444444444, resourceGroup: ml, location: eastus, cluster: {existing: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: Standard_NC4as_T4_v3
    nodes: {count: 1}
    stack: {driver: daemonSet}
"#,
        correction: Correction::Replace("daemonSet", "preinstalled"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let facts = cluster.cloud.facts();
    let mut reported = ReportedSpans::default();
    for (pool, _) in cluster.gpu_pools() {
        let driver = pool.driver;
        if facts.drivers.contains(&driver.value) || !reported.insert(driver.span) {
            continue;
        }
        let message = format!(
            "{} does not support `driver: {}`",
            facts.name,
            keyword(&driver)
        );
        let builder = report.diagnostic(&RULE.code, driver.span, message);
        let supported = supported_drivers(facts);
        let builder = builder.help(one_of_help(supported.iter().copied()));
        match supported.as_slice() {
            [only] => builder.replace(driver.span, keyword(only)).emit(),
            _ => builder.emit(),
        };
    }
}
