//! A pool in a zone where the cluster has no private subnet.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::{created_pools, node_zones};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2505",
        name: "zone-without-subnet",
        severity: Severity::Error,
        summary: "a pool is in a zone where the cluster has no private subnet",
        checks: "Whether the cluster has private subnets in all zones of a pool, if the file lists the zones or subnets
of the cluster.",
        reason: "Nodes run in private subnets of the cluster. In a zone without one, eksctl fails to create the node
group.",
        remedy: "Add the zone, or a subnet in it, to the cluster. Or use a zone of the cluster.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {zones: [us-east-1a, us-east-1b]}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: gpu, machine: g5.xlarge, zones: [us-east-1c], nodes: {count: 2}}
"#,
        correction: Correction::Replace("us-east-1c", "us-east-1b"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let of_cluster: Vec<_> = node_zones(cluster).collect();
    let Some(first) = of_cluster.first() else {
        return;
    };
    let names: Vec<_> = of_cluster.iter().map(|zone| zone.as_str()).collect();
    for zone in created_pools(cluster).flat_map(|pool| &pool.settings.zones) {
        if names.contains(&zone.as_str()) {
            continue;
        }
        let message = format!("the cluster has no private subnet in `{zone}`");
        report
            .diagnostic(&RULE.code, zone.span, message)
            .label(first.span, "the cluster's zones are set here")
            .help(format!(
                "write one of {}, or add a subnet in `{zone}` to the cluster",
                names.join(", ")
            ))
            .emit();
    }
}
