//! Key that applies only to machines that a cloud creates.

use gpuc_schema::config::Capacity;

use gpuc_model::check::Rule;
use gpuc_model::{Cluster, Pool};
use gpuc_syntax::diag::{Code, Correction, Report, Severity};
use gpuc_syntax::source::Span;

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2806",
        name: "cloud-only-key",
        severity: Severity::Error,
        summary: "a key of a pool applies only to machines that a cloud creates",
        checks: r"Whether a pool on premises has `machine`, `nodes.initial`, `zones`, `subnets`, `capacity`, `network`, `diskGiB`,
`maxPods`, `tags` or `upgrade`.",
        reason: r"These keys configure machines that a cloud creates. Existing hosts do not change, so the key would have no
effect and would mislead readers of the file.",
        remedy: r"Remove the key. Describe the GPUs of a host with `gpu`. Set the maximum number of pods in the configuration
of the kubelet.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {onPrem: {context: lab}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [node-1]
    nodes: {count: 1}
    diskGiB: 200
"#,
        correction: Correction::Replace(
            "    diskGiB: 200
",
            "",
        ),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for pool in &cluster.pools {
        for (key, span) in unsupported_keys(pool) {
            report
                .diagnostic(
                    &RULE.code,
                    span,
                    format!("`{key}` is not supported on premises"),
                )
                .label(
                    pool.name.span,
                    format!("pool `{}` consists of existing hosts", pool.name),
                )
                .help(format!("remove `{key}`"))
                .emit();
        }
    }
}

/// The unsupported keys that are set, each with its location.
fn unsupported_keys(pool: &Pool) -> Vec<(&'static str, Span)> {
    let settings = &pool.settings;
    let capacity = match settings.capacity.value {
        Capacity::OnDemand => None,
        _ => Some(settings.capacity.span),
    };
    let disk = settings.disk_gib.span;
    let initial = pool.nodes.get().and_then(|nodes| nodes.initial);
    let keys = [
        ("machine", pool.machine_name.as_ref().map(|name| name.span)),
        ("nodes.initial", initial.map(|initial| initial.span)),
        ("zones", settings.zones.first().map(|zone| zone.span)),
        (
            "subnets",
            settings.subnets.first().map(|subnet| subnet.span),
        ),
        ("capacity", capacity),
        (
            "network.efa",
            settings.network.efa.as_ref().map(|efa| efa.span),
        ),
        (
            "network.placement",
            settings
                .network
                .placement
                .as_ref()
                .map(|placement| placement.span),
        ),
        ("diskGiB", disk.is_written().then_some(disk)),
        ("maxPods", settings.max_pods.map(|pods| pods.span)),
        ("tags", settings.tags.keys().next().map(|key| key.span)),
        (
            "upgrade",
            settings.upgrade.as_ref().map(|upgrade| upgrade.span),
        ),
    ];
    keys.into_iter()
        .filter_map(|(key, span)| Some((key, span?)))
        .collect()
}
