//! The role, the addresses of Services, the logs and the encryption of Secrets of an EKS control plane.

use std::collections::BTreeSet;

use gpuc_model::plan::{Change, Command, Field, FieldKind};
use gpuc_schema::Span;
use gpuc_schema::config::{AwsCreate, AwsLog, AwsNatGateways, AwsVersionSupport};
use gpuc_syntax::node::{DerivationReason, Origin};
use serde_json::{Value, json};

use super::commands::{Target, aws};
use super::mapping::Mapping;

const EKS_API: &str = "botocore 1.43.11, eks UpdateClusterConfig, 2026-11-29";

pub(super) const ROLE: FieldKind = FieldKind {
    name: "IAM role",
    read: ".cluster.roleArn",
    create_flag: None,
    change: Change::Replacement {
        reason: "the IAM role of an EKS cluster is immutable",
    },
    source: EKS_API,
};

pub(super) const SERVICE_CIDR: FieldKind = FieldKind {
    name: "range of Services",
    read: r#".cluster.kubernetesNetworkConfig.serviceIpv4Cidr // """#,
    create_flag: None,
    change: Change::Replacement {
        reason: "the addresses of Services cannot be changed after creation",
    },
    source: EKS_API,
};

pub(super) const NAT_GATEWAYS: FieldKind = FieldKind {
    name: "NAT gateways",
    read: "null",
    create_flag: None,
    change: Change::AtCreation {
        reason: "eksctl creates the NAT gateways of a VPC only once; add others in the VPC",
    },
    source: "eksctl-io/eksctl:userdocs/src/usage/vpc-configuration.md @99984adb, 2026-08-21",
};

pub(super) const LOGS: FieldKind = FieldKind {
    name: "logs of the control plane",
    read: "[.cluster.logging.clusterLogging[]? | select(.enabled) | .types[]] | sort",
    create_flag: None,
    change: Change::InPlace,
    source: EKS_API,
};

pub(super) const DELETION_PROTECTION: FieldKind = FieldKind {
    name: "deletion protection",
    read: ".cluster.deletionProtection // false",
    create_flag: None,
    change: Change::InPlace,
    source: EKS_API,
};

pub(super) const VERSION_SUPPORT: FieldKind = FieldKind {
    name: "support of versions",
    read: r#".cluster.upgradePolicy.supportType // "EXTENDED""#,
    create_flag: None,
    change: Change::InPlace,
    source: EKS_API,
};

pub(super) const SECRETS_KEY: FieldKind = FieldKind {
    name: "key of Secrets",
    read: r#"[.cluster.encryptionConfig[]? | select(.resources | index("secrets")) | .provider.keyArn][0]"#,
    create_flag: None,
    change: Change::Replacement {
        reason: "EKS cannot change the key of a cluster; to a cluster without one, add it by hand with aws eks \
                 associate-encryption-config",
    },
    source: "botocore 1.43.11, eks AssociateEncryptionConfig, 2026-11-29; eksctl-io/eksctl:userdocs/src/usage/kms-encryption.md \
             @99984adb, 2026-08-21",
};

/// The fields that the file sets. The others stay as they are in the cluster.
pub(super) fn fields(create: &AwsCreate, target: &Target) -> Vec<Field> {
    let mut fields = Vec::new();
    if let Some(role) = &create.role {
        fields.push(field(&ROLE, json!(role.value), Vec::new(), role.span));
    }
    if let Some(range) = &create.service_cidr {
        let desired = json!(range.value);
        fields.push(field(&SERVICE_CIDR, desired, Vec::new(), range.span));
    }
    if let Some(gateways) = create.nat_gateways {
        let desired = json!(nat_name(gateways.value));
        fields.push(field(&NAT_GATEWAYS, desired, Vec::new(), gateways.span));
    }
    if let Some(key) = &create.secrets_key {
        let desired = json!(key.value);
        fields.push(field(&SECRETS_KEY, desired, Vec::new(), key.span));
    }
    if let Some(written) = &create.control_plane_logs {
        let span = written.first().map_or(Span::NONE, |log| log.span);
        let enabled = log_names(create);
        let all: BTreeSet<_> = AwsLog::ALL.into_iter().map(AwsLog::as_str).collect();
        let disabled: BTreeSet<_> = all.difference(&enabled).copied().collect();
        let update = target.update_logging(&enabled, &disabled);
        fields.push(field(&LOGS, json!(enabled), update, span));
    }
    if let Some(protection) = create.deletion_protection {
        let flag = if protection.value {
            "--deletion-protection"
        } else {
            "--no-deletion-protection"
        };
        let update = target.update_cluster(&[flag]);
        let desired = json!(protection.value);
        let field = field(&DELETION_PROTECTION, desired, update, protection.span);
        fields.push(Field {
            // eksctl's file has no key for it.
            is_set_after_creation: true,
            ..field
        });
    }
    if let Some(support) = create.version_support {
        let name = support_name(support.value);
        let update = target.update_cluster(&["--upgrade-policy", &format!("supportType={name}")]);
        fields.push(field(&VERSION_SUPPORT, json!(name), update, support.span));
    }
    fields
}

fn field(kind: &'static FieldKind, desired: Value, update: Vec<Command>, span: Span) -> Field {
    Field {
        kind,
        desired,
        update,
        lookup: None,
        is_set_after_creation: false,
        external_entries: None,
        origin: Origin::derived([span], DerivationReason::Written),
    }
}

fn log_names(create: &AwsCreate) -> BTreeSet<&'static str> {
    let logs = create.control_plane_logs.iter().flatten();
    logs.map(|log| log.value.as_str()).collect()
}

/// The name of EKS and eksctl for the support of versions.
fn support_name(support: AwsVersionSupport) -> &'static str {
    match support {
        AwsVersionSupport::Standard => "STANDARD",
        AwsVersionSupport::Extended => "EXTENDED",
    }
}

/// The name of eksctl for the NAT gateways of a VPC.
fn nat_name(gateways: AwsNatGateways) -> &'static str {
    match gateways {
        AwsNatGateways::Single => "Single",
        AwsNatGateways::PerZone => "HighlyAvailable",
    }
}

/// Adds the settings to eksctl's file.
pub(super) fn add_to_config(mut config: Mapping, create: &AwsCreate) -> Mapping {
    let written = |span| Origin::derived([span], DerivationReason::Written);
    if let Some(range) = &create.service_cidr {
        let network = json!({"serviceIPv4CIDR": range.value});
        config = config.with_value("kubernetesNetworkConfig", &network, written(range.span));
    }
    if let Some(first) = create.control_plane_logs.iter().flatten().next() {
        let logging = json!({"clusterLogging": {"enableTypes": log_names(create)}});
        config = config.with_value("cloudWatch", &logging, written(first.span));
    }
    if let Some(key) = &create.secrets_key {
        let encryption = json!({"keyARN": key.value});
        config = config.with_value("secretsEncryption", &encryption, written(key.span));
    }
    if let Some(support) = create.version_support {
        let policy = json!({"supportType": support_name(support.value)});
        config = config.with_value("upgradePolicy", &policy, written(support.span));
    }
    config
}

/// Adds the NAT gateways to the network in eksctl's file.
pub(super) fn add_nat_gateways(network: Mapping, create: &AwsCreate) -> Mapping {
    let Some(gateways) = create.nat_gateways else {
        return network;
    };
    let nat = json!({"gateway": nat_name(gateways.value)});
    let origin = Origin::derived([gateways.span], DerivationReason::Written);
    network.with_value("nat", &nat, origin)
}

impl Target {
    /// Enables and disables logs of the control plane, and waits for completion.
    fn update_logging(&self, enabled: &BTreeSet<&str>, disabled: &BTreeSet<&str>) -> Vec<Command> {
        let setups = [(enabled, true), (disabled, false)].into_iter();
        let setups: Vec<_> = setups
            .filter(|(types, _)| !types.is_empty())
            .map(|(types, is_enabled)| json!({"types": types, "enabled": is_enabled}))
            .collect();
        let logging = json!({"clusterLogging": setups}).to_string();
        self.update_cluster(&["--logging", &logging])
    }

    /// Updates the cluster with these flags, and waits for completion.
    fn update_cluster(&self, flags: &[&str]) -> Vec<Command> {
        let command = aws(["eks", "update-cluster-config"], &self.region)
            .with_arguments(["--name", &self.cluster])
            .with_arguments(flags.iter().copied());
        vec![command, self.await_update(&[])]
    }
}
