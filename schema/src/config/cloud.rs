//! `cloud`: where the cluster runs, and what identifies it there.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Maintenance, TextMap};
use crate::Spanned;

/// Where the cluster runs.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum CloudSection {
    /// Amazon EKS.
    Aws(Aws),
    /// Google Kubernetes Engine.
    Gcp(Gcp),
    /// Azure Kubernetes Service.
    Azure(Azure),
    /// Machines of your own with a Kubernetes that already runs.
    OnPrem(OnPrem),
}

impl CloudSection {
    /// Whether gpuc makes the cluster.
    pub fn creates_cluster(&self) -> bool {
        match self {
            Self::Aws(aws) => matches!(aws.cluster.value, AwsCluster::Create(_)),
            Self::Gcp(gcp) => matches!(gcp.cluster.value, GcpCluster::Create(_)),
            Self::Azure(azure) => matches!(azure.cluster.value, AzureCluster::Create(_)),
            Self::OnPrem(_) => false,
        }
    }

    /// Tags on what gpuc creates, with the key they have here.
    pub fn tags(&self) -> Option<(&'static str, &TextMap)> {
        match self {
            Self::Aws(aws) => Some(("tags", &aws.tags)),
            Self::Gcp(gcp) => Some(("resourceLabels", &gcp.resource_labels)),
            Self::Azure(azure) => Some(("tags", &azure.tags)),
            Self::OnPrem(_) => None,
        }
    }

    /// The region or zone, where there is one.
    pub fn location(&self) -> Option<&Spanned<String>> {
        match self {
            Self::Aws(aws) => Some(&aws.region),
            Self::Gcp(gcp) => Some(&gcp.location),
            Self::Azure(azure) => Some(&azure.location),
            Self::OnPrem(_) => None,
        }
    }

    /// The name in the cloud of a cluster that is there already, where it is not `metadata.name`.
    pub fn existing_name(&self) -> Option<&Spanned<String>> {
        let name = match self {
            Self::Aws(aws) => match &aws.cluster.value {
                AwsCluster::Existing(existing) => &existing.name,
                AwsCluster::Create(_) => return None,
            },
            Self::Gcp(gcp) => match &gcp.cluster.value {
                GcpCluster::Existing(existing) => &existing.name,
                GcpCluster::Create(_) => return None,
            },
            Self::Azure(azure) => match &azure.cluster.value {
                AzureCluster::Existing(existing) => &existing.name,
                AzureCluster::Create(_) => return None,
            },
            Self::OnPrem(_) => return None,
        };
        name.as_ref()
    }
}

/// Amazon EKS. Scripts use `aws` and `eksctl`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Aws {
    /// The account's twelve digits, quoted. Every script checks first that it talks to this account.
    #[schemars(regex(pattern = r"^[0-9]{12}$"), extend("examples" = ["123456789012"]))]
    pub account: Spanned<String>,
    /// The region.
    #[schemars(extend("examples" = ["us-east-1", "eu-central-1"]))]
    pub region: Spanned<String>,
    /// The cluster: made by gpuc, or there already.
    pub cluster: Spanned<AwsCluster>,
    /// Tags on what gpuc creates.
    #[serde(default, skip_serializing_if = "TextMap::is_empty")]
    pub tags: TextMap,
}

/// An EKS cluster.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum AwsCluster {
    /// gpuc's script creates it.
    Create(AwsCreate),
    /// It is there; gpuc adds node pools to it.
    Existing(AwsExisting),
}

/// An EKS cluster to create with eksctl.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AwsCreate {
    /// The network. Default: a VPC of its own with the range 192.168.0.0/16.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vpc: Option<Spanned<AwsVpc>>,
    /// Who can reach the API server.
    #[serde(default)]
    pub endpoint: Spanned<AwsEndpoint>,
    /// The availability zones of the control plane's subnets; at least two. Default: what eksctl picks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub zones: Vec<Spanned<String>>,
}

/// An EKS cluster that is there already.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AwsExisting {
    /// Its name in EKS. Default: `metadata.name`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<Spanned<String>>,
    /// Its VPC and subnets, needed when eksctl did not make it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vpc: Option<Spanned<AwsExistingVpc>>,
    /// A Cluster Autoscaler runs there already, so that gpuc installs none.
    #[serde(default)]
    pub has_autoscaler: Spanned<bool>,
}

/// The network of an EKS cluster to create.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum AwsVpc {
    /// A new VPC with this IPv4 range.
    Cidr(Spanned<String>),
    /// A VPC that is there.
    Existing(AwsExistingVpc),
}

/// A VPC that is there.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AwsExistingVpc {
    /// The VPC.
    #[schemars(extend("examples" = ["vpc-0123456789abcdef0"]))]
    pub id: Spanned<String>,
    /// The security group of the control plane; eksctl asks for it when it did not make the cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub security_group: Option<Spanned<String>>,
    /// Private subnets, where nodes go.
    pub private_subnets: Vec<AwsSubnet>,
    /// Public subnets, for load balancers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub public_subnets: Vec<AwsSubnet>,
}

/// A subnet and its zone.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AwsSubnet {
    /// The availability zone.
    pub zone: Spanned<String>,
    /// The subnet.
    #[schemars(extend("examples" = ["subnet-0123456789abcdef0"]))]
    pub id: Spanned<String>,
}

/// Who can reach an EKS cluster's API server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum AwsEndpoint {
    /// The internet; nodes too go through it.
    Public,
    /// The VPC alone.
    Private,
    /// The internet, while nodes stay inside the VPC.
    #[default]
    PublicAndPrivate,
}

/// Google Kubernetes Engine, Standard mode. Scripts use `gcloud`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Gcp {
    /// The project's id. Every command names it, and every script checks first that it is there.
    #[schemars(regex(pattern = r"^[a-z][-a-z0-9]{4,28}[a-z0-9]$"), extend("examples" = ["acme-ml-prod"]))]
    pub project: Spanned<String>,
    /// The cluster's location: a region for a regional cluster, a zone for a zonal one.
    #[schemars(extend("examples" = ["us-central1", "us-central1-a"]))]
    pub location: Spanned<String>,
    /// The cluster: made by gpuc, or there already.
    pub cluster: Spanned<GcpCluster>,
    /// Labels on the Google Cloud resources that gpuc creates (not on Kubernetes nodes).
    #[serde(default, skip_serializing_if = "TextMap::is_empty")]
    pub resource_labels: TextMap,
}

/// A GKE cluster.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum GcpCluster {
    /// gpuc's script creates it.
    Create(GcpCreate),
    /// It is there; gpuc adds node pools to it.
    Existing(ExistingCluster),
}

/// A GKE cluster to create.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GcpCreate {
    /// How fast GKE upgrades the cluster.
    #[serde(default)]
    pub release_channel: Spanned<GcpReleaseChannel>,
    /// The VPC network. Default: the project's network `default`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<Spanned<String>>,
    /// The subnetwork, in the cluster's region. Default: the network's own for that region.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subnetwork: Option<Spanned<String>>,
    /// Nodes without public addresses.
    #[serde(default)]
    pub private_nodes: Spanned<bool>,
    /// Kubernetes service accounts can act as Google service accounts.
    #[serde(default = "yes")]
    pub workload_identity: Spanned<bool>,
    /// When GKE may upgrade the cluster and its nodes by itself. Default: at any time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub maintenance: Option<Spanned<Maintenance>>,
}

/// How fast GKE upgrades a cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum GcpReleaseChannel {
    /// New versions first.
    Rapid,
    /// Some months later.
    #[default]
    Regular,
    /// Later still.
    Stable,
    /// The regular versions, kept for up to two years.
    Extended,
}

/// Azure Kubernetes Service. Scripts use `az`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Azure {
    /// The subscription's id. Every command names it, and every script checks first that it can be seen.
    #[schemars(extend("examples" = ["00000000-1111-2222-3333-444444444444"]))]
    pub subscription: Spanned<String>,
    /// The resource group that holds the cluster.
    #[schemars(extend("examples" = ["ml-prod"]))]
    pub resource_group: Spanned<String>,
    /// The region.
    #[schemars(extend("examples" = ["eastus", "westeurope"]))]
    pub location: Spanned<String>,
    /// The cluster: made by gpuc, or there already.
    pub cluster: Spanned<AzureCluster>,
    /// Tags on what gpuc creates.
    #[serde(default, skip_serializing_if = "TextMap::is_empty")]
    pub tags: TextMap,
}

/// An AKS cluster.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum AzureCluster {
    /// gpuc's script creates it, and its resource group when that is missing.
    Create(AzureCreate),
    /// It is there; gpuc adds node pools to it.
    Existing(ExistingCluster),
}

/// An AKS cluster to create.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AzureCreate {
    /// The control plane's tier.
    #[serde(default)]
    pub tier: Spanned<AzureTier>,
    /// The subnet of the nodes, by its resource id. Default: a network that AKS makes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subnet: Option<Spanned<String>>,
    /// The API server has a private address only.
    #[serde(default)]
    pub private_cluster: Spanned<bool>,
    /// Kubernetes service accounts can act as Entra identities.
    #[serde(default = "yes")]
    pub workload_identity: Spanned<bool>,
    /// Which Kubernetes versions AKS puts on the cluster by itself.
    #[serde(default)]
    pub upgrade_channel: Spanned<AzureUpgradeChannel>,
    /// Which changes of the operating system AKS puts on nodes by itself.
    #[serde(default)]
    pub node_image_channel: Spanned<AzureNodeImageChannel>,
    /// When AKS may do so. Default: at any time. Taken away, the schedule stays in Azure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub maintenance: Option<Spanned<Maintenance>>,
}

/// The tier of an AKS control plane.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum AzureTier {
    /// No uptime agreement.
    Free,
    /// An uptime agreement.
    #[default]
    Standard,
    /// An uptime agreement and long-term support.
    Premium,
}

/// Which Kubernetes versions AKS puts on a cluster by itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum AzureUpgradeChannel {
    /// None: versions change when gpuc's scripts change them.
    #[default]
    None,
    /// The newest patch of the minor version.
    Patch,
    /// The newest patch of the minor version before the newest one.
    Stable,
    /// The newest patch of the newest minor version.
    Rapid,
}

/// Which changes of the operating system AKS puts on nodes by itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum AzureNodeImageChannel {
    /// None at all.
    None,
    /// What the distribution's own updater installs.
    Unmanaged,
    /// Tested security patches, mostly without new nodes.
    SecurityPatch,
    /// New node images, week by week: every node is drained and made again.
    #[default]
    NodeImage,
}

/// A cluster that is there already.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExistingCluster {
    /// Its name in the cloud. Default: `metadata.name`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<Spanned<String>>,
}

/// Machines of your own. Scripts run on each node, and `kubectl` labels and taints them.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OnPrem {
    /// The kubeconfig context of the cluster. Every script that talks to Kubernetes names it.
    #[schemars(extend("examples" = ["dgx-lab"]))]
    pub context: Spanned<String>,
    /// The Kubernetes distribution: it decides where containerd is configured.
    #[serde(default)]
    pub distribution: Spanned<Distribution>,
}

/// A Kubernetes distribution.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Distribution {
    /// kubeadm and its like: containerd is a service of its own, configured in /etc/containerd.
    #[default]
    Kubeadm,
    /// K3s, which brings and configures its own containerd.
    K3s,
    /// RKE2, which brings and configures its own containerd.
    Rke2,
}

fn yes() -> Spanned<bool> {
    Spanned::unwritten(true)
}
