//! A group of a team that is no Entra group.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::super::create_section;
use super::subscription_unreadable::is_subscription_id;

/// Source: learn.microsoft.com/azure/aks/azure-ad-rbac (`kind: Group`, `name: groupObjectId`), general knowledge.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2756",
        name: "aks-member-group",
        severity: Severity::Warning,
        summary: "a group of a team is not the object ID of an Entra group",
        checks: "Whether each group in `members` is the object ID of an Entra group if the cluster has `entra`.",
        reason: "With Entra ID, AKS knows the groups of a user by their object IDs. A RoleBinding for another name gives no one
access.",
        remedy: "Write the ID that `az ad group show --group NAME --query id` prints.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {azure: {subscription: "00000000-1111-2222-3333-444444444444", resourceGroup: demo, location: eastus, cluster: {create: {nodeImageChannel: securityPatch, entra: {adminGroups: ["11111111-2222-3333-4444-555555555555"]}}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: system, machine: Standard_D4s_v5, nodes: {count: 2}}
teams: [{name: research, members: [{group: research@acme.dev}]}]
"#,
        correction: Correction::Replace("research@acme.dev", r#""66666666-7777-8888-9999-000000000000""#),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let Some(entra) = create_section(cluster).and_then(|create| create.entra.as_ref()) else {
        return;
    };
    let members = cluster.teams.iter().flat_map(|team| &team.settings.members);
    for group in members.filter_map(|member| member.group.as_ref()) {
        if !is_subscription_id(group) {
            report
                .diagnostic(
                    &RULE.code,
                    group.span,
                    format!("the group `{group}` is not an object ID of Entra"),
                )
                .label(entra.span, "users log in with Entra ID")
                .help("write an object ID such as `66666666-7777-8888-9999-000000000000`")
                .emit();
        }
    }
}
