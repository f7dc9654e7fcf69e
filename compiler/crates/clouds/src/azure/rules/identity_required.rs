//! Settings that require an identity of the control plane.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::super::create_section;

/// Sources: azure-cli 2.91.0, `acs/managed_cluster_decorator.py` (`--assign-kubelet-identity` requires
/// `--assign-identity`); learn.microsoft.com/azure/aks/use-kms-etcd-encryption (the identity needs a role on the key
/// before the cluster exists), general knowledge.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2759",
        name: "aks-identity-required",
        severity: Severity::Error,
        summary: "a setting requires an identity of the control plane",
        checks: "Whether `identity` is set together with `kubeletIdentity` and `secretsKey`.",
        reason: "The control plane uses the identity of nodes and the key of Secrets with its own identity, which must have roles
on them before AKS creates the cluster. An identity that AKS creates has none.",
        remedy: "Create a user-assigned managed identity, give it the role Managed Identity Operator on the identity of the nodes,
or Key Vault Crypto User on the key, and set `identity` to its ID.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {azure: {subscription: "00000000-1111-2222-3333-444444444444", resourceGroup: demo, location: eastus, cluster: {create: {nodeImageChannel: securityPatch, secretsKey: "https://acme.vault.azure.net/keys/aks/0123456789abcdef0123456789abcdef"}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: system, machine: Standard_D4s_v5, nodes: {count: 2}}
"#,
        correction: Correction::Replace(
            "{nodeImageChannel",
            "{identity: /subscriptions/00000000-1111-2222-3333-444444444444/resourceGroups/demo/providers/Microsoft.ManagedIdentity/userAssignedIdentities/aks, nodeImageChannel",
        ),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let Some(create) = create_section(cluster) else {
        return;
    };
    if create.identity.is_some() {
        return;
    }
    let keys = [
        ("kubeletIdentity", &create.kubelet_identity),
        ("secretsKey", &create.secrets_key),
    ];
    for (key, written) in keys {
        let Some(written) = written else { continue };
        report
            .diagnostic(
                &RULE.code,
                written.span,
                format!("`{key}` requires `identity`"),
            )
            .help("set `identity` to the ID of a managed identity with a role on it, which `az identity show` prints")
            .emit();
    }
}
