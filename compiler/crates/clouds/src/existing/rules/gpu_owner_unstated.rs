//! The owner of the driver or the device plugin is unknown.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_schema::config::{Allocation, DevicePlugin, DriverOwner};
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::super::provider_facts;

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2822",
        name: "gpu-owner-unstated",
        severity: Severity::Error,
        summary: "the file does not say who installs the driver or who advertises GPUs",
        checks: r"Whether `stack` has `driver` and `devicePlugin` for pools with GPUs on providers where both depend on
choices at the creation of the cluster: Nebius, Lambda and Crusoe.",
        reason: r"With a driver preset or an add-on, the provider's nodes have a driver and a device plugin. Without, they
have neither. With a wrong assumption, two device plugins advertise the same GPUs, or no component installs a driver.",
        remedy: r"With the provider's driver and plugin, write `{driver: preinstalled, devicePlugin: cloud}`; without,
`{driver: operator, devicePlugin: operator}`.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {existing: {provider: nebius}}
nodePools:
  - name: gpu
    gpu: {model: H200, perNode: 8}
    nodes: {count: 1}
    existing: {selector: {gpuc.dev/pool: gpu}}
    stack: {devicePlugin: cloud}
"#,
        correction: Correction::Replace(
            "devicePlugin: cloud",
            "driver: preinstalled, devicePlugin: cloud",
        ),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let provider = provider_facts(cluster);
    if !provider.owners_vary {
        return;
    }
    for (pool, _) in cluster.gpu_pools() {
        let is_dra = pool.allocation.value == Allocation::Dra;
        let has_driver = pool.driver.span.is_written();
        let has_plugin = is_dra || pool.plugin.span.is_written();
        // The provider installs both, or neither: the written one says which.
        let is_own = match (has_driver, has_plugin) {
            (true, true) => continue,
            (true, false) => pool.driver.value == DriverOwner::Preinstalled,
            (false, true) => is_dra || pool.plugin.value == DevicePlugin::Cloud,
            (false, false) => true,
        };
        let driver = if is_own {
            "driver: preinstalled"
        } else {
            "driver: operator"
        };
        let plugin = if is_own {
            "devicePlugin: cloud"
        } else {
            "devicePlugin: operator"
        };
        let (keys, settings) = match (has_driver, has_plugin) {
            (false, true) => ("`driver`", format!("`{driver}`")),
            (true, _) => ("`devicePlugin`", format!("`{plugin}`")),
            (false, false) => (
                "`driver` and `devicePlugin`",
                format!("`{driver}` and `{plugin}`"),
            ),
        };
        let message = format!("`stack` of pool `{}` has no {keys}", pool.name);
        report
            .diagnostic(&RULE.code, pool.name.span, message)
            .label(
                super::super::section(cluster).provider.span,
                format!(
                    "{} installs the driver and the plugin, or neither of them",
                    provider.facts.name
                ),
            )
            .help(format!("set {settings} in the pool's `stack`"))
            .emit();
    }
}
