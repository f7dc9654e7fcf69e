//! The guard of pods exempts a namespace that it does not look at.

use gpuc_schema::Spanned;

use super::Rule;
use super::syntax::is_dns_label;
use crate::diag::{Code, Report, Severity, words};
use crate::model::{CHART_NAMESPACES, Cluster};
use crate::source::Span;

/// The guard of pods exempts a namespace that it does not look at.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2211",
        name: "guard-exempt-wrong",
        severity: Severity::Error,
        summary: "the guard of pods exempts a namespace that it does not look at",
        explain: "### What it checks

Whether the guard would look at a namespace of `admission.exempt`: a team's, and in a cluster without teams
any but Kubernetes' own, those of charts, and gpuc's.

### Why it matters

The entry does nothing. If its name is misspelled, the namespace that was meant is guarded.

### What to do

Correct the name, or remove the entry.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: gpu, gpu: {model: A30, perNode: 2}, hosts: [node-1], nodes: {count: 1}}
teams:
  - {name: research, namespaces: [research, research-dev]}
admission: {exempt: [research-devel]}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: gpu, gpu: {model: A30, perNode: 2}, hosts: [node-1], nodes: {count: 1}}
teams:
  - {name: research, namespaces: [research, research-dev]}
admission: {exempt: [research-dev]}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let Some(admission) = &cluster.written.admission else {
        return;
    };
    let mut before: Vec<&Spanned<String>> = Vec::new();
    for name in &admission.exempt {
        let first = before.iter().copied().find(|other| *other == name);
        before.push(name);
        let (message, first, help) = if let Some(first) = first {
            let message = format!("`{name}` is exempt twice");
            (message, first.span, "remove one of them".to_owned())
        } else if let Some((message, help)) = problem(cluster, name) {
            (message, Span::NONE, help)
        } else {
            continue;
        };
        let draft = report.draft(&RULE.code, name.span, message);
        draft.label(first, "the first one").help(help).emit();
    }
}

fn problem(cluster: &Cluster, name: &str) -> Option<(String, String)> {
    if !is_dns_label(name) {
        let message = format!("no namespace can be called `{name}`");
        let help = "write lower-case letters, digits and `-`, at most 63 characters";
        return Some((message, help.to_owned()));
    }
    let of_teams = cluster.teams.iter().flat_map(|team| &team.namespaces);
    let of_teams: Vec<_> = of_teams.map(|it| it.value.as_str()).collect();
    if cluster.teams.is_empty() {
        let is_own = name.starts_with("kube-") || name.starts_with("gpuc-");
        let is_own = is_own || CHART_NAMESPACES.contains(&name);
        let message = format!("`{name}` is never guarded");
        return is_own.then(|| (message, "remove the entry".to_owned()));
    }
    if of_teams.contains(&name) {
        return None;
    }
    let help = match words::nearest(name, of_teams.iter().copied()) {
        Some(near) => format!("write `{near}`, or remove the entry"),
        None => "remove the entry".to_owned(),
    };
    let message = format!("`{name}` is no team's namespace, and only those are guarded");
    Some((message, help))
}

#[cfg(test)]
mod tests {
    use crate::check::testing::messages;

    #[track_caller]
    fn check(rest: &str, expected: &[&str]) {
        let yaml = format!(
            "
            cloud: {{onPrem: {{context: demo}}}}
            nodePools: [{{name: gpu, gpu: {{model: A30, perNode: 2}}, hosts: [a], nodes: {{count: 1}}}}]
            {rest}
            "
        );
        assert_eq!(messages(&yaml, "GPUC2211"), expected, "{rest}");
    }

    #[test]
    fn what_is_not_guarded_cannot_be_exempt() {
        check("admission: {exempt: [sandbox, default]}", &[]);
        check(
            "admission: {exempt: [kube-system, gpuc-system, monitoring, A, a, a]}",
            &[
                "`kube-system` is never guarded",
                "`gpuc-system` is never guarded",
                "`monitoring` is never guarded",
                "no namespace can be called `A`",
                "`a` is exempt twice",
            ],
        );
    }

    #[test]
    fn with_teams_only_theirs_are() {
        let teams = "teams: [{name: research, namespaces: [research, dev]}]";
        let file = |exempt: &str| format!("{teams}\n            admission: {{exempt: [{exempt}]}}");
        check(&file("dev"), &[]);
        check(
            &file("sandbox"),
            &["`sandbox` is no team's namespace, and only those are guarded"],
        );
    }
}
