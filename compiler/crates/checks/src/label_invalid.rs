//! The key or the value of a label is invalid.

use gpuc_schema::Spanned;

use gpuc_kubernetes::names::{label_key_problem, label_value_problem};
use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2004",
        name: "label-invalid",
        severity: Severity::Error,
        summary: "the key or the value of a label is invalid",
        checks: "Whether keys and values of `labels` and `existing.selector`, and the value of `dedicatedTo`, have
the syntax of Kubernetes labels: an optional DNS name and `/`, then at most 63 letters, digits, `-`,
`_` and `.`, beginning and ending with a letter or a digit.",
        reason: "Some clouds accept such a label and create nodes that cannot join; others reject the pool after the
cluster is created.",
        remedy: "Change the key or the value according to the help.",
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
    labels: {team: research & development}
"#,
        correction: Correction::Replace(" & development", ""),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for pool in &cluster.pools {
        let selector = pool
            .settings
            .existing
            .iter()
            .flat_map(|existing| &existing.selector);
        for (key, value) in pool.user_labels.iter().chain(selector) {
            reject(key, "key", label_key_problem(key), report);
            reject(value, "value", label_value_problem(value), report);
        }
        if let Some(team) = &pool.settings.dedicated_to {
            let problem = if team.is_empty() {
                Some("write whom the pool is dedicated to".to_owned())
            } else {
                label_value_problem(team)
            };
            reject(team, "value", problem, report);
        }
    }
}

fn reject(text: &Spanned<String>, part: &str, problem: Option<String>, report: &mut Report) {
    if let Some(problem) = problem {
        let message = format!("invalid label {part} `{text}`");
        report
            .diagnostic(&RULE.code, text.span, message)
            .help(problem)
            .emit();
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::messages_with_id;

    #[test]
    fn keys_selectors_and_dedications_are_checked() {
        let found = messages_with_id(
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
                "invalid label key `bad key`",
                "invalid label value `Research Team`",
                "invalid label value `b `",
            ]
        );
    }
}
