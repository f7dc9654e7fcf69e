//! The identity of nodes, the outbound type, and the encryption of Secrets and disks.

use gpuc_model::Cluster;
use gpuc_model::plan::{Change, Field, FieldKind};
use gpuc_schema::Span;
use gpuc_schema::config::AzureCreate;
use gpuc_syntax::node::{DerivationReason, Origin};
use serde_json::{Value, json};

use super::{az_command, section};

const UPDATE: &str = "azure-cli 2.91.0, az aks update";

/// Azure answers with the identity in letters of either case.
pub(super) const KUBELET_IDENTITY: FieldKind = FieldKind {
    name: "identity of nodes",
    read: r#".identityProfile.kubeletidentity.resourceId // "" | ascii_downcase"#,
    create_flag: Some("--assign-kubelet-identity"),
    change: Change::NodeRollout {
        reason: "AKS recreates the nodes of all pools",
    },
    source: UPDATE,
};

pub(super) const OUTBOUND: FieldKind = FieldKind {
    name: "outbound type",
    read: r#".networkProfile.outboundType // "loadBalancer""#,
    create_flag: Some("--outbound-type"),
    change: Change::InPlace,
    source: UPDATE,
};

pub(super) const SECRETS_KEY: FieldKind = FieldKind {
    name: "key of Secrets",
    read: ".securityProfile.azureKeyVaultKms // {} | if .enabled then .keyId else null end",
    create_flag: Some("--azure-keyvault-kms-key-id"),
    change: Change::InPlace,
    source: UPDATE,
};

/// Azure answers with the ID in letters of either case.
pub(super) const DISK_ENCRYPTION: FieldKind = FieldKind {
    name: "disk encryption set",
    read: r#".diskEncryptionSetId // "" | ascii_downcase"#,
    create_flag: Some("--node-osdisk-diskencryptionset-id"),
    change: Change::Replacement {
        reason: "the disk encryption set of a cluster cannot be changed after creation",
    },
    source: "azure-cli 2.91.0: az aks update has no --node-osdisk-diskencryptionset-id",
};

/// A field that the file sets.
struct Setting {
    kind: &'static FieldKind,
    desired: Value,
    span: Span,
    /// The flags of `az aks create`.
    create: Vec<String>,
    /// The flags of `az aks update`; empty if it cannot set the field.
    update: Vec<String>,
}

/// The settings in the file. The others stay as they are in the cluster.
fn settings(create: &AzureCreate) -> Vec<Setting> {
    let mut settings = Vec::new();
    let flags = |flags: &[&str]| {
        flags
            .iter()
            .map(|&flag| flag.to_owned())
            .collect::<Vec<_>>()
    };
    if let Some(identity) = &create.kubelet_identity {
        let flag = ["--assign-kubelet-identity", identity];
        settings.push(Setting {
            kind: &KUBELET_IDENTITY,
            desired: json!(identity.to_ascii_lowercase()),
            span: identity.span,
            create: flags(&flag),
            // Without --yes, az asks for confirmation. With --enable-managed-identity, it would replace the identity of
            // the control plane.
            update: flags(&[&flag[..], &["--yes"]].concat()),
        });
    }
    if let Some(outbound) = create.outbound {
        let name = outbound.value.as_str();
        let flag = flags(&["--outbound-type", name]);
        settings.push(Setting {
            kind: &OUTBOUND,
            desired: json!(name),
            span: outbound.span,
            create: flag.clone(),
            update: flag,
        });
    }
    if let Some(key) = &create.secrets_key {
        let flag = flags(&[
            "--enable-azure-keyvault-kms",
            "--azure-keyvault-kms-key-id",
            key,
            // az requires it (azure-cli 2.91.0), although its help has a default.
            "--azure-keyvault-kms-key-vault-network-access",
            "Public",
        ]);
        settings.push(Setting {
            kind: &SECRETS_KEY,
            desired: json!(key.value),
            span: key.span,
            create: flag.clone(),
            update: flag,
        });
    }
    if let Some(set) = &create.disk_encryption_set {
        settings.push(Setting {
            kind: &DISK_ENCRYPTION,
            desired: json!(set.to_ascii_lowercase()),
            span: set.span,
            create: flags(&["--node-osdisk-diskencryptionset-id", set]),
            update: Vec::new(),
        });
    }
    settings
}

/// The fields that the file sets.
pub(super) fn fields(cluster: &Cluster, create: &AzureCreate) -> Vec<Field> {
    let section = section(&cluster.config).cluster.span;
    let command = az_command(&cluster.config, &["aks", "update"])
        .with_arguments(["--name", &cluster.name])
        .with_arguments(["--output", "none"]);
    let settings = settings(create).into_iter();
    settings
        .map(|setting| Field {
            kind: setting.kind,
            desired: setting.desired,
            update: (!setting.update.is_empty())
                .then(|| command.clone().with_arguments(setting.update))
                .into_iter()
                .collect(),
            lookup: None,
            is_set_after_creation: false,
            external_entries: None,
            origin: Origin::derived([section, setting.span], DerivationReason::Written),
        })
        .collect()
}

/// The flags that set the fields at creation.
pub(super) fn create_flags(create: &AzureCreate) -> Vec<String> {
    let settings = settings(create).into_iter();
    settings.flat_map(|setting| setting.create).collect()
}
