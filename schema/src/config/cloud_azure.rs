//! `cloud.azure`: Azure Kubernetes Service.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::cloud::yes;
use super::{AzureEntra, AzureOutbound, ExistingCluster, Maintenance, TextMap};
use crate::Spanned;

/// Azure Kubernetes Service. Scripts use `az`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Azure {
    /// The subscription ID. Every command names it, and every script first checks that the subscription is accessible.
    #[schemars(extend("examples" = ["00000000-1111-2222-3333-444444444444"]))]
    pub subscription: Spanned<String>,
    /// The resource group of the cluster.
    #[schemars(extend("examples" = ["ml-prod"]))]
    pub resource_group: Spanned<String>,
    /// The region.
    #[schemars(extend("examples" = ["eastus", "westeurope"]))]
    pub location: Spanned<String>,
    /// The cluster: created by gpuc, or existing.
    pub cluster: Spanned<AzureCluster>,
    /// Tags on the resources that gpuc creates.
    #[serde(default, skip_serializing_if = "TextMap::is_empty")]
    pub tags: TextMap,
}

/// An AKS cluster.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[expect(
    clippy::large_enum_variant,
    reason = "a configuration has one of these"
)]
#[serde(rename_all = "camelCase")]
pub enum AzureCluster {
    /// gpuc's script creates the cluster, and its resource group if that does not exist.
    Create(AzureCreate),
    /// The cluster exists; gpuc adds node pools to it.
    Existing(ExistingCluster),
}

/// An AKS cluster to create.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AzureCreate {
    /// The pricing tier of the control plane.
    #[serde(default)]
    pub tier: Spanned<AzureTier>,
    /// The resource ID of the nodes' subnet. Default: a network that AKS creates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subnet: Option<Spanned<String>>,
    /// The range of the addresses of pods, of which each node gets 256. It must not overlap with networks that the
    /// cluster must reach, and cannot be changed after creation. Default: 10.244.0.0/16.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["10.244.0.0/16"]))]
    pub pod_cidr: Option<Spanned<String>>,
    /// The range of the addresses of Services. It must not overlap with networks that the cluster must reach, such as
    /// the network of `subnet`, and cannot be changed after creation. Default: 10.0.0.0/16.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["10.100.0.0/16"]))]
    pub service_cidr: Option<Spanned<String>>,
    /// The resource ID of the user-assigned managed identity of the control plane. Pools with a reservation require it,
    /// with the role Contributor on the resource group of the reservation. Default: an identity that AKS creates. If
    /// you remove this key, the cluster keeps the identity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<Spanned<String>>,
    /// The resource ID of the user-assigned managed identity of the nodes, with which they pull images. Requires
    /// `identity`, with the role Managed Identity Operator on it. Default: an identity that AKS creates. If you remove
    /// this key, the nodes keep the identity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kubelet_identity: Option<Spanned<String>>,
    /// How nodes reach the internet. Default: `loadBalancer`. If you remove this key, the cluster keeps its setting.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outbound: Option<Spanned<AzureOutbound>>,
    /// The identifier of the Key Vault key that encrypts the Secrets of the cluster, with its version. Requires
    /// `identity`, with the role Key Vault Crypto User on it. The cluster reaches the key vault from a public network.
    /// If you remove this key, the cluster keeps the encryption. Default: none, except for the encryption of all disks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["https://acme.vault.azure.net/keys/aks/0123456789abcdef0123456789abcdef"]))]
    pub secrets_key: Option<Spanned<String>>,
    /// The resource ID of the disk encryption set for the disks of nodes. Cannot be changed after creation. Default:
    /// keys that Azure manages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk_encryption_set: Option<Spanned<String>>,
    /// Whether the API server has only a private address.
    #[serde(default)]
    pub private_cluster: Spanned<bool>,
    /// The IPv4 ranges that can reach the public API server. They must contain the addresses from which you run the
    /// scripts. `0.0.0.0/32` alone allows only the cluster. Default: the whole internet. If you remove this key, the
    /// cluster keeps its ranges.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 1), extend("examples" = [["73.140.245.0/24"]]))]
    pub authorized_ip_ranges: Vec<Spanned<String>>,
    /// The private DNS zone of a private API server: `system`, a zone that AKS creates; `none`, only the public DNS
    /// name; or the resource ID of a zone, which requires `identity`. Default: `system`. Cannot be changed after
    /// creation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["none"]))]
    pub private_dns_zone: Option<Spanned<String>>,
    /// Whether a private API server has a DNS name in the public DNS as well, for its private address. Default: `true`.
    /// If you remove this key, the cluster keeps its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub public_fqdn: Option<Spanned<bool>>,
    /// Login with Microsoft Entra ID. Default: with local accounts only. AKS cannot disable Entra ID: if you remove
    /// this key, the cluster keeps it. kubectl needs `kubelogin`, also in the scripts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entra: Option<Spanned<AzureEntra>>,
    /// Whether the cluster has local accounts, which log in with certificates and not with Entra ID. Default: `true`.
    /// If you remove this key, the cluster keeps its accounts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub local_accounts: Option<Spanned<bool>>,
    /// Whether Kubernetes ServiceAccounts can act as Entra identities.
    #[serde(default = "yes")]
    pub workload_identity: Spanned<bool>,
    /// The Kubernetes versions that AKS upgrades the cluster to automatically.
    #[serde(default)]
    pub upgrade_channel: Spanned<AzureUpgradeChannel>,
    /// The operating system updates that AKS applies to nodes automatically.
    #[serde(default)]
    pub node_image_channel: Spanned<AzureNodeImageChannel>,
    /// When AKS may upgrade the cluster and its nodes automatically. Default: at any time. If you remove this key, the
    /// schedule remains in Azure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub maintenance: Option<Spanned<Maintenance>>,
}

/// The pricing tier of an AKS control plane.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum AzureTier {
    /// No uptime SLA.
    Free,
    /// An uptime SLA.
    #[default]
    Standard,
    /// An uptime SLA and long-term support.
    Premium,
}

/// The Kubernetes versions that AKS upgrades a cluster to automatically.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum AzureUpgradeChannel {
    /// None: only gpuc's scripts change the version.
    #[default]
    None,
    /// The newest patch of the minor version.
    Patch,
    /// The newest patch of the minor version before the newest one.
    Stable,
    /// The newest patch of the newest minor version.
    Rapid,
}

/// The operating system updates that AKS applies to nodes automatically.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum AzureNodeImageChannel {
    /// None.
    None,
    /// The updates that the distribution's own updater installs.
    Unmanaged,
    /// Tested security patches, in most cases without new nodes.
    SecurityPatch,
    /// New node images every week: AKS drains and reimages every node.
    #[default]
    NodeImage,
}
