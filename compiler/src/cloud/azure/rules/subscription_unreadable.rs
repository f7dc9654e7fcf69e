//! A subscription that is not an id.

use super::super::section;
use crate::check::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// A subscription that is not an id.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2701",
        name: "aks-subscription-unreadable",
        severity: Severity::Error,
        summary: "the subscription is not an id",
        explain: "### What it checks

Whether `cloud.azure.subscription` is a subscription id: 32 hexadecimal digits in five groups.

### Why it matters

Every command names the subscription, and every script first compares it with the one that `az`
answers with. Azure answers with the id, so a display name would never be the same.

### What to do

Write the id; `az account list --output table` shows it.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {azure: {subscription: "ml-production", resourceGroup: demo, location: eastus, cluster: {create: {}}}}
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
cloud: {azure: {subscription: "00000000-1111-2222-3333-444444444444", resourceGroup: demo, location: eastus, cluster: {create: {}}}}
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
    let subscription = &section(&cluster.written).subscription;
    if is_id(subscription) {
        return;
    }
    let message = format!("`{subscription}` is not a subscription id");
    report
        .draft(&RULE.code, subscription.span, message)
        .help("write the id that `az account show --query id` prints")
        .emit();
}

/// Whether this is a GUID as Azure writes it.
pub(super) fn is_id(text: &str) -> bool {
    let lengths: Vec<_> = text.split('-').map(str::len).collect();
    lengths == [8, 4, 4, 4, 12] && text.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-')
}
