//! `cloud`: the platform that the cluster runs on, and the cluster's identity there.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    AwsAccessEntry, AwsAuthentication, AwsEndpoint, AwsLog, AwsNatGateways, AwsVersionSupport,
    Azure, AzureCluster, ExistingPlatform, GcpLog, Maintenance, MaintenanceExclusion, TextMap,
};
use crate::Spanned;

/// The platform that the cluster runs on.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum CloudSection {
    /// Amazon EKS.
    Aws(Aws),
    /// Google Kubernetes Engine.
    Gcp(Gcp),
    /// Azure Kubernetes Service.
    Azure(Azure),
    /// Your own machines, with a running Kubernetes cluster.
    OnPrem(OnPrem),
    /// A cluster that gpuc does not create, with its nodes: of another cloud or of a distribution.
    Existing(ExistingPlatform),
}

impl CloudSection {
    /// Whether gpuc creates the cluster.
    pub fn creates_cluster(&self) -> bool {
        match self {
            Self::Aws(aws) => matches!(aws.cluster.value, AwsCluster::Create(_)),
            Self::Gcp(gcp) => matches!(gcp.cluster.value, GcpCluster::Create(_)),
            Self::Azure(azure) => matches!(azure.cluster.value, AzureCluster::Create(_)),
            Self::OnPrem(_) | Self::Existing(_) => false,
        }
    }

    /// Tags on the resources that gpuc creates, with the name of their key in the file.
    pub fn tags(&self) -> Option<(&'static str, &TextMap)> {
        match self {
            Self::Aws(aws) => Some(("tags", &aws.tags)),
            Self::Gcp(gcp) => Some(("resourceLabels", &gcp.resource_labels)),
            Self::Azure(azure) => Some(("tags", &azure.tags)),
            Self::OnPrem(_) | Self::Existing(_) => None,
        }
    }

    /// The kubeconfig context, if the file names one.
    pub fn kubeconfig_context(&self) -> Option<&Spanned<String>> {
        match self {
            Self::Aws(_) | Self::Gcp(_) | Self::Azure(_) => None,
            Self::OnPrem(on_prem) => Some(&on_prem.context),
            Self::Existing(platform) => platform.context.as_ref(),
        }
    }

    /// The region or zone, if the platform has one.
    pub fn location(&self) -> Option<&Spanned<String>> {
        match self {
            Self::Aws(aws) => Some(&aws.region),
            Self::Gcp(gcp) => Some(&gcp.location),
            Self::Azure(azure) => Some(&azure.location),
            Self::OnPrem(_) | Self::Existing(_) => None,
        }
    }

    /// Whether gpuc adds pools to a cluster that exists: `cluster.existing` of a cloud, or `existing`. Such a cluster
    /// can contain components that the file does not describe.
    pub fn has_existing_cluster(&self) -> bool {
        match self {
            Self::Aws(aws) => matches!(aws.cluster.value, AwsCluster::Existing(_)),
            Self::Gcp(gcp) => matches!(gcp.cluster.value, GcpCluster::Existing(_)),
            Self::Azure(azure) => matches!(azure.cluster.value, AzureCluster::Existing(_)),
            Self::Existing(_) => true,
            Self::OnPrem(_) => false,
        }
    }

    /// The name in the cloud of an existing cluster, if it differs from `metadata.name`.
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
            Self::OnPrem(_) | Self::Existing(_) => return None,
        };
        name.as_ref()
    }
}

/// Amazon EKS. Scripts use `aws` and `eksctl`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Aws {
    /// The account ID: twelve digits, quoted. Every script first checks that its credentials belong to this account.
    #[schemars(regex(pattern = r"^[0-9]{12}$"), extend("examples" = ["123456789012"]))]
    pub account: Spanned<String>,
    /// The region.
    #[schemars(extend("examples" = ["us-east-1", "eu-central-1"]))]
    pub region: Spanned<String>,
    /// The cluster: created by gpuc, or existing.
    pub cluster: Spanned<AwsCluster>,
    /// The ARN of the IAM role of the nodes in node groups. Default: eksctl creates a role per node group. Cannot be
    /// changed for an existing node group. If you remove this key, node groups keep their role.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["arn:aws:iam::123456789012:role/gpu-nodes"]))]
    pub node_role: Option<Spanned<String>>,
    /// Tags on the resources that gpuc creates.
    #[serde(default, skip_serializing_if = "TextMap::is_empty")]
    pub tags: TextMap,
}

/// An EKS cluster.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[expect(
    clippy::large_enum_variant,
    reason = "a configuration has one of these"
)]
#[serde(rename_all = "camelCase")]
pub enum AwsCluster {
    /// gpuc's script creates the cluster.
    Create(AwsCreate),
    /// The cluster exists; gpuc adds node pools to it.
    Existing(AwsExisting),
}

/// An EKS cluster to create with eksctl.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AwsCreate {
    /// The network. Default: a new VPC with the range 192.168.0.0/16.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vpc: Option<Spanned<AwsVpc>>,
    /// The networks that can reach the API server.
    #[serde(default)]
    pub endpoint: Spanned<AwsEndpoint>,
    /// The IPv4 ranges that can reach the public endpoint of the API server. They must contain the addresses from which
    /// you run the scripts. Default: the whole internet. If you remove this key, the cluster keeps its ranges.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 1), extend("examples" = [["203.0.113.0/24"]]))]
    pub public_access_cidrs: Vec<Spanned<String>>,
    /// How the cluster maps IAM principals to users of Kubernetes.
    #[serde(default)]
    pub authentication: Spanned<AwsAuthentication>,
    /// The IAM principals who can log in, as access entries of EKS. The principal that creates the cluster is an
    /// administrator without an entry in this list. If you remove an entry from this list, the cluster keeps it until
    /// you delete it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub access: Vec<Spanned<AwsAccessEntry>>,
    /// The availability zones of the control plane's subnets; at least two. Default: selected by eksctl.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub zones: Vec<Spanned<String>>,
    /// The NAT gateways of a VPC that eksctl creates. Cannot be changed after creation. Default: `single`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nat_gateways: Option<Spanned<AwsNatGateways>>,
    /// The IPv4 range of the addresses of Services. It must not overlap with networks that the cluster must reach, and
    /// cannot be changed after creation. Default: 10.100.0.0/16 or 172.20.0.0/16, selected by EKS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["172.20.0.0/16"]))]
    pub service_cidr: Option<Spanned<String>>,
    /// The ARN of the IAM role of the control plane. Default: eksctl creates a role. Cannot be changed after creation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["arn:aws:iam::123456789012:role/eks-cluster"]))]
    pub role: Option<Spanned<String>>,
    /// The logs that the control plane writes to CloudWatch, which bills for them. Default: none. If you remove this
    /// key, the cluster keeps its logs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = [["audit", "authenticator"]]))]
    pub control_plane_logs: Option<Vec<Spanned<AwsLog>>>,
    /// Whether EKS refuses to delete the cluster. `cloud/teardown.sh` changes nothing in a protected cluster. If you
    /// remove this key, the cluster keeps its protection. Default: a new cluster is not protected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deletion_protection: Option<Spanned<bool>>,
    /// What happens to a version of Kubernetes at the end of its standard support, 14 months after its release on EKS.
    /// If you remove this key, the cluster keeps its setting. Default: `extended`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version_support: Option<Spanned<AwsVersionSupport>>,
    /// The ARN of the KMS key that encrypts the Secrets of the cluster. EKS cannot change or remove the key of a
    /// cluster. If you remove this key from the file, the cluster keeps its own. Default: a key that AWS owns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["arn:aws:kms:us-east-1:123456789012:key/11111111-2222-3333-4444-555555555555"]))]
    pub secrets_key: Option<Spanned<String>>,
}

/// An existing EKS cluster.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AwsExisting {
    /// The cluster's name in EKS. Default: `metadata.name`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<Spanned<String>>,
    /// The cluster's VPC and subnets. Required if the cluster was not created with eksctl.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vpc: Option<Spanned<AwsExistingVpc>>,
    /// Whether a Cluster Autoscaler already runs in the cluster. If `true`, gpuc does not install one.
    #[serde(default)]
    pub has_autoscaler: Spanned<bool>,
    /// IAM principals who can log in, as access entries of EKS. The authentication mode of the cluster must include the
    /// EKS API. If you remove an entry from this list, the cluster keeps it until you delete it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub access: Vec<Spanned<AwsAccessEntry>>,
}

/// The network of an EKS cluster to create.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum AwsVpc {
    /// A new VPC with this IPv4 range.
    Cidr(Spanned<String>),
    /// An existing VPC.
    Existing(AwsExistingVpc),
}

/// An existing VPC.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AwsExistingVpc {
    /// The VPC's ID.
    #[schemars(extend("examples" = ["vpc-0123456789abcdef0"]))]
    pub id: Spanned<String>,
    /// The security group of the control plane. eksctl requires it if it did not create the cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub security_group: Option<Spanned<String>>,
    /// Private subnets, for nodes.
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
    /// The subnet's ID.
    #[schemars(extend("examples" = ["subnet-0123456789abcdef0"]))]
    pub id: Spanned<String>,
    /// Whether only nodes use the subnet, and not the control plane of a cluster that gpuc creates. Required in zones
    /// where EKS has no control plane, such as the zone with the ID `use1-az3`.
    #[serde(default)]
    pub nodes_only: Spanned<bool>,
}

/// Google Kubernetes Engine, Standard mode. Scripts use `gcloud`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Gcp {
    /// The project ID. Every command names it, and every script first checks that the project exists.
    #[schemars(regex(pattern = r"^[a-z][-a-z0-9]{4,28}[a-z0-9]$"), extend("examples" = ["acme-ml-prod"]))]
    pub project: Spanned<String>,
    /// The cluster's location: a region for a regional cluster, a zone for a zonal one.
    #[schemars(extend("examples" = ["us-central1", "us-central1-a"]))]
    pub location: Spanned<String>,
    /// The cluster: created by gpuc, or existing.
    pub cluster: Spanned<GcpCluster>,
    /// The email address of the service account of the nodes in pools that gpuc creates. Its role is at least
    /// `roles/container.defaultNodeServiceAccount`. Default: the default service account of Compute Engine, which can
    /// have the role Editor. Cannot be changed for an existing pool. If you remove this key, pools keep their account.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["gke-nodes@acme-ml-prod.iam.gserviceaccount.com"]))]
    pub node_service_account: Option<Spanned<String>>,
    /// Labels on the Google Cloud resources that gpuc creates (not on Kubernetes nodes).
    #[serde(default, skip_serializing_if = "TextMap::is_empty")]
    pub resource_labels: TextMap,
}

/// A GKE cluster.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[expect(
    clippy::large_enum_variant,
    reason = "a configuration has one of these"
)]
#[serde(rename_all = "camelCase")]
pub enum GcpCluster {
    /// gpuc's script creates the cluster.
    Create(GcpCreate),
    /// The cluster exists; gpuc adds node pools to it.
    Existing(ExistingCluster),
}

/// A GKE cluster to create.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GcpCreate {
    /// The release channel, which determines how soon GKE upgrades the cluster.
    #[serde(default)]
    pub release_channel: Spanned<GcpReleaseChannel>,
    /// The VPC network. Default: the project's network `default`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<Spanned<String>>,
    /// The subnetwork, in the cluster's region. Default: the network's subnetwork for that region.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subnetwork: Option<Spanned<String>>,
    /// The addresses of pods: an IPv4 range, or the name of a secondary range of the subnetwork. Cannot be changed
    /// after creation. Default: a range that GKE selects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["10.4.0.0/14", "pods"]))]
    pub pod_range: Option<Spanned<String>>,
    /// The addresses of Services: an IPv4 range, or the name of a secondary range of the subnetwork. Cannot be changed
    /// after creation. Default: a range that GKE selects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["10.8.0.0/20", "services"]))]
    pub service_range: Option<Spanned<String>>,
    /// Whether nodes have only private IP addresses.
    #[serde(default)]
    pub private_nodes: Spanned<bool>,
    /// Whether the API server has only a private address, which the VPC network reaches. Requires `privateNodes`.
    /// Default: `false`. If you remove this key, the cluster keeps its addresses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub private_endpoint: Option<Spanned<bool>>,
    /// The IPv4 ranges that can reach the addresses of the API server, in addition to the cluster's own network. They
    /// must contain the addresses from which you run the scripts, unless these use `dnsEndpoint`. Default: the whole
    /// internet. If you remove this key, the cluster keeps its ranges.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 1), extend("examples" = [["203.0.113.0/24"]]))]
    pub authorized_networks: Vec<Spanned<String>>,
    /// Whether the API server has a DNS name that everyone with the permission of IAM reaches, from any network. The
    /// scripts then use it. Default: `false`. If you remove this key, the cluster keeps its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dns_endpoint: Option<Spanned<bool>>,
    /// Whether clients in other regions reach the private address of the API server. Default: `false`. If you remove
    /// this key, the cluster keeps the setting.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub global_access: Option<Spanned<bool>>,
    /// The Google group that contains the groups for RBAC: `gke-security-groups@`, and the domain. Its groups are
    /// groups of Kubernetes, as in `teams[].members`. If you remove this key, the cluster keeps the group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["gke-security-groups@acme.dev"]))]
    pub security_group: Option<Spanned<String>>,
    /// Whether Kubernetes ServiceAccounts can act as Google service accounts.
    #[serde(default = "yes")]
    pub workload_identity: Spanned<bool>,
    /// The components of the control plane that write logs to Cloud Logging, which bills for them. The system and
    /// workloads always write logs. Default: none. If you remove this key, the cluster keeps its logs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = [["apiServer"]]))]
    pub control_plane_logs: Option<Vec<Spanned<GcpLog>>>,
    /// The Cloud KMS key that encrypts the Secrets of the cluster, in its location. GKE's service agent has the role
    /// `roles/cloudkms.cryptoKeyEncrypterDecrypter` on it. If you remove this key, the cluster keeps the encryption.
    /// Default: none, except for the encryption of all disks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["projects/acme-keys/locations/us-central1/keyRings/gke/cryptoKeys/secrets"]))]
    pub secrets_key: Option<Spanned<String>>,
    /// When GKE may upgrade the cluster and its nodes automatically. Default: at any time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub maintenance: Option<Spanned<Maintenance>>,
    /// Automatic upgrades that GKE omits. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub maintenance_exclusion: Option<Spanned<MaintenanceExclusion>>,
}

/// A GKE release channel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum GcpReleaseChannel {
    /// Receives new versions first.
    Rapid,
    /// Receives versions some months after `rapid`.
    #[default]
    Regular,
    /// Receives versions after `regular`.
    Stable,
    /// The versions of `regular`, supported for up to two years.
    Extended,
}

/// An existing cluster.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExistingCluster {
    /// The cluster's name in the cloud. Default: `metadata.name`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<Spanned<String>>,
}

/// Your own machines. Scripts run on each node, and `kubectl` labels and taints the nodes.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OnPrem {
    /// The kubeconfig context of the cluster. Every script that accesses Kubernetes names it.
    #[schemars(extend("examples" = ["dgx-lab"]))]
    pub context: Spanned<String>,
    /// The Kubernetes distribution. It determines where containerd is configured.
    #[serde(default)]
    pub distribution: Spanned<Distribution>,
    /// The package sources of the scripts that prepare hosts. Default: NVIDIA's own, without a proxy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packages: Option<Spanned<HostPackages>>,
}

/// The package sources of the scripts that prepare hosts. Signatures are always checked.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HostPackages {
    /// The mirror of NVIDIA's CUDA repository, which has the driver. In its URL, gpuc replaces `{distribution}` by
    /// `ubuntu2204`, `ubuntu2404`, `debian12` or `rhel9`, and `{architecture}` by `x86_64` or `sbsa`. Default:
    /// `https://developer.download.nvidia.com/compute/cuda/repos/{distribution}/{architecture}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = [{
        "url": "https://mirror.acme.dev/cuda/{distribution}/{architecture}",
        "key": "https://mirror.acme.dev/keys/cuda.pub",
    }]))]
    pub cuda: Option<Spanned<PackageSource>>,
    /// The mirror of NVIDIA's repository of the Container Toolkit. In its URL, gpuc replaces `{format}` by `deb` or
    /// `rpm`, and `{architecture}` by `amd64` or `arm64` for `deb`, and by `x86_64` or `aarch64` for `rpm`. Default:
    /// `https://nvidia.github.io/libnvidia-container/stable/{format}/{architecture}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = [{
        "url": "https://mirror.acme.dev/libnvidia-container/stable/{format}/{architecture}",
        "key": "/etc/pki/acme/nvidia-container-toolkit.pub",
    }]))]
    pub toolkit: Option<Spanned<PackageSource>>,
    /// The proxy through which hosts reach NVIDIA's own repositories. Hosts reach mirrors and their other package
    /// sources without it. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["http://proxy.acme.dev:3128"]))]
    pub proxy: Option<Spanned<String>>,
}

/// A mirror of a package repository.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PackageSource {
    /// The URL of the repository: of the folder that contains `Release` or `repodata`.
    #[schemars(extend("examples" = ["https://mirror.acme.dev/cuda/{distribution}/{architecture}"]))]
    pub url: Spanned<String>,
    /// The public key that signs the repository: a URL with `https://`, or the path of a file on the hosts. A mirror
    /// that copies NVIDIA's repository has NVIDIA's key. One that creates its own index has its own key, which must
    /// sign what NVIDIA signs: `Release` for apt; for dnf, the packages of the CUDA repository, and `repomd.xml` of the
    /// Container Toolkit's.
    #[schemars(extend("examples" = ["https://mirror.acme.dev/keys/cuda.pub", "/etc/pki/acme/nvidia.pub"]))]
    pub key: Spanned<String>,
}

/// A Kubernetes distribution.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Distribution {
    /// kubeadm and similar: containerd is a separate service, configured in /etc/containerd.
    #[default]
    Kubeadm,
    /// K3s, which includes and configures its own containerd.
    K3s,
    /// RKE2, which includes and configures its own containerd.
    Rke2,
}

pub(super) fn yes() -> Spanned<bool> {
    Spanned::without_span(true)
}
