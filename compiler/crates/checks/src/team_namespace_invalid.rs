//! A team's namespace is invalid or already in use.

use gpuc_kubernetes::names::{LABEL_HELP, is_dns_label};
use gpuc_model::check::Rule;
use gpuc_model::{CHART_NAMESPACES, Cluster};
use gpuc_schema::config::Gitops;
use gpuc_schema::{Span, Spanned};
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2155",
        name: "team-namespace-invalid",
        severity: Severity::Error,
        summary: "a team's namespace is invalid or already in use",
        checks: "Whether each namespace of a team has a valid name and belongs to one team only. Whether it is not
used by Kubernetes, a chart, gpuc or the GitOps controller.",
        reason: "Quotas, roles and Pod Security levels apply to a whole namespace. In a namespace of two teams,
neither team would have its own quota. In a system namespace, a team's limits would apply to the
system's pods.",
        remedy: "Choose another name. Users who must be isolated from each other belong in separate teams.",
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
  - name: research
  - {name: vision, namespaces: [research]}
"#,
        correction: Correction::Replace("[research", "[vision"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let mut seen: Vec<(&Spanned<String>, usize)> = Vec::new();
    for (team, index) in cluster.teams.iter().zip(0..) {
        for name in &team.namespaces {
            let first = seen.iter().find(|(other, _)| *other == name);
            // Another rule reports two teams of the same name.
            let is_default = cluster.config.teams[team.index].namespaces.is_empty();
            let problem = match first {
                _ if is_default && !is_dns_label(name) => None,
                _ if !is_dns_label(name) => {
                    let message = if name.is_empty() {
                        "a namespace has no name".to_owned()
                    } else {
                        format!("invalid namespace name `{name}`")
                    };
                    Some((message, Span::NONE, LABEL_HELP))
                }
                Some((_, other)) if is_default && cluster.teams[*other].name == team.name => None,
                Some((other, owner)) => {
                    let message = if *owner == index {
                        format!("duplicate namespace `{name}` in the team")
                    } else {
                        format!("two teams use the namespace `{name}`")
                    };
                    Some((message, other.span, "remove one of the entries"))
                }
                None => namespace_owner(cluster, name).map(|owner| {
                    let message = format!("the namespace `{name}` is used by {owner}");
                    (message, Span::NONE, "choose another name")
                }),
            };
            seen.push((name, index));
            if let Some((message, first, help)) = problem {
                report
                    .diagnostic(&RULE.code, name.span, message)
                    .label(first, "the first use")
                    .help(help)
                    .emit();
            }
        }
    }
}

/// The owner of a namespace that a team cannot use.
pub(super) fn namespace_owner(cluster: &Cluster, name: &str) -> Option<String> {
    let controller = cluster.config.gitops.as_ref().map(|it| match &it.value {
        Gitops::Flux(flux) => &flux.namespace,
        Gitops::Argocd(argocd) => &argocd.namespace,
    });
    let mut charts = CHART_NAMESPACES.iter();
    // The namespaces of exporters have the names of their pools as a suffix.
    let chart = charts.find(|chart| {
        let rest = name.strip_prefix(**chart);
        rest.is_some_and(|rest| {
            rest.is_empty() || (**chart == "dcgm-exporter" && rest.starts_with('-'))
        })
    });
    if name == "default" || name.starts_with("kube-") {
        Some("Kubernetes".to_owned())
    } else if name.starts_with("gpuc-") {
        Some("gpuc".to_owned())
    } else if chart.is_some() {
        Some("a chart".to_owned())
    } else if controller.is_some_and(|controller| controller.value == name) {
        Some("the GitOps controller".to_owned())
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{TEAMS, check_in};

    #[track_caller]
    fn check(teams: &str, expected: &[&str]) {
        check_in(TEAMS, "GPUC2155", teams, expected);
    }

    #[test]
    fn invalid_and_shared_namespaces_are_found() {
        check("teams: [{name: a}, {name: b, namespaces: [c, d]}]", &[]);
        check(
            "teams: [{name: default}, {name: a, namespaces: [B, kube-system, kueue-system, gpuc-runtime, dcgm-exporter-x, c, c]}, {name: c}]",
            &[
                "the namespace `default` is used by Kubernetes",
                "invalid namespace name `B`",
                "the namespace `kube-system` is used by Kubernetes",
                "the namespace `kueue-system` is used by a chart",
                "the namespace `gpuc-runtime` is used by gpuc",
                "the namespace `dcgm-exporter-x` is used by a chart",
                "duplicate namespace `c` in the team",
                "two teams use the namespace `c`",
            ],
        );
        check("teams: [{name: A}, {name: b}, {name: b}]", &[]);
    }
}
