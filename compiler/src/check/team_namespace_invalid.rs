//! A team cannot have this namespace.

use super::Rule;
use super::syntax::{LABEL_HELP, is_dns_label};
use crate::diag::{Code, Report, Severity};
use crate::model::{CHART_NAMESPACES, Cluster};
use gpuc_schema::config::Gitops;
use gpuc_schema::{Span, Spanned};

/// A team cannot have this namespace.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2155",
        name: "team-namespace-invalid",
        severity: Severity::Error,
        summary: "a team cannot have this namespace",
        explain: "### What it checks

Whether each namespace of a team can be called so, is the team's alone, and is neither Kubernetes' own
nor one that a chart or gpuc itself runs in.

### Why it matters

A quota, roles and Pod Security levels hold for all of a namespace. In one of two teams nobody's
quota would be their own, and what runs the cluster would fall under a team's limits.

### What to do

Choose another name. People of one team who must not meet are two teams.
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
  - name: research
  - {name: vision, namespaces: [research]}
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
  - {name: vision, namespaces: [vision]}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let mut before: Vec<(&Spanned<String>, usize)> = Vec::new();
    for (team, index) in cluster.teams.iter().zip(0..) {
        for name in &team.namespaces {
            let first = before.iter().find(|(other, _)| *other == name);
            // Two teams of the same name are a finding of their own.
            let is_default = team.written.namespaces.is_empty();
            let problem = match first {
                _ if is_default && !is_dns_label(name) => None,
                _ if !is_dns_label(name) => {
                    let what = if name.is_empty() {
                        "a namespace has no name".to_owned()
                    } else {
                        format!("no namespace can be called `{name}`")
                    };
                    Some((what, Span::NONE, LABEL_HELP))
                }
                Some((_, other)) if is_default && cluster.teams[*other].name == team.name => None,
                Some((other, owner)) => {
                    let what = if *owner == index {
                        format!("the team has the namespace `{name}` twice")
                    } else {
                        format!("two teams have the namespace `{name}`")
                    };
                    Some((what, other.span, "leave it to one of them"))
                }
                None => owner(cluster, name).map(|owner| {
                    let what = format!("the namespace `{name}` is {owner}");
                    (what, Span::NONE, "choose another name")
                }),
            };
            before.push((name, index));
            if let Some((message, first, help)) = problem {
                let draft = report.draft(&RULE.code, name.span, message);
                draft.label(first, "the first one").help(help).emit();
            }
        }
    }
}

/// Whose a namespace is that no team can have.
pub(super) fn owner(cluster: &Cluster, name: &str) -> Option<String> {
    let tool = cluster.written.gitops.as_ref().map(|it| match &it.value {
        Gitops::Flux(flux) => &flux.namespace,
        Gitops::Argocd(argocd) => &argocd.namespace,
    });
    let mut charts = CHART_NAMESPACES.iter();
    // Those of exporters are called after their pools.
    let chart = charts.find(|chart| {
        let rest = name.strip_prefix(**chart);
        rest.is_some_and(|rest| {
            rest.is_empty() || (**chart == "dcgm-exporter" && rest.starts_with('-'))
        })
    });
    if name == "default" || name.starts_with("kube-") {
        Some("Kubernetes' own".to_owned())
    } else if name.starts_with("gpuc-") {
        Some("kept for gpuc's own".to_owned())
    } else if chart.is_some() {
        Some("a chart's".to_owned())
    } else if tool.is_some_and(|tool| tool.value == name) {
        Some("that of what brings the tree to the cluster".to_owned())
    } else {
        None
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
        assert_eq!(messages(&yaml, "GPUC2155"), expected, "{teams}");
    }

    #[test]
    fn namespaces_are_a_teams_alone() {
        check("teams: [{name: a}, {name: b, namespaces: [c, d]}]", &[]);
        check(
            "teams: [{name: default}, {name: a, namespaces: [B, kube-system, kueue-system, gpuc-runtime, dcgm-exporter-x, c, c]}, {name: c}]",
            &[
                "the namespace `default` is Kubernetes' own",
                "no namespace can be called `B`",
                "the namespace `kube-system` is Kubernetes' own",
                "the namespace `kueue-system` is a chart's",
                "the namespace `gpuc-runtime` is kept for gpuc's own",
                "the namespace `dcgm-exporter-x` is a chart's",
                "the team has the namespace `c` twice",
                "two teams have the namespace `c`",
            ],
        );
        check("teams: [{name: A}, {name: b}, {name: b}]", &[]);
    }
}
