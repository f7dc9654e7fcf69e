//! `admission.exempt` contains a namespace that is never guarded.

use gpuc_schema::Spanned;

use gpuc_kubernetes::names::is_dns_label;
use gpuc_model::check::Rule;
use gpuc_model::{CHART_NAMESPACES, Cluster};
use gpuc_syntax::diag::{Code, Correction, Report, Severity, phrases};
use gpuc_syntax::source::Span;

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2211",
        name: "guard-exempt-wrong",
        severity: Severity::Error,
        summary: "`admission.exempt` contains a namespace that is never guarded",
        checks: "Whether the guard applies to each namespace in `admission.exempt`. It applies to the namespaces of
teams. In a cluster without teams, it applies to all namespaces except those of Kubernetes, of
charts, and of gpuc.",
        reason: "The entry has no effect. If the name is misspelled, the intended namespace is guarded.",
        remedy: "Correct the name, or remove the entry.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: gpu, gpu: {model: A30, perNode: 2}, hosts: [node-1], nodes: {count: 1}}
teams:
  - {name: research, namespaces: [research, research-dev]}
admission: {exempt: [research-devel]}
"#,
        correction: Correction::Replace("research-devel", "research-dev"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let Some(admission) = &cluster.config.admission else {
        return;
    };
    let mut seen: Vec<&Spanned<String>> = Vec::new();
    for name in &admission.exempt {
        let first = seen.iter().copied().find(|other| *other == name);
        seen.push(name);
        let (message, first, help) = if let Some(first) = first {
            let message = format!("duplicate namespace `{name}` in `exempt`");
            (message, first.span, "remove one of them".to_owned())
        } else if let Some((message, help)) = exemption_problem(cluster, name) {
            (message, Span::NONE, help)
        } else {
            continue;
        };
        report
            .diagnostic(&RULE.code, name.span, message)
            .label(first, "first listed here")
            .help(help)
            .emit();
    }
}

/// The message and the help for a namespace that the guard does not apply to.
fn exemption_problem(cluster: &Cluster, name: &str) -> Option<(String, String)> {
    if !is_dns_label(name) {
        let message = format!("invalid namespace name `{name}`");
        let help = "use lower-case letters, digits and `-`; at most 63 characters";
        return Some((message, help.to_owned()));
    }
    if cluster.teams.is_empty() {
        let is_system = name.starts_with("kube-")
            || name.starts_with("gpuc-")
            || CHART_NAMESPACES.contains(&name);
        let message = format!("namespace `{name}` is never guarded");
        return is_system.then(|| (message, "remove the entry".to_owned()));
    }
    let namespaces: Vec<_> = cluster
        .teams
        .iter()
        .flat_map(|team| &team.namespaces)
        .map(|it| it.value.as_str())
        .collect();
    if namespaces.contains(&name) {
        return None;
    }
    let help = match phrases::closest_match(name, namespaces.iter().copied()) {
        Some(closest) => format!("write `{closest}`, or remove the entry"),
        None => "remove the entry".to_owned(),
    };
    let message = format!("namespace `{name}` belongs to no team, so it is not guarded");
    Some((message, help))
}

#[cfg(test)]
mod tests {
    use crate::testing::check_in;

    #[track_caller]
    fn check(rest: &str, expected: &[&str]) {
        let file = "
            cloud: {onPrem: {context: demo}}
            nodePools: [{name: gpu, gpu: {model: A30, perNode: 2}, hosts: [a], nodes: {count: 1}}]
            <rest>
            ";
        check_in(file, "GPUC2211", rest, expected);
    }

    #[test]
    fn unguarded_namespaces_cannot_be_exempt() {
        check("admission: {exempt: [sandbox, default]}", &[]);
        check(
            "admission: {exempt: [kube-system, gpuc-system, monitoring, A, a, a]}",
            &[
                "namespace `kube-system` is never guarded",
                "namespace `gpuc-system` is never guarded",
                "namespace `monitoring` is never guarded",
                "invalid namespace name `A`",
                "duplicate namespace `a` in `exempt`",
            ],
        );
    }

    #[test]
    fn with_teams_only_their_namespaces_are_guarded() {
        let teams = "teams: [{name: research, namespaces: [research, dev]}]";
        let file = |exempt: &str| format!("{teams}\n            admission: {{exempt: [{exempt}]}}");
        check(&file("dev"), &[]);
        check(
            &file("sandbox"),
            &["namespace `sandbox` belongs to no team, so it is not guarded"],
        );
    }
}
