//! The fields of an AKS cluster.

use gpuc_model::plan::{Change, FieldKind};

use super::{access, address_ranges, blob, control_plane};

const UPDATE: &str = "azure-cli 2.91.0, az aks update";

/// All fields.
pub(super) static FIELDS: &[FieldKind] = &[
    LOCATION,
    NETWORK,
    address_ranges::POD_CIDR,
    address_ranges::SERVICE_CIDR,
    IDENTITY,
    control_plane::DISK_ENCRYPTION,
    control_plane::OUTBOUND,
    control_plane::SECRETS_KEY,
    control_plane::KUBELET_IDENTITY,
    POLICIES,
    PRIVATE_CLUSTER,
    access::RANGES,
    access::PRIVATE_DNS,
    access::PUBLIC_FQDN,
    access::ENTRA,
    access::ADMINS,
    access::TENANT,
    access::AZURE_RBAC,
    access::LOCAL_ACCOUNTS,
    VERSION,
    TIER,
    ISSUER,
    WORKLOAD_IDENTITY,
    blob::BLOB_DRIVER,
    UPGRADES,
    NODE_IMAGES,
    TAGS,
];

pub(super) const LOCATION: FieldKind = FieldKind {
    name: "location",
    read: r#".location | ascii_downcase | gsub(" "; "")"#,
    create_flag: Some("--location"),
    change: Change::Replacement {
        reason: "the location of a cluster cannot be changed after creation",
    },
    source: "learn.microsoft.com/azure/aks, 2026-11-21",
};
pub(super) const NETWORK: FieldKind = FieldKind {
    name: "network",
    read: r#".networkProfile | [.networkPlugin, .networkPluginMode] | map((. // "") | ascii_downcase)"#,
    create_flag: Some("--network-plugin"),
    change: Change::Replacement {
        reason: "another network plugin would reimage every node of every pool; migrate the cluster by hand",
    },
    source: UPDATE,
};
/// Azure answers with the identity in letters of either case.
pub(super) const IDENTITY: FieldKind = FieldKind {
    name: "identity",
    read: r#".identity.userAssignedIdentities // {} | keys | map(ascii_downcase) | join(", ")"#,
    create_flag: Some("--assign-identity"),
    change: Change::InPlace,
    source: "azure-cli 2.91.0, acs/managed_cluster_decorator.py, `update_identity`",
};
/// Calico, because Microsoft is retiring its own engine and Cilium would require another network plugin.
pub(super) const POLICIES: FieldKind = FieldKind {
    name: "network policies",
    read: r#".networkProfile.networkPolicy // "none" | IN("azure", "calico", "cilium")"#,
    create_flag: Some("--network-policy"),
    change: Change::NodeRollout {
        reason: "AKS reimages every node of every pool to enforce network policies",
    },
    source: "azure-cli 2.91.0, az aks update; learn.microsoft.com/azure/aks/use-network-policies, 2026-11-22",
};
pub(super) const PRIVATE_CLUSTER: FieldKind = FieldKind {
    name: "private API server",
    read: ".apiServerAccessProfile.enablePrivateCluster // false",
    create_flag: Some("--enable-private-cluster"),
    change: Change::Replacement {
        reason: "private access to the API server cannot be changed after creation, unless the API server is in the \
                 cluster's own network",
    },
    source: UPDATE,
};
pub(super) const VERSION: FieldKind = FieldKind {
    name: "Kubernetes version",
    read: r#".kubernetesVersion | split(".")[:2] | join(".") | if (split(".")[1] | tonumber) > ($want | split(".")[1] | tonumber) then $want else . end"#,
    create_flag: Some("--kubernetes-version"),
    change: Change::MinorVersionSteps {
        reason: "AKS upgrades a control plane by one minor version at a time, unless its version is no longer \
                 supported",
        downgrade_effect: "AKS cannot downgrade a control plane",
    },
    source: "azure-cli 2.91.0, az aks upgrade --control-plane-only; MicrosoftDocs/azure-aks-docs \
             articles/aks/supported-kubernetes-versions.md (\"Can I skip multiple AKS versions during cluster \
             upgrade?\"), read 2026-11-22",
};
pub(super) const TIER: FieldKind = FieldKind {
    name: "tier",
    read: r#"[(.sku.tier // "Free" | ascii_downcase), .supportPlan // "KubernetesOfficial"]"#,
    create_flag: Some("--tier"),
    change: Change::InPlace,
    source: UPDATE,
};
pub(super) const ISSUER: FieldKind = FieldKind {
    name: "OIDC issuer",
    read: ".oidcIssuerProfile.enabled // false",
    create_flag: Some("--enable-oidc-issuer"),
    change: Change::InPlace,
    source: UPDATE,
};
pub(super) const WORKLOAD_IDENTITY: FieldKind = FieldKind {
    name: "workload identity",
    read: ".securityProfile.workloadIdentity.enabled // false",
    create_flag: Some("--enable-workload-identity"),
    change: Change::InPlace,
    source: UPDATE,
};
pub(super) const UPGRADES: FieldKind = FieldKind {
    name: "automatic upgrades",
    read: r#".autoUpgradeProfile.upgradeChannel // "none""#,
    create_flag: Some("--auto-upgrade-channel"),
    change: Change::InPlace,
    source: UPDATE,
};
pub(super) const NODE_IMAGES: FieldKind = FieldKind {
    name: "automatic node image upgrades",
    read: r#".autoUpgradeProfile.nodeOsUpgradeChannel // "NodeImage""#,
    create_flag: Some("--node-os-upgrade-channel"),
    change: Change::InPlace,
    source: UPDATE,
};
pub(super) const TAGS: FieldKind = FieldKind {
    name: "tags",
    read: "our_tags_spelled",
    create_flag: Some("--tags"),
    change: Change::InPlace,
    source: "MicrosoftDocs/azure-aks-docs articles/aks/use-tags.md@fb060abe",
};
