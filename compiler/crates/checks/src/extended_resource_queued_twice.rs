//! Kueue counts requests for a resource of a device plugin for a DeviceClass.

use gpuc_model::check::Rule;
use gpuc_model::{Cluster, Grant, Team};
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2235",
        name: "extended-resource-queued-twice",
        severity: Severity::Error,
        summary: "Kueue counts requests for a resource of a device plugin for a DeviceClass",
        checks: "Whether a team has a quota of a pool whose device plugin advertises the resource of a DeviceClass with
`extendedResources`, with `queueing: kueue` and a quota of the pool of that class.",
        reason: "Kueue looks up the DeviceClass of an extended resource before it knows the pool, and counts every
request for the resource as devices of this class. It admits the job for the nodes of the pool with
DRA. The quota of the pool with the device plugin is never used, and its GPUs stay idle.",
        remedy: "Move the other pool to `allocation: dra` too and let its jobs use ResourceClaims, or remove
`extendedResources`, or set `queueing: none`.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {devicePlugin: nvidia}
nodePools:
  - {name: system, machine: m7i.xlarge, nodes: {count: 2}}
  - {name: train, machine: p5.48xlarge, nodes: {count: 2}, stack: {allocation: dra, extendedResources: true}}
  - {name: infer, machine: g6.12xlarge, nodes: {count: 2}}
queueing: kueue
teams:
  - {name: research, quota: {gpus: [{pool: train, guaranteed: 16}, {pool: infer, guaranteed: 8}]}}
"#,
        correction: Correction::Replace(", extendedResources: true", ""),
    },
    run,
};

/// Source: kubernetes-sigs/kueue@ff69552e `pkg/dra/extended_resources.go` (`resolveQuotaKey`), read 2026-11-29.
fn run(cluster: &Cluster, report: &mut Report) {
    if !cluster.has_queues() {
        return;
    }
    let queued = cluster.granted_classes();
    for grant in cluster.teams.iter().flat_map(Team::grants) {
        let Some((pool, class)) = cluster.class_of_resource(&grant.resource) else {
            continue;
        };
        if queued.contains(class.name.as_str()) {
            let message = format!(
                "Kueue counts every request for `{}` as a device of `{}`",
                grant.resource, class.name
            );
            report
                .diagnostic(&RULE.code, grant.span, message)
                .primary_label(format!(
                    "no job can use this quota of {}",
                    pool_name(cluster, grant)
                ))
                .label(
                    pool.extended_resources.span,
                    format!("this gives `{}` to the class", grant.resource),
                )
                .label(cluster.config.queueing.span, "this enables queues")
                .help(format!(
                    "set `extendedResources: false` in the `stack` of pool `{}`",
                    pool.name
                ))
                .emit();
        }
    }
}

fn pool_name(cluster: &Cluster, grant: &Grant) -> String {
    format!("pool `{}`", cluster.pools[grant.pool].name)
}
