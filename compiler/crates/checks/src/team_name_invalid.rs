//! A team name is invalid.

use gpuc_kubernetes::names::{LABEL_HELP, is_dns_label};
use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2154",
        name: "team-name-invalid",
        severity: Severity::Error,
        summary: "a team name is invalid",
        checks: "Whether each team's name is valid as a label value and a namespace, and is unique.",
        reason: "A team's namespace has the team's name by default, and all objects of a team have its name as a
label.",
        remedy: "Use lower-case letters, digits and `-`, at most 63 characters.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
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
        correction: Correction::Replace("Research", "research"),
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
                format!("invalid team name `{name}`")
            };
            let help = LABEL_HELP;
            report
                .diagnostic(&RULE.code, name.span, message)
                .help(help)
                .emit();
        } else if let Some(other) = cluster.teams[..index].iter().find(|it| it.name == *name) {
            let message = format!("duplicate team name `{name}`");
            report
                .diagnostic(&RULE.code, name.span, message)
                .label(other.name.span, "the first team of this name")
                .help("choose another name, or merge the teams")
                .emit();
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{TEAMS, check_in};

    #[track_caller]
    fn check(teams: &str, expected: &[&str]) {
        check_in(TEAMS, "GPUC2154", teams, expected);
    }

    #[test]
    fn invalid_and_duplicate_names_are_found() {
        check("teams: [{name: a-1}, {name: b}]", &[]);
        check(
            "teams: [{name: A}, {name: b.c}, {name: d}, {name: d}, {name: ''}]",
            &[
                "invalid team name `A`",
                "invalid team name `b.c`",
                "duplicate team name `d`",
                "a team has no name",
            ],
        );
    }
}
