//! Access to the API server: the networks that can reach it, and the people who can log in.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{AwsCluster, AzureCluster, CloudSection, GcpCluster};
use crate::Spanned;

/// The networks that can reach the public endpoint of an API server.
#[derive(Clone, Copy, Debug)]
pub struct AuthorizedRanges<'a> {
    /// The name of the key in the file.
    pub key: &'static str,
    /// The ranges.
    pub ranges: &'a [Spanned<String>],
}

impl CloudSection {
    /// The networks that can reach the public endpoint of the API server, if the file lists them.
    pub fn authorized_ranges(&self) -> Option<AuthorizedRanges<'_>> {
        let (key, ranges) = match self {
            Self::Aws(aws) => match &aws.cluster.value {
                AwsCluster::Create(create) => ("publicAccessCidrs", &create.public_access_cidrs),
                AwsCluster::Existing(_) => return None,
            },
            Self::Azure(azure) => match &azure.cluster.value {
                AzureCluster::Create(create) => {
                    ("authorizedIpRanges", &create.authorized_ip_ranges)
                }
                AzureCluster::Existing(_) => return None,
            },
            Self::Gcp(gcp) => match &gcp.cluster.value {
                GcpCluster::Create(create) => ("authorizedNetworks", &create.authorized_networks),
                GcpCluster::Existing(_) => return None,
            },
            Self::OnPrem(_) | Self::Existing(_) => return None,
        };
        (!ranges.is_empty()).then_some(AuthorizedRanges { key, ranges })
    }
}

/// The networks that can reach an EKS cluster's API server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum AwsEndpoint {
    /// The internet; nodes also use the public endpoint.
    Public,
    /// Only the VPC.
    Private,
    /// The internet; nodes use the private endpoint inside the VPC.
    #[default]
    PublicAndPrivate,
}

impl AwsEndpoint {
    /// Whether the API server has a public endpoint.
    pub fn is_public(self) -> bool {
        self != Self::Private
    }
}

/// How an EKS cluster maps IAM principals to users of Kubernetes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum AwsAuthentication {
    /// By access entries only. A cluster cannot return from this mode.
    Api,
    /// By access entries, and by the ConfigMap `aws-auth` for principals without an entry.
    #[default]
    ApiAndConfigMap,
}

/// An access entry of EKS: an IAM principal who can log in, with its Kubernetes groups, its access policies or both.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AwsAccessEntry {
    /// The ARN of the IAM role or user.
    #[schemars(extend("examples" = ["arn:aws:iam::123456789012:role/research"]))]
    pub principal: Spanned<String>,
    /// The Kubernetes groups of the principal, such as the groups of `teams[].members`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("examples" = [["research@acme.dev"]]))]
    pub groups: Vec<Spanned<String>>,
    /// The name of the principal in Kubernetes, as in `teams[].members`. Default: a name that EKS derives from the ARN.
    /// If you remove this key, the entry keeps its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["ada@acme.dev"]))]
    pub user: Option<Spanned<String>>,
    /// The access policies of EKS for the principal. They apply in addition to the permissions of its groups.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub policies: Vec<Spanned<AwsAccessPolicy>>,
}

/// An access policy of EKS, for the whole cluster or for some namespaces.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AwsAccessPolicy {
    /// The policy.
    pub policy: Spanned<AwsPolicyName>,
    /// The namespaces that the policy applies to. Default: the whole cluster.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("examples" = [["research"]]))]
    pub namespaces: Vec<Spanned<String>>,
}

/// The name of an access policy of EKS for people.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "camelCase")]
pub enum AwsPolicyName {
    /// All permissions, as the Kubernetes role `cluster-admin`: `AmazonEKSClusterAdminPolicy`.
    ClusterAdmin,
    /// Most permissions, as the Kubernetes role `admin`: `AmazonEKSAdminPolicy`.
    Admin,
    /// Read access to everything, including Secrets: `AmazonEKSAdminViewPolicy`.
    AdminView,
    /// Read and write access to most resources, as the Kubernetes role `edit`: `AmazonEKSEditPolicy`.
    Edit,
    /// Read access to most resources, as the Kubernetes role `view`: `AmazonEKSViewPolicy`.
    View,
}

impl AwsPolicyName {
    /// All policies.
    ///
    /// Source: docs.aws.amazon.com/eks/latest/userguide/access-policy-permissions.html, 2026-11-28.
    pub const ALL: [Self; 5] = [
        Self::ClusterAdmin,
        Self::Admin,
        Self::AdminView,
        Self::Edit,
        Self::View,
    ];

    /// The name of the policy in EKS.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ClusterAdmin => "AmazonEKSClusterAdminPolicy",
            Self::Admin => "AmazonEKSAdminPolicy",
            Self::AdminView => "AmazonEKSAdminViewPolicy",
            Self::Edit => "AmazonEKSEditPolicy",
            Self::View => "AmazonEKSViewPolicy",
        }
    }
}

/// Login to an AKS cluster with Microsoft Entra ID.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AzureEntra {
    /// The object IDs of the Entra groups whose members are administrators of the cluster. The identity that runs the
    /// scripts must be in one of them, unless `azureRbac` gives it a role.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("examples" = [["11111111-2222-3333-4444-555555555555"]]))]
    pub admin_groups: Vec<Spanned<String>>,
    /// The ID of the Entra tenant. Default: the tenant of the subscription. If you remove this key, the cluster keeps
    /// the tenant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant: Option<Spanned<String>>,
    /// Whether role assignments in Azure also give permissions in the cluster.
    #[serde(default)]
    pub azure_rbac: Spanned<bool>,
}
