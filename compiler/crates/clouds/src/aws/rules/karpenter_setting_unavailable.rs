//! A setting that gpuc supports only for managed node groups.

use gpuc_model::check::Rule;
use gpuc_model::{Cluster, Pool};
use gpuc_schema::Span;
use gpuc_schema::config::{DevicePlugin, Placement};
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::karpenter;

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2546",
        name: "karpenter-setting-unavailable",
        severity: Severity::Error,
        summary: "a pool that Karpenter provisions has a setting that gpuc supports only for node groups",
        checks: "Whether a pool that Karpenter provisions uses a setting that gpuc supports only for managed node
groups: EFA, compact placement, `autoRepair`, and the plugin that eksctl installs
(`devicePlugin: cloud` on Amazon Linux).",
        reason: "eksctl creates the interfaces and the security group of EFA, the placement group and its device plugin
together with a node group. gpuc does not write the network interfaces of an EC2NodeClass. EKS repairs
only nodes of its node groups; Karpenter repairs nodes only if an unfinished feature is enabled. The
settings would have no effect, and no error is reported.",
        remedy: "Set a `count`: a pool with a fixed number of nodes is a managed node group. Or remove the setting. A
placement group of your own, `placement: {group: …}`, works with Karpenter too.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
autoscaler: karpenter
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: system, machine: m7i.large, nodes: {count: 2}}
  - {name: gpu, machine: g6.8xlarge, zones: [us-east-1a], nodes: {min: 0, max: 4}, network: {efa: {}}}
"#,
        correction: Correction::Replace("min: 0, max:", "count:"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for pool in karpenter::provisioned_pools(cluster) {
        let range = pool
            .nodes
            .get()
            .map_or(pool.name.span, |nodes| nodes.max_span);
        for (setting, span) in unsupported_settings(cluster, pool) {
            let help = if setting == COMPACT {
                "set a placement group, `placement: {group: …}`, or remove the setting"
            } else {
                "set a `count` of nodes to get a managed node group, or remove the setting"
            };
            let message = format!(
                "gpuc does not support {setting} for pool `{}`, which Karpenter provisions",
                pool.name
            );
            report
                .diagnostic(&RULE.code, span, message)
                .label(
                    range,
                    "without a fixed number of nodes, Karpenter provisions the pool",
                )
                .help(help)
                .emit();
        }
    }
}

const COMPACT: &str = "compact placement";

/// The settings of the pool that are supported only for node groups, each with its location.
fn unsupported_settings(cluster: &Cluster, pool: &Pool) -> Vec<(&'static str, Span)> {
    let settings = &pool.settings;
    let mut found = Vec::new();
    if let Some(efa) = &settings.network.efa {
        found.push(("EFA", efa.span));
    } else if let Some(placement) = &settings.network.placement
        && matches!(placement.value, Placement::Compact)
    {
        found.push((COMPACT, placement.span));
    }
    if let Some(repair) = settings.auto_repair.filter(|repair| repair.value) {
        found.push(("node repair", repair.span));
    }
    let advertises = cluster.cloud.os(pool.os.value);
    let advertises = advertises.is_some_and(|os| os.has_device_plugin);
    if pool.has_gpus() && pool.is_advertised_by(DevicePlugin::Cloud) && !advertises {
        found.push(("eksctl's device plugin", pool.plugin.span));
    }
    found
}
