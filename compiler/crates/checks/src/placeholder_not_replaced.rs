//! A value is still a placeholder of a starter file.

use gpuc_schema::config::all_texts;

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2060",
        name: "placeholder-not-replaced",
        severity: Severity::Warning,
        summary: "a value is still a placeholder of a starter file",
        checks: "Whether a value contains `replace-me`, or is an account or id that consists of zeros. `gpuc init`
writes these placeholders for values that it cannot know.",
        reason: "gpuc compiles a file with placeholders, but its output does not work: the scripts stop because your
account is another one, and nodes cannot pull the images.",
        remedy: "Replace each placeholder with your own value. In CI, `--deny placeholder-not-replaced` enforces this.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {aws: {account: "000000000000", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: gpu, machine: g6.xlarge, nodes: {count: 1}}
"#,
        correction: Correction::Replace(r#""000000000000""#, r#""123456789012""#),
    },
    run,
};

/// The placeholder that starter files contain where the value must be a name.
const PLACEHOLDER: &str = "replace-me";

/// The length of the shortest id that is recognized: an AWS account.
const MIN_ID_LENGTH: usize = 12;

fn run(cluster: &Cluster, report: &mut Report) {
    for text in all_texts(&cluster.config) {
        let written = text.written;
        if written.contains(PLACEHOLDER) || is_all_zeros(written) {
            report
                .diagnostic(
                    &RULE.code,
                    text.span,
                    format!("`{written}` is a placeholder"),
                )
                .primary_label("from a starter file")
                .help("replace it with your own value")
                .emit();
        }
    }
}

/// Whether an account or an id contains no digit other than 0.
fn is_all_zeros(text: &str) -> bool {
    text.len() >= MIN_ID_LENGTH && text.chars().all(|c| matches!(c, '0' | '-'))
}

#[cfg(test)]
mod tests {
    use crate::testing::messages_with_id;

    #[test]
    fn placeholders_are_found() {
        let found = messages_with_id(
            "
            cloud: {azure: {subscription: 00000000-0000-0000-0000-000000000000, resourceGroup: g, location: eastus,
              cluster: {existing: {}}}}
            stack: {runtimeImage: registry.replace-me.example/gpuc-runtime:0.1.0}
            nodePools:
              - {name: a, machine: Standard_NC4as_T4_v3, nodes: {count: 1}, labels: {zero: '0', ones: '100000000000'}}
            ",
            "GPUC2060",
        );
        assert_eq!(
            found,
            [
                "`00000000-0000-0000-0000-000000000000` is a placeholder",
                "`registry.replace-me.example/gpuc-runtime:0.1.0` is a placeholder",
            ]
        );
    }
}
