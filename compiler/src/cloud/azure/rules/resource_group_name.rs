//! A name that no resource group can have.

use super::super::section;
use crate::check::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// A name that no resource group can have.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2702",
        name: "aks-resource-group-name",
        severity: Severity::Error,
        summary: "no resource group can be called so",
        explain: "### What it checks

Whether the resource group's name has at most 90 letters, digits and `_-.()`, does not start with
`-` and does not end with a full stop.

### Why it matters

Azure refuses other names when the first script has already begun, and `az` takes a leading `-` for
a flag.

### What to do

Choose another name.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {azure: {subscription: "00000000-1111-2222-3333-444444444444", resourceGroup: "ml prod", location: eastus, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: system
    machine: Standard_D4s_v5
    nodes: {count: 2}
  - name: gpu
    machine: Standard_NC24ads_A100_v4
    nodes: {count: 1}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {azure: {subscription: "00000000-1111-2222-3333-444444444444", resourceGroup: ml-prod, location: eastus, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: system
    machine: Standard_D4s_v5
    nodes: {count: 2}
  - name: gpu
    machine: Standard_NC24ads_A100_v4
    nodes: {count: 1}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let group = &section(&cluster.written).resource_group;
    if is_name(group) {
        return;
    }
    let message = format!("no resource group can be called `{group}`");
    report
        .draft(&RULE.code, group.span, message)
        .help("use at most 90 letters, digits and `_-.()`; not `-` first, not `.` last")
        .emit();
}

/// Source: learn.microsoft.com/azure/azure-resource-manager/management/resource-name-rules, 2026-11-21.
fn is_name(name: &str) -> bool {
    (1..=90).contains(&name.chars().count())
        && !name.starts_with('-')
        && !name.ends_with('.')
        && (name.chars()).all(|c| c.is_alphanumeric() || "_-.()".contains(c))
}
