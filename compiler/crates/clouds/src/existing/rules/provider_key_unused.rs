//! Key without effect on nodes that gpuc does not create.

use gpuc_model::check::Rule;
use gpuc_model::{Cluster, Pool};
use gpuc_schema::Span;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::super::{node_pool, provider_facts};
use crate::machine_keys::machine_keys;

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2821",
        name: "provider-key-unused",
        severity: Severity::Error,
        summary: "a key of a pool has no effect in an existing cluster",
        checks: r"Whether a pool with `cloud: {existing: …}` has `hosts`, `machine` without a NodePool that gpuc
writes, or, with such a NodePool, a key that a NodePool of CoreWeave does not have, such as `zones` or `diskGiB`.",
        reason: r"The provider creates the nodes. The key would be accepted and ignored.",
        remedy: r"Remove the key. To let scripts of gpuc prepare and label hosts, use `cloud: {onPrem: …}`.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {existing: {provider: rke2}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    nodes: {count: 1}
    existing: {selector: {rack: a}}
    hosts: [node-1]
"#,
        correction: Correction::Replace(
            "    hosts: [node-1]
",
            "",
        ),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let provider = provider_facts(cluster);
    for pool in &cluster.pools {
        let hosts = pool.settings.hosts.first().map(|host| ("hosts", host.span));
        let keys = if node_pool::is_written(provider, pool) {
            let mut keys = machine_keys(pool);
            keys.retain(|(key, _)| *key != "machine");
            keys
        } else {
            machine_key(pool).into_iter().collect()
        };
        for (key, span) in hosts.into_iter().chain(keys) {
            let message = format!("`{key}` has no effect in pool `{}`", pool.name);
            // Without `existing`, gpuc writes the NodePool of a machine type.
            let existing = pool.settings.existing.as_ref();
            let existing = existing.filter(|_| provider.writes_node_pools && key == "machine");
            let selects = existing.map_or(Span::NONE, |it| it.span);
            report
                .diagnostic(&RULE.code, span, message)
                .label(selects, "the pool selects nodes that exist")
                .label(
                    super::super::section(cluster).provider.span,
                    if node_pool::is_written(provider, pool) {
                        "a NodePool has no such field".to_owned()
                    } else {
                        format!("gpuc does not create the nodes of {}", provider.facts.name)
                    },
                )
                .help(format!("remove `{key}`"))
                .emit();
        }
    }
}

/// The machine type, which only a NodePool uses.
fn machine_key(pool: &Pool) -> Option<(&'static str, Span)> {
    let machine = pool.machine_name.as_ref()?;
    Some(("machine", machine.span))
}
