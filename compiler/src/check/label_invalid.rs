//! A label is not one that Kubernetes takes.

use gpuc_schema::Spanned;

use super::Rule;
use super::syntax::{key_problem, value_problem};
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// A label is not one that Kubernetes takes.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2004",
        name: "label-invalid",
        severity: Severity::Error,
        summary: "a label is not one that Kubernetes takes",
        explain: "### What it checks

Whether keys and values of `labels` and `existing.selector`, and the value of `dedicatedTo`, have
the syntax of Kubernetes labels: an optional DNS name and `/`, then at most 63 letters, digits,
`-`, `_` and `.`, beginning and ending with a letter or a digit.

### Why it matters

A cloud that takes such a label makes nodes that cannot join; others refuse the pool after the
cluster has been made.

### What to do

Change the key or the value as the help says.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: g6.xlarge
    nodes: {count: 1}
    labels: {team: research & development}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: g6.xlarge
    nodes: {count: 1}
    labels: {team: research}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for pool in &cluster.pools {
        let selector = pool
            .written
            .existing
            .iter()
            .flat_map(|existing| &existing.selector);
        for (key, value) in pool.written.labels.iter().chain(selector) {
            refuse(key, "key", key_problem(key), report);
            refuse(value, "value", value_problem(value), report);
        }
        if let Some(whom) = &pool.written.dedicated_to {
            let empty = whom
                .is_empty()
                .then(|| "say whom the pool is for".to_owned());
            refuse(whom, "value", empty.or_else(|| value_problem(whom)), report);
        }
    }
}

fn refuse(text: &Spanned<String>, what: &str, problem: Option<String>, report: &mut Report) {
    if let Some(problem) = problem {
        let message = format!("`{text}` is not the {what} of a label");
        report
            .draft(&RULE.code, text.span, message)
            .help(problem)
            .emit();
    }
}

#[cfg(test)]
mod tests {
    use crate::check::testing::messages;

    #[test]
    fn keys_selectors_and_dedications_are_labels_too() {
        let found = messages(
            "
            cloud: {onPrem: {context: demo}}
            nodePools:
              - name: a
                hosts: [a]
                nodes: {count: 1}
                dedicatedTo: Research Team
                labels: {bad key: fine}
              - name: b
                nodes: {count: 1}
                existing: {selector: {pool: 'b '}}
            ",
            "GPUC2004",
        );
        assert_eq!(
            found,
            [
                "`bad key` is not the key of a label",
                "`Research Team` is not the value of a label",
                "`b ` is not the value of a label",
            ]
        );
    }
}
