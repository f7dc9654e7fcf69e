//! Invalid resource group name.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::super::section;

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2702",
        name: "aks-resource-group-name",
        severity: Severity::Error,
        summary: "the resource group name is invalid",
        checks: "Whether the name of the resource group is valid: at most 90 letters, digits and `_-.()`, without a
leading `-` and without a trailing `.`.",
        reason: "Azure refuses other names, but only after the first script has started. `az` parses a leading `-` as
a flag.",
        remedy: "Choose another name that follows these rules.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {azure: {subscription: "00000000-1111-2222-3333-444444444444", resourceGroup: "ml prod", location: eastus, cluster: {create: {nodeImageChannel: securityPatch}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: system
    machine: Standard_D4s_v5
    nodes: {count: 2}
  - name: gpu
    machine: Standard_NC24ads_A100_v4
    nodes: {count: 1}
"#,
        correction: Correction::Replace(r#""ml prod""#, "ml-prod"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let group = &section(&cluster.config).resource_group;
    if is_resource_group_name(group) {
        return;
    }
    let message = format!("invalid resource group name `{group}`");
    report
        .diagnostic(&RULE.code, group.span, message)
        .help("use at most 90 letters, digits and `_-.()`, without a leading `-` or a trailing `.`")
        .emit();
}

/// Source: learn.microsoft.com/azure/azure-resource-manager/management/resource-name-rules, 2026-11-21.
fn is_resource_group_name(name: &str) -> bool {
    (1..=90).contains(&name.chars().count())
        && !name.starts_with('-')
        && !name.ends_with('.')
        && (name.chars()).all(|c| c.is_alphanumeric() || "_-.()".contains(c))
}
