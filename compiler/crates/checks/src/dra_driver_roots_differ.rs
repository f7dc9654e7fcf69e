//! Pools with `allocation: dra` have NVIDIA's driver in different directories.

use gpuc_model::check::Rule;
use gpuc_model::{Cluster, Pool};
use gpuc_syntax::diag::{Code, Correction, Report, Severity};
use gpuc_syntax::source::Span;

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2116",
        name: "dra-driver-roots-differ",
        severity: Severity::Error,
        summary: "pools with `allocation: dra` have NVIDIA's driver in different directories",
        checks: "Whether NVIDIA's driver is installed in the same directory on the nodes of every pool with
`allocation: dra`.",
        reason: "One Helm release of the DRA driver serves all these pools, because two releases cannot own the same
DeviceClasses. The DRA driver searches one directory for NVIDIA's driver, and would not find it on
nodes that have it elsewhere.",
        remedy: "Use the same kind of node image and the same `driver` for these pools, or write `allocation:
devicePlugin` for some of them.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
allow: [vpc-missing]
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {existing: {}}}}
nodePools:
  - {name: gpu, machine: g6.xlarge, nodes: {count: 1}, stack: {allocation: dra}}
  - name: old
    machine: g6.xlarge
    nodes: {count: 1}
    os: {family: Ubuntu2404}
    existing: {selector: {eks.amazonaws.com/nodegroup: old}}
    stack: {allocation: dra}
"#,
        correction: Correction::Whole(r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
allow: [vpc-missing]
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {existing: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: gpu, machine: g6.xlarge, nodes: {count: 1}, stack: {allocation: dra}}
  - name: old
    machine: g6.xlarge
    nodes: {count: 1}
    os: {family: Ubuntu2404}
    existing: {selector: {eks.amazonaws.com/nodegroup: old}}
"#),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let root = |pool: &Pool| cluster.cloud.driver_root(pool);
    let mut pools = cluster.dra_pools();
    let Some((first, first_root)) = pools.find_map(|pool| Some((pool, root(pool)?))) else {
        return;
    };
    for (pool, pool_root) in pools.filter_map(|pool| Some((pool, root(pool)?))) {
        if pool_root == first_root {
            continue;
        }
        let message = format!(
            "pools `{}` and `{}` have NVIDIA's driver in different directories",
            first.name, pool.name
        );
        report
            .diagnostic(&RULE.code, driver_span(pool), message)
            .primary_label(format!("`{pool_root}` on these nodes"))
            .label(driver_span(first), format!("`{first_root}` on these nodes"))
            .label(pool.allocation.span, "one DRA driver serves both pools")
            .help("write `allocation: devicePlugin` in `stack` of one pool, or use the same kind of node image")
            .emit();
        return;
    }
}

/// The location of the setting that determines the driver's directory; the pool's name if none is set.
fn driver_span(pool: &Pool) -> Span {
    [pool.driver.span, pool.os.span]
        .into_iter()
        .find(|span| span.is_written())
        .unwrap_or(pool.name.span)
}
