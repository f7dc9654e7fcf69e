//! A cluster without local accounts that has no administrators.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::super::create_section;

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2754",
        name: "aks-local-accounts",
        severity: Severity::Error,
        summary: "a cluster without local accounts has no administrators",
        checks: "Whether a cluster with `localAccounts: false` has `entra` with `adminGroups` or `azureRbac: true`.",
        reason: "Without local accounts, only identities of Entra ID log in. If neither a group nor a role in Azure makes them
administrators, `install.sh` and its user have no permissions in the cluster.",
        remedy: "Add `entra` with the group of the administrators, or remove `localAccounts`.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {azure: {subscription: "00000000-1111-2222-3333-444444444444", resourceGroup: demo, location: eastus, cluster: {create: {nodeImageChannel: securityPatch, localAccounts: false}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: system, machine: Standard_D4s_v5, nodes: {count: 2}}
"#,
        correction: Correction::Replace("localAccounts: false", r#"localAccounts: false, entra: {adminGroups: ["11111111-2222-3333-4444-555555555555"]}"#),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let Some(create) = create_section(cluster) else {
        return;
    };
    let Some(accounts) = create.local_accounts.filter(|accounts| !accounts.value) else {
        return;
    };
    let message = match &create.entra {
        None => "a cluster without local accounts requires Entra ID",
        Some(entra) if entra.admin_groups.is_empty() && !entra.azure_rbac.value => {
            "a cluster without local accounts has no administrators"
        }
        Some(_) => return,
    };
    report
        .diagnostic(&RULE.code, accounts.span, message)
        .help("write `true`, or add `adminGroups` to `entra` of the cluster")
        .emit();
}
