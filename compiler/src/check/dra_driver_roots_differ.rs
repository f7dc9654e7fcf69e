//! Two places of the driver for one driver of claims.

use super::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::{Cluster, Pool};
use crate::source::Span;

/// Two places of the driver for one driver of claims.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2116",
        name: "dra-driver-roots-differ",
        severity: Severity::Error,
        summary: "the driver for claims would have to look for NVIDIA's driver in two places",
        explain: "### What it checks

Whether NVIDIA's driver is installed below the same folder on the nodes of every pool with
`allocation: dra`.

### Why it matters

One release of the driver for claims serves all of them: it has the DeviceClasses, which no two
releases can own. It looks for NVIDIA's driver below one folder, and would find none on the nodes
that have it elsewhere.

### What to do

Let the pools have the same kind of node image and the same `driver`, or write
`allocation: devicePlugin` for some.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
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
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {existing: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: gpu, machine: g6.xlarge, nodes: {count: 1}, stack: {allocation: dra}}
  - name: old
    machine: g6.xlarge
    nodes: {count: 1}
    os: {family: Ubuntu2404}
    existing: {selector: {eks.amazonaws.com/nodegroup: old}}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let root = |pool: &Pool| cluster.cloud.driver_root(pool);
    let mut pools = cluster.pools_claimed();
    let Some((first, there)) = pools.find_map(|pool| Some((pool, root(pool)?))) else {
        return;
    };
    for (pool, here) in pools.filter_map(|pool| Some((pool, root(pool)?))) {
        if here == there {
            continue;
        }
        let message = format!(
            "pools `{}` and `{}` have NVIDIA's driver in different places",
            first.name, pool.name
        );
        report
            .draft(&RULE.code, decides(pool), message)
            .here(format!("on these nodes it is below `{here}`"))
            .label(decides(first), format!("on these below `{there}`"))
            .label(pool.allocation.span, "one driver for claims serves both")
            .help("write `allocation: devicePlugin` for one of them, or choose like node images")
            .emit();
        return;
    }
}

/// What decides where a pool's driver is, as far as somebody wrote it.
fn decides(pool: &Pool) -> Span {
    let written = [pool.driver.span, pool.os.span];
    let mut written = written.into_iter().filter(|span| span.is_written());
    written.next().unwrap_or(pool.name.span)
}
