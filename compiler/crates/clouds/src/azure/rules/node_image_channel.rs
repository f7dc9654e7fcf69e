//! Weekly replacement of GPU nodes at any time.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_schema::config::AzureNodeImageChannel;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use crate::azure::{create_section, section};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2734",
        name: "aks-weekly-node-images",
        severity: Severity::Warning,
        summary: "AKS reimages nodes with GPUs every week, at any time",
        checks: "Whether an AKS cluster with GPUs has a maintenance window or an explicit `nodeImageChannel`.",
        reason: "By default, AKS installs a new node image every week: it drains and reimages every node, which
interrupts training jobs. During the upgrade, a pool needs quota for its extra nodes.",
        remedy: "Set `maintenance` to a time at which jobs may end. Alternatively, set `nodeImageChannel`:
`securityPatch` rarely needs new nodes, and `nodeImage` keeps the default on purpose.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {azure: {subscription: "00000000-1111-2222-3333-444444444444", resourceGroup: demo, location: eastus, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: system, machine: Standard_D4s_v5, nodes: {count: 2}}
  - {name: gpu, machine: Standard_NC24ads_A100_v4, nodes: {count: 2}}
"#,
        correction: Correction::Replace(
            "create: {}",
            "create: {maintenance: {days: [sunday], start: \"02:00\", hours: 6}}",
        ),
    },
    run,
};

/// Source: MicrosoftDocs/azure-aks-docs@fb060abe articles/aks/auto-upgrade-node-os-image.md, 2026-08-21.
fn run(cluster: &Cluster, report: &mut Report) {
    let Some(create) = create_section(cluster) else {
        return;
    };
    let channel = create.node_image_channel;
    let has_gpus = cluster.gpu_pools().next().is_some();
    if !has_gpus
        || create.maintenance.is_some()
        || channel.span.is_written()
        || channel.value != AzureNodeImageChannel::NodeImage
    {
        return;
    }
    report
        .diagnostic(
            &RULE.code,
            section(&cluster.config).cluster.span,
            "AKS reimages the nodes with GPUs every week, at any time",
        )
        .help(
            "set `maintenance` under `create`, such as `maintenance: {days: [sunday], start: \"02:00\", hours: 6}`, or \
             set `nodeImageChannel`",
        )
        .emit();
}
