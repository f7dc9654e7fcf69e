//! A pool has a range of nodes, but the cluster has no autoscaler.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_schema::config::Autoscaler;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::messages::keyword;

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2013",
        name: "autoscaler-missing",
        severity: Severity::Error,
        summary: "a pool has a range of nodes, but the cluster has no autoscaler",
        checks: "Whether the cluster has an autoscaler if a pool's `min` and `max` differ. Existing pools are not
checked.",
        reason: "Without an autoscaler, no node is added. Pods stay pending, and quotas count GPUs that do not exist.",
        remedy: "Set `autoscaler`, or write a fixed number of nodes: `nodes: {count: 2}`.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: g6.xlarge
    nodes: {min: 1, max: 3}
"#,
        correction: Correction::Replace("min: 1, max:", "count:"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let facts = cluster.cloud.facts();
    // The cloud's own rules report a range of on-premises hosts.
    if cluster.autoscaler.value != Autoscaler::None || !facts.creates_machines {
        return;
    }
    let supported = facts
        .autoscalers
        .iter()
        .find(|autoscaler| **autoscaler != Autoscaler::None)
        .map(keyword);
    for pool in cluster.pools.iter().filter(|pool| !pool.is_existing()) {
        let Some(nodes) = pool.nodes.get().filter(|nodes| !nodes.is_fixed()) else {
            continue;
        };
        let message = format!(
            "pool `{}` has a range of nodes, but no autoscaler",
            pool.name
        );
        let count = format!("write `nodes: {{count: {}}}`", nodes.max);
        let help = match &supported {
            Some(autoscaler) => format!("{count}, or `autoscaler: {autoscaler}` for the cluster"),
            None => count,
        };
        report
            .diagnostic(&RULE.code, nodes.max_span, message)
            .primary_label(format!("the number of nodes stays at {}", nodes.min))
            .label(cluster.autoscaler.span, "the autoscaler is disabled here")
            .help(help)
            .emit();
    }
}
