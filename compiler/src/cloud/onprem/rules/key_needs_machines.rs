//! A key speaks of machines that a cloud would make.

use gpuc_schema::config::{Capacity, NodePool};

use crate::check::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;
use crate::source::Span;

/// A key speaks of machines that a cloud would make.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2806",
        name: "key-needs-machines",
        severity: Severity::Error,
        summary: "a key of a pool speaks of machines that a cloud would make",
        explain: r"### What it checks

Whether a pool on premises has `machine`, `zones`, `subnets`, `capacity`, `network`, `diskGiB`,
`maxPods`, `tags` or `upgrade`.

### Why it matters

They say how a cloud shall make machines. Hosts are there already: what the key asks for would not
happen, and the reader of the file would think it had.

### What to do

Remove the key. GPUs of a host are described by `gpu`; the kubelet's own configuration says how
many pods it takes.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: lab}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [node-1]
    nodes: {count: 1}
    diskGiB: 200
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: lab}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [node-1]
    nodes: {count: 1}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for pool in &cluster.pools {
        for (key, span) in keys(&pool.written) {
            report
                .draft(
                    &RULE.code,
                    span,
                    format!("`{key}` has no meaning for hosts of your own"),
                )
                .label(pool.name.span, format!("pool `{}`", pool.name))
                .help(format!("remove `{key}`"))
                .emit();
        }
    }
}

/// The keys that somebody wrote, each with its place.
fn keys(pool: &NodePool) -> Vec<(&'static str, Span)> {
    let capacity = match pool.capacity.value {
        Capacity::OnDemand => None,
        _ => Some(pool.capacity.span),
    };
    let disk = pool.disk_gib.span;
    let places = [
        ("machine", pool.machine.as_ref().map(|name| name.span)),
        ("zones", pool.zones.first().map(|zone| zone.span)),
        ("subnets", pool.subnets.first().map(|subnet| subnet.span)),
        ("capacity", capacity),
        ("network.efa", pool.network.efa.as_ref().map(|efa| efa.span)),
        (
            "network.placement",
            pool.network
                .placement
                .as_ref()
                .map(|placement| placement.span),
        ),
        ("diskGiB", disk.is_written().then_some(disk)),
        ("maxPods", pool.max_pods.map(|pods| pods.span)),
        ("tags", pool.tags.keys().next().map(|key| key.span)),
        ("upgrade", pool.upgrade.as_ref().map(|upgrade| upgrade.span)),
    ];
    let written = places.into_iter();
    written
        .filter_map(|(key, span)| Some((key, span?)))
        .collect()
}
