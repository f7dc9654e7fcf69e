//! A team cannot be called so.

use super::Rule;
use super::syntax::{LABEL_HELP, is_dns_label};
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// A team cannot be called so.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2154",
        name: "team-name-invalid",
        severity: Severity::Error,
        summary: "a team cannot be called so",
        explain: "### What it checks

Whether the name of each team can be a label and a namespace, and whether it is its own alone.

### Why it matters

Namespaces are called like their team unless it says otherwise, and everything of a team carries its
name as a label.

### What to do

Write lower-case letters, digits and `-`, at most 63 characters.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [node-1, node-2]
    nodes: {count: 2}
teams:
  - name: Research
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [node-1, node-2]
    nodes: {count: 2}
teams:
  - name: research
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for (index, team) in cluster.teams.iter().enumerate() {
        let name = &team.name;
        if !is_dns_label(name) {
            let message = if name.is_empty() {
                "a team has no name".to_owned()
            } else {
                format!("no team can be called `{name}`")
            };
            let draft = report.draft(&RULE.code, name.span, message);
            let help = LABEL_HELP;
            draft.help(help).emit();
        } else if let Some(other) = cluster.teams[..index].iter().find(|it| it.name == *name) {
            let message = format!("two teams are called `{name}`");
            let draft = report.draft(&RULE.code, name.span, message);
            let draft = draft.label(other.name.span, "the first one");
            draft
                .help("choose another name, or make one team of them")
                .emit();
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::check::testing::messages;

    #[track_caller]
    fn check(teams: &str, expected: &[&str]) {
        let yaml = format!(
            "
            cloud: {{onPrem: {{context: demo}}}}
            nodePools:
              - {{name: train, gpu: {{model: A30, perNode: 2}}, hosts: [a], nodes: {{count: 1}}}}
              - {{name: infer, gpu: {{model: L4, perNode: 4}}, hosts: [b], nodes: {{count: 1}}}}
              - {{name: turns, gpu: {{model: L4, perNode: 1}}, hosts: [c], nodes: {{count: 1}}, sharing: {{timeSlicing: {{replicas: 4, rename: true}}}}}}
            {teams}
            "
        );
        assert_eq!(messages(&yaml, "GPUC2154"), expected, "{teams}");
    }

    #[test]
    fn names_are_labels_of_their_own() {
        check("teams: [{name: a-1}, {name: b}]", &[]);
        check(
            "teams: [{name: A}, {name: b.c}, {name: d}, {name: d}, {name: ''}]",
            &[
                "no team can be called `A`",
                "no team can be called `b.c`",
                "two teams are called `d`",
                "a team has no name",
            ],
        );
    }
}
