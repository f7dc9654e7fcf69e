//! An invalid ID of Entra.

use std::collections::BTreeMap;

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_schema::Span;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::super::create_section;
use super::subscription_unreadable::is_subscription_id;

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2755",
        name: "aks-entra-id",
        severity: Severity::Error,
        summary: "an ID of an Entra group or tenant is invalid",
        checks: "Whether `entra.adminGroups` and `entra.tenant` are IDs such as 11111111-2222-3333-4444-555555555555, and
each group is listed once.",
        reason: "AKS identifies groups by their object IDs. A group with another name never matches, without an error.",
        remedy: "Write the ID that `az ad group show --group NAME --query id` prints, and for the tenant `az account show --query tenantId`.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {azure: {subscription: "00000000-1111-2222-3333-444444444444", resourceGroup: demo, location: eastus, cluster: {create: {nodeImageChannel: securityPatch, entra: {adminGroups: [platform]}}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: system, machine: Standard_D4s_v5, nodes: {count: 2}}
"#,
        correction: Correction::Replace("[platform]", r#"["11111111-2222-3333-4444-555555555555"]"#),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let Some(entra) = create_section(cluster).and_then(|create| create.entra.as_ref()) else {
        return;
    };
    for id in entra.admin_groups.iter().chain(&entra.tenant) {
        if !is_subscription_id(id) {
            report
                .diagnostic(&RULE.code, id.span, format!("invalid ID `{id}`"))
                .primary_label("must be an object ID or tenant ID of Entra")
                .help("write an ID such as `11111111-2222-3333-4444-555555555555`")
                .emit();
        }
    }
    let mut known: BTreeMap<String, Span> = BTreeMap::new();
    for group in &entra.admin_groups {
        if let Some(first) = known.insert(group.to_ascii_lowercase(), group.span) {
            report
                .diagnostic(&RULE.code, group.span, format!("duplicate group `{group}`"))
                .label(first, "the first one")
                .help("remove it")
                .emit();
        }
    }
}
