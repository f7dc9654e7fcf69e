//! The selector of an existing pool does not identify its nodes.

use gpuc_schema::config::TextMap;

use gpuc_model::check::Rule;
use gpuc_model::{Cluster, Pool};
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2009",
        name: "existing-selector-ambiguous",
        severity: Severity::Error,
        summary: "the selector of an existing pool does not identify its nodes",
        checks: "Whether `existing.selector` has a label, and whether two existing pools select different nodes. A
selector must not equal the selector of another pool, or extend it by more labels.",
        reason: "gpuc finds the nodes of such a pool by these labels. An empty selector would match all nodes of the
cluster. If two pools match one node, two device plugins run there.",
        remedy: "Write labels that only the nodes of this pool have, such as the label with the name of the cloud's
node pool.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: g6.xlarge
    nodes: {count: 1}
    existing: {selector: {gpu: l4}}
  - name: old
    machine: g5.xlarge
    nodes: {count: 1}
    existing: {selector: {gpu: l4, size: small}}
"#,
        correction: Correction::Replace("l4, size: small", "a10g"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let existing = |pool: &Pool| Some((pool.name.clone(), pool.settings.existing.clone()?));
    let pools: Vec<_> = cluster.pools.iter().filter_map(existing).collect();
    for (index, (name, pool)) in pools.iter().enumerate() {
        if pool.selector.is_empty() {
            let message = format!("the selector of pool `{name}` is empty");
            report
                .diagnostic(&RULE.code, pool.span, message)
                .help("write a label that only the nodes of this pool have")
                .emit();
            continue;
        }
        for (other_name, other) in &pools[..index] {
            if is_subset(&pool.selector, &other.selector)
                || is_subset(&other.selector, &pool.selector)
            {
                let message = format!("pools `{other_name}` and `{name}` select the same nodes");
                report
                    .diagnostic(&RULE.code, pool.span, message)
                    .label(other.span, format!("the nodes of `{other_name}`"))
                    .help("write labels that distinguish their nodes")
                    .emit();
            }
        }
    }
}

/// Whether every node that `selector` matches also matches `other`. An empty selector is reported separately.
fn is_subset(selector: &TextMap, other: &TextMap) -> bool {
    !other.is_empty()
        && other
            .iter()
            .all(|(key, value)| selector.get(key) == Some(value))
}
