//! Invalid subscription ID.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::super::section;

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2701",
        name: "aks-subscription-unreadable",
        severity: Severity::Error,
        summary: "the subscription is not a subscription ID",
        checks: "Whether `cloud.azure.subscription` is a subscription ID: 32 hexadecimal digits in five groups.",
        reason: "Every command names the subscription. Every script first compares it with the ID that `az` returns,
so a display name never matches.",
        remedy: "Write the subscription ID; `az account list --output table` shows it.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {azure: {subscription: "ml-production", resourceGroup: demo, location: eastus, cluster: {create: {nodeImageChannel: securityPatch}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: system
    machine: Standard_D4s_v5
    nodes: {count: 2}
  - name: gpu
    machine: Standard_NC24ads_A100_v4
    nodes: {count: 1}
"#,
        correction: Correction::Replace(r#""ml-production""#, r#""00000000-1111-2222-3333-444444444444""#),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let subscription = &section(&cluster.config).subscription;
    if is_subscription_id(subscription) {
        return;
    }
    let message = format!("`{subscription}` is not a subscription ID");
    report
        .diagnostic(&RULE.code, subscription.span, message)
        .help("write the ID that `az account show --query id` prints")
        .emit();
}

/// Whether `text` is a GUID in the form that Azure uses.
pub(super) fn is_subscription_id(text: &str) -> bool {
    let lengths: Vec<_> = text.split('-').map(str::len).collect();
    lengths == [8, 4, 4, 4, 12] && text.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-')
}
