//! A setting of node groups that Karpenter has nothing for.

use gpuc_schema::Span;
use gpuc_schema::config::{DevicePlugin, Placement};

use super::karpenter;
use crate::check::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::{Cluster, Pool};

/// A setting of node groups that Karpenter has nothing for.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2546",
        name: "karpenter-setting-unavailable",
        severity: Severity::Error,
        summary: "a pool of Karpenter's has a setting of node groups",
        explain: "### What it checks

Whether a pool of Karpenter's asks for something that only managed node groups have here: EFA,
compact placement, `autoRepair`, and the plugin that eksctl installs (`devicePlugin: cloud` on
Amazon Linux).

### Why it matters

eksctl makes EFA's interfaces, its security group and a placement group together with a node group;
EKS repairs nodes of its node groups alone, and Karpenter repairs none unless a part of it that is
not finished is turned on; eksctl's plugin comes with a node group. None of it would happen, without
a word.

### What to do

Write a `count`: a pool with a fixed number of nodes is a managed node group. Or leave the setting out;
a placement group of your own, `placement: {group: …}`, goes with Karpenter too.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
autoscaler: karpenter
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: system, machine: m7i.large, nodes: {count: 2}}
  - {name: gpu, machine: g6.8xlarge, zones: [us-east-1a], nodes: {min: 0, max: 4}, network: {efa: {}}}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
autoscaler: karpenter
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: system, machine: m7i.large, nodes: {count: 2}}
  - {name: gpu, machine: g6.8xlarge, zones: [us-east-1a], nodes: {count: 4}, network: {efa: {}}}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for pool in karpenter::pools(cluster) {
        let range = pool
            .nodes
            .get()
            .map_or(pool.name.span, |nodes| nodes.max_span);
        for (what, span) in settings(cluster, pool) {
            let message = format!("pool `{}` is Karpenter's, which has no {what}", pool.name);
            report
                .draft(&RULE.code, span, message)
                .label(
                    range,
                    "without a fixed number of nodes the pool is Karpenter's",
                )
                .help(
                    "write a `count` of nodes, for which EKS makes a node group, or leave this out",
                )
                .emit();
        }
    }
}

/// What the pool asks for and Karpenter has not, in words, with its place.
fn settings(cluster: &Cluster, pool: &Pool) -> Vec<(&'static str, Span)> {
    let written = &pool.written;
    let mut found = Vec::new();
    if let Some(efa) = &written.network.efa {
        found.push(("EFA", efa.span));
    } else if let Some(placement) = &written.network.placement
        && matches!(placement.value, Placement::Compact)
    {
        found.push(("compact placement", placement.span));
    }
    if let Some(repair) = written.auto_repair.filter(|repair| repair.value) {
        found.push(("repair of nodes", repair.span));
    }
    let advertises = cluster.cloud.os(pool.os.value);
    let advertises = advertises.is_some_and(|os| os.advertises);
    if pool.has_gpus() && pool.is_advertised_by(DevicePlugin::Cloud) && !advertises {
        found.push(("plugin of eksctl's", pool.plugin.span));
    }
    found
}
