//! A value is a placeholder that a starter file left for the user to fill in.

use gpuc_schema::config::texts;

use super::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// A value is a placeholder that a starter file left for the user to fill in.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2060",
        name: "placeholder-left",
        severity: Severity::Warning,
        summary: "a value is a placeholder of a starter file",
        explain: "### What it checks

Whether a value has `replace-me` in it, or is an account or an id of nothing but zeros. So `gpuc init`
marks what it cannot know.

### Why it matters

Everything compiles with a placeholder, and then nothing of it works: the scripts stop because they
talk to another account, and nodes cannot pull the image.

### What to do

Write your own value on each of these lines. In CI, `--deny placeholder-left` makes sure of it.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "000000000000", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: gpu, machine: g6.xlarge, nodes: {count: 1}}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: gpu, machine: g6.xlarge, nodes: {count: 1}}
"#,
    },
    run,
};

/// What starter files write where they cannot know better and the value must be a name.
const MARK: &str = "replace-me";

/// The shortest id that is taken for one: AWS's account.
const SHORTEST_ID: usize = 12;

fn run(cluster: &Cluster, report: &mut Report) {
    for text in texts(&cluster.written) {
        let written = text.written;
        if written.contains(MARK) || is_nothing(written) {
            report
                .draft(
                    &RULE.code,
                    text.span,
                    format!("`{written}` is a placeholder"),
                )
                .here("to be filled in")
                .help("write your own value here")
                .emit();
        }
    }
}

/// Whether an account or an id has no digit but 0.
fn is_nothing(text: &str) -> bool {
    text.len() >= SHORTEST_ID && text.chars().all(|c| matches!(c, '0' | '-'))
}

#[cfg(test)]
mod tests {
    use crate::check::testing::messages;

    #[test]
    fn only_what_is_marked_is_a_placeholder() {
        let found = messages(
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
