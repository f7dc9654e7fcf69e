//! People in teams of a cluster without Entra ID.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::super::{create_section, section};

/// Source: learn.microsoft.com/azure/aks/concepts-identity, general knowledge.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2757",
        name: "aks-members-without-entra",
        severity: Severity::Warning,
        summary: "people in a team cannot log in without Entra ID",
        checks: "Whether a cluster that gpuc creates sets `entra` if `members` contains groups or users.",
        reason: "Without Entra ID, a cluster of AKS has one local user, who is an administrator. Whoever gets its credentials
has all permissions, and the RoleBindings of teams have no effect.",
        remedy: "Add `entra` with the groups of the administrators. If people log in with certificates that you issue, add
`allow: [aks-members-without-entra]`.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {azure: {subscription: "00000000-1111-2222-3333-444444444444", resourceGroup: demo, location: eastus, cluster: {create: {nodeImageChannel: securityPatch}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: system, machine: Standard_D4s_v5, nodes: {count: 2}}
teams: [{name: research, members: [{group: "66666666-7777-8888-9999-000000000000"}]}]
"#,
        correction: Correction::Replace(
            "create: {",
            r#"create: {entra: {adminGroups: ["11111111-2222-3333-4444-555555555555"]}, "#,
        ),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    if create_section(cluster).is_none_or(|create| create.entra.is_some()) {
        return;
    }
    let mut members = cluster.teams.iter().flat_map(|team| &team.settings.members);
    let first = members.find_map(|member| member.group.as_ref().or(member.user.as_ref()));
    if let Some(name) = first {
        report
            .diagnostic(
                &RULE.code,
                name.span,
                format!("`{name}` cannot log in without Entra ID"),
            )
            .label(
                section(&cluster.config).cluster.span,
                "this cluster has only a local administrator",
            )
            .help("add `entra` with the groups of the administrators to the cluster")
            .emit();
    }
}
