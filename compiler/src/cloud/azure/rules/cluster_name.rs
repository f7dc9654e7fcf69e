//! A name that no AKS cluster can have.

use gpuc_schema::config::AzureCluster;

use super::super::{FACTS, section};
use crate::check::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// A name that no AKS cluster can have.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2727",
        name: "aks-cluster-name",
        severity: Severity::Error,
        summary: "no AKS cluster can be called so",
        explain: "### What it checks

Whether the name of a cluster that is there already can be one: 1 to 63 letters, digits, `-` and
`_`, with a letter or digit at both ends.

### Why it matters

Every script would ask for a cluster that cannot exist.

### What to do

Write the name that `az aks list` shows.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {azure: {subscription: "00000000-1111-2222-3333-444444444444", resourceGroup: demo, location: eastus, cluster: {existing: {name: "ml prod"}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: Standard_NC24ads_A100_v4
    nodes: {count: 1}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {azure: {subscription: "00000000-1111-2222-3333-444444444444", resourceGroup: demo, location: eastus, cluster: {existing: {name: ml_prod}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: Standard_NC24ads_A100_v4
    nodes: {count: 1}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let AzureCluster::Existing(existing) = &section(&cluster.written).cluster.value else {
        return;
    };
    let rule = &FACTS.cluster_name;
    let Some(name) = &existing.name else {
        return;
    };
    if name.chars().count() > rule.max || !(rule.allows)(name) {
        report
            .draft(
                &RULE.code,
                name.span,
                format!("no AKS cluster can be called `{name}`"),
            )
            .help(format!("it may have at most {} {}", rule.max, rule.words))
            .emit();
    }
}
