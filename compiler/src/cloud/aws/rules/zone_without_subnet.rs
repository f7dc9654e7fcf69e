//! A pool in a zone where the cluster has no subnet.

use super::{made_pools, zones_of_nodes};
use crate::check::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// A pool in a zone where the cluster has no subnet.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2505",
        name: "zone-without-subnet",
        severity: Severity::Error,
        summary: "a pool is in a zone where the cluster has no private subnet",
        explain: "### What it checks

Whether the zones of a pool are among those that the cluster has private subnets in, where the
file names them.

### Why it matters

Nodes are put into private subnets of the cluster. In a zone without one, eksctl stops while it
makes the node group.

### What to do

Add the zone or a subnet there to the cluster, or choose a zone that the cluster has.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {zones: [us-east-1a, us-east-1b]}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: gpu, machine: g5.xlarge, zones: [us-east-1c], nodes: {count: 2}}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {zones: [us-east-1a, us-east-1b]}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: gpu, machine: g5.xlarge, zones: [us-east-1b], nodes: {count: 2}}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let of_cluster: Vec<_> = zones_of_nodes(cluster).collect();
    let Some(first) = of_cluster.first() else {
        return;
    };
    let names: Vec<_> = of_cluster.iter().map(|zone| zone.as_str()).collect();
    for zone in made_pools(cluster).flat_map(|pool| &pool.written.zones) {
        if names.contains(&zone.as_str()) {
            continue;
        }
        let message = format!("the cluster has no private subnet in `{zone}`");
        report
            .draft(&RULE.code, zone.span, message)
            .label(first.span, "the cluster's zones are named here")
            .help(format!(
                "write one of {}, or add a subnet there to the cluster",
                names.join(", ")
            ))
            .emit();
    }
}
