//! Pools need different settings of which the GPU Operator has one.

use super::Rule;
use super::words::word;
use crate::cloud::Injection;
use crate::diag::{Code, Report, Severity};
use crate::model::{Cluster, Operands, Pool};

/// Pools need different settings of which the GPU Operator has one.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2091",
        name: "operator-setting-split",
        severity: Severity::Error,
        summary: "pools need different settings of which the GPU Operator has one",
        explain: "### What it checks

Whether all pools that the GPU Operator does something for can do with what it has only once for
a cluster: the folder of the driver, and whether containers get their GPUs by CDI or by a
variable that the node image's own container runtime reads.

### Why it matters

The operator's settings hold for all nodes. Where they are wrong for a pool, its device plugin
waits for a driver in the wrong folder, or starts containers without their GPUs.

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
        let Some((what, one, two)) = difference(wanted, other) else {
            continue;
        };
        let message = format!(
            "the GPU Operator cannot serve both pool `{}` and pool `{}`",
            first.name, pool.name
        );
        report
            .draft(&RULE.code, place(pool), message)
            .here(format!("needs {what}: {two}"))
            .label(place(first), format!("needs {what}: {one}"))
            .help(format!(
                "write the same `driver` for both, or give one of them a `devicePlugin` other than `{}`",
                word(&pool.plugin)
            ))
            .emit();
    }
}

/// What a pool asks of the settings that hold for all: the driver's folder, and how containers get GPUs.
fn settings(cluster: &Cluster, pool: &Pool, operands: Operands) -> (&'static str, &'static str) {
    let os = cluster.cloud.os(pool.os.value);
    let folder = os.and_then(|os| os.operator.driver_dir);
    let folder = folder
        .filter(|_| !operands.driver)
        .unwrap_or("the usual one");
    let access = cluster.access(pool);
    let is_cdi = access.is_some_and(|access| access.injection == Injection::Cdi);
    let way = if operands.toolkit || is_cdi {
        "CDI"
    } else {
        "the image's own runtime"
    };
    (folder, way)
}

type Settings = (&'static str, &'static str);

fn difference(one: Settings, two: Settings) -> Option<(&'static str, &'static str, &'static str)> {
    if one.0 != two.0 {
        return Some(("another folder of the driver", one.0, two.0));
    }
    (one.1 != two.1).then_some(("another way of GPUs into containers", one.1, two.1))
}

/// Where it was said who installs the pool's driver, or who the pool is.
fn place(pool: &Pool) -> gpuc_schema::Span {
    let own = pool.written.stack.driver.map(|driver| driver.span);
    own.unwrap_or(pool.name.span)
}
