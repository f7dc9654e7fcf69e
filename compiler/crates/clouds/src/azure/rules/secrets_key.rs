//! An invalid key of Secrets.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::super::create_section;

/// Source: learn.microsoft.com/azure/key-vault/general/about-keys-secrets-certificates ("Object identifiers"), general
/// knowledge.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2760",
        name: "aks-secrets-key",
        severity: Severity::Error,
        summary: "the key that encrypts Secrets is invalid",
        checks: "Whether `secretsKey` is the identifier of a Key Vault key, with its version.",
        reason: "AKS does not rotate the key by itself, and refuses an identifier without a version.",
        remedy: "Write the identifier that `az keyvault key show --query key.kid` prints.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {azure: {subscription: "00000000-1111-2222-3333-444444444444", resourceGroup: demo, location: eastus, cluster: {create: {nodeImageChannel: securityPatch, identity: /subscriptions/00000000-1111-2222-3333-444444444444/resourceGroups/demo/providers/Microsoft.ManagedIdentity/userAssignedIdentities/aks, secretsKey: "https://acme.vault.azure.net/keys/aks"}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: system, machine: Standard_D4s_v5, nodes: {count: 2}}
"#,
        correction: Correction::Replace("/keys/aks", "/keys/aks/0123456789abcdef0123456789abcdef"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let create = create_section(cluster);
    let Some(key) = create.and_then(|create| create.secrets_key.as_ref()) else {
        return;
    };
    if !is_key(key) {
        report
            .diagnostic(
                &RULE.code,
                key.span,
                format!("`{key}` is not the identifier of a Key Vault key"),
            )
            .help(
                "write an identifier with a version: https://NAME.vault.azure.net/keys/KEY/VERSION",
            )
            .emit();
    }
}

/// Whether `text` is `https://VAULT/keys/KEY/VERSION`. The domain of a vault depends on the cloud.
fn is_key(text: &str) -> bool {
    let parts: Vec<_> = text.split('/').collect();
    let ["https:", "", vault, "keys", key, version] = parts[..] else {
        return false;
    };
    let is_name = |text: &str| {
        !text.is_empty()
            && text
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    vault.contains(".vault.") && vault.split('.').all(is_name) && is_name(key) && is_name(version)
}

#[cfg(test)]
mod tests {
    use super::is_key;

    #[test]
    fn identifiers_of_keys() {
        assert!(is_key(
            "https://acme.vault.azure.net/keys/aks/0123456789abcdef0123456789abcdef"
        ));
        assert!(is_key("https://acme.vault.azure.cn/keys/aks/1"));
        for text in [
            "aks",
            "https://acme.vault.azure.net/keys/aks",
            "https://acme.vault.azure.net/keys/aks/",
            "https://acme.vault.azure.net/secrets/aks/1",
            "http://acme.vault.azure.net/keys/aks/1",
            "https://acme.vault.azure.net/keys/a b/1",
        ] {
            assert!(!is_key(text), "{text}");
        }
    }
}
