//! Pools need different settings of which the GPU Operator has one.

use super::Rule;
use super::words::word;
use crate::diag::{Code, Report, Severity};
use crate::model::{Cluster, Operands, Pool, operator};

/// Pools need different settings of which the GPU Operator has one.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2091",
        name: "operator-setting-split",
        severity: Severity::Error,
        summary: "pools need different settings of which the GPU Operator has one",
        explain: "### What it checks

Whether all pools that the GPU Operator does something for can do with what it has only once for
a cluster: the folder of the driver, and who brings NVIDIA's container toolkit, the operator or
the node image.

### Why it matters

The operator's settings hold for all nodes. Where they are wrong for a pool, its device plugin
waits for a driver in the wrong folder, or tells containers to start by a program of the toolkit
that is not there.

### What to do

Let the driver of all these pools come the same way, or take one of them away from the operator:
give it another `driver` and another `devicePlugin`.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {azure: {subscription: "00000000-1111-2222-3333-444444444444", resourceGroup: demo, location: eastus, cluster: {create: {}}}}
stack: {devicePlugin: operator}
nodePools:
  - {name: system, machine: Standard_D4s_v5, nodes: {count: 2}}
  - {name: train, machine: Standard_ND96isr_H100_v5, nodes: {count: 1}, stack: {driver: operator}}
  - {name: serve, machine: Standard_NC4as_T4_v3, nodes: {count: 1}, stack: {driver: preinstalled}}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {azure: {subscription: "00000000-1111-2222-3333-444444444444", resourceGroup: demo, location: eastus, cluster: {create: {}}}}
stack: {devicePlugin: operator}
nodePools:
  - {name: system, machine: Standard_D4s_v5, nodes: {count: 2}}
  - {name: train, machine: Standard_ND96isr_H100_v5, nodes: {count: 1}, stack: {driver: operator}}
  - {name: serve, machine: Standard_NC4as_T4_v3, nodes: {count: 1}, stack: {driver: operator}}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let mut pools = cluster.operator_pools();
    let Some((first, operands)) = pools.next() else {
        return;
    };
    let wanted = settings(cluster, first, operands);
    for (pool, operands) in pools {
        let other = settings(cluster, pool, operands);
        let Some((one, two)) = difference(wanted, other) else {
            continue;
        };
        let message = format!(
            "the GPU Operator cannot serve both pool `{}` and pool `{}`",
            first.name, pool.name
        );
        report
            .draft(&RULE.code, place(pool), message)
            .here(two)
            .label(place(first), one)
            .help(format!(
                "write the same `driver` for both, or give one of them a `devicePlugin` other than `{}`",
                word(&pool.plugin)
            ))
            .emit();
    }
}

/// What a pool asks of the settings that hold for all: the driver's folder, and who brings the toolkit.
///
/// Source: NVIDIA/gpu-operator `controllers/object_controls.go`, `TransformDevicePlugin`, read 2026-11-21: with its own
/// toolkit the operator has every device plugin name the toolkit's hook in its folder.
fn settings(cluster: &Cluster, pool: &Pool, operands: Operands) -> Settings {
    let os = cluster.cloud.os(pool.os.value);
    let folder = os.and_then(|os| os.operator.driver_dir);
    let folder = folder.filter(|_| !operands.driver);
    let toolkit = if operands.toolkit {
        "the toolkit comes by the operator"
    } else {
        "the toolkit comes with the driver"
    };
    (folder.unwrap_or(operator::DRIVER_DIR), toolkit)
}

type Settings = (&'static str, &'static str);

/// What two pools ask differently.
fn difference(one: Settings, two: Settings) -> Option<(String, String)> {
    if one.1 != two.1 {
        return Some((one.1.to_owned(), two.1.to_owned()));
    }
    let folder = |settings: Settings| format!("the driver is in {}", settings.0);
    (one.0 != two.0).then(|| (folder(one), folder(two)))
}

/// Where it was said who installs the pool's driver, or who the pool is.
fn place(pool: &Pool) -> gpuc_schema::Span {
    let own = pool.written.stack.driver.map(|driver| driver.span);
    own.unwrap_or(pool.name.span)
}
