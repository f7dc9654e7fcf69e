//! Pool without hosts.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2801",
        name: "hosts-missing",
        severity: Severity::Error,
        summary: "a pool on premises has no hosts",
        checks: r"Whether a pool lists its `hosts`, unless it has `existing`.",
        reason: r"On premises, no cloud creates machines: the nodes of a pool are the hosts that it lists. Without hosts, gpuc
labels no nodes, and the generated objects match no nodes.",
        remedy: r"List the node names that `kubectl get nodes` shows.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {onPrem: {context: lab}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    nodes: {count: 1}
"#,
        correction: Correction::Replace(
            " nodes:",
            " hosts: [node-1]
    nodes:",
        ),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for pool in &cluster.pools {
        if !pool.is_existing() && pool.settings.hosts.is_empty() {
            let message = format!("pool `{}` has no hosts", pool.name);
            let count = pool.nodes.get().map_or(2, |nodes| nodes.max).clamp(1, 3);
            let hosts: Vec<_> = (1..=count).map(|number| format!("node-{number}")).collect();
            let help = format!(
                "add `hosts: [{}]`, with the node names that `kubectl get nodes` shows",
                hosts.join(", ")
            );
            report
                .diagnostic(&RULE.code, pool.name.span, message)
                .help(help)
                .emit();
        }
    }
}
