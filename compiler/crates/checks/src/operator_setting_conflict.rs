//! Pools need conflicting values of a cluster-wide setting of the GPU Operator.

use gpuc_model::check::Rule;
use gpuc_model::{Cluster, Operands, Pool, operator};
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::messages::keyword;

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2091",
        name: "operator-setting-conflict",
        severity: Severity::Error,
        summary: "pools need conflicting values of a cluster-wide setting of the GPU Operator",
        checks: "Whether all pools that the GPU Operator manages work with the same cluster-wide settings: the
driver's directory, and the provider of the NVIDIA container toolkit (the operator or the node
image).",
        reason: "These settings of the operator apply to all nodes. If the directory is wrong for a pool, its device
plugin does not find the driver. If the toolkit setting is wrong, containers are started through a
program that does not exist there.",
        remedy: "Use the same `driver` for all these pools, or remove one of them from the operator: give it another
`driver` and another `devicePlugin`.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {azure: {subscription: "00000000-1111-2222-3333-444444444444", resourceGroup: demo, location: eastus, cluster: {create: {nodeImageChannel: securityPatch}}}}
stack: {devicePlugin: operator}
nodePools:
  - {name: system, machine: Standard_D4s_v5, nodes: {count: 2}}
  - {name: train, machine: Standard_ND96isr_H100_v5, nodes: {count: 1}, stack: {driver: operator}}
  - {name: serve, machine: Standard_NC4as_T4_v3, nodes: {count: 1}, stack: {driver: preinstalled}}
"#,
        correction: Correction::Replace("preinstalled", "operator"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let mut pools = cluster.operator_pools();
    let Some((first, operands)) = pools.next() else {
        return;
    };
    let first_settings = operator_settings(cluster, first, operands);
    for (pool, operands) in pools {
        let other = operator_settings(cluster, pool, operands);
        let Some((one, two)) = conflicting_settings(first_settings, other) else {
            continue;
        };
        let message = format!(
            "pools `{}` and `{}` need conflicting settings of the GPU Operator",
            first.name, pool.name
        );
        report
            .diagnostic(&RULE.code, driver_span(cluster, pool), message)
            .primary_label(two)
            .label(driver_span(cluster, first), one)
            .help(format!(
                "write the same `driver` for both, or give one of them a `devicePlugin` other than `{}`",
                keyword(&pool.plugin)
            ))
            .emit();
    }
}

/// The cluster-wide settings that a pool needs: the driver's directory, and the provider of the toolkit.
///
/// Source: NVIDIA/gpu-operator `controllers/object_controls.go`, `TransformDevicePlugin`, read 2026-11-21: with its own
/// toolkit the operator configures every device plugin with the toolkit's hook in its directory.
fn operator_settings(cluster: &Cluster, pool: &Pool, operands: Operands) -> OperatorSettings {
    let os = cluster.cloud.os(pool.os.value);
    let directory = os.and_then(|os| os.operator_support.driver_dir);
    let directory = directory.filter(|_| !operands.driver);
    let toolkit = if operands.toolkit {
        "the toolkit is installed by the operator"
    } else {
        "the toolkit is installed with the driver"
    };
    (directory.unwrap_or(operator::DRIVER_DIR), toolkit)
}

type OperatorSettings = (&'static str, &'static str);

/// The first setting in which two pools differ, described for each.
fn conflicting_settings(one: OperatorSettings, two: OperatorSettings) -> Option<(String, String)> {
    if one.1 != two.1 {
        return Some((one.1.to_owned(), two.1.to_owned()));
    }
    let directory = |settings: OperatorSettings| format!("the driver is in {}", settings.0);
    (one.0 != two.0).then(|| (directory(one), directory(two)))
}

/// The location of the pool's own `driver`, or of its name.
fn driver_span(cluster: &Cluster, pool: &Pool) -> gpuc_schema::Span {
    let driver = cluster
        .pool_in_file(pool)
        .stack
        .driver
        .map(|driver| driver.span);
    driver.unwrap_or(pool.name.span)
}
