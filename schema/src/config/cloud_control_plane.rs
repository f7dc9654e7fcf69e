//! The logs and the outbound traffic of clusters that gpuc creates.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A kind of logs that an EKS control plane writes to CloudWatch.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "camelCase")]
pub enum AwsLog {
    /// Requests to the API server.
    Api,
    /// Who changed what.
    Audit,
    /// Logins with IAM.
    Authenticator,
    /// The controllers of Kubernetes.
    ControllerManager,
    /// The scheduler.
    Scheduler,
}

impl AwsLog {
    /// All kinds.
    ///
    /// Source: botocore 1.43.11, eks `LogType`, 2026-11-29.
    pub const ALL: [Self; 5] = [
        Self::Api,
        Self::Audit,
        Self::Authenticator,
        Self::ControllerManager,
        Self::Scheduler,
    ];

    /// The name of the kind in EKS, and in eksctl's file.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Api => "api",
            Self::Audit => "audit",
            Self::Authenticator => "authenticator",
            Self::ControllerManager => "controllerManager",
            Self::Scheduler => "scheduler",
        }
    }
}

/// The support of a version of Kubernetes on EKS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum AwsVersionSupport {
    /// EKS upgrades the control plane by itself at the end of standard support.
    Standard,
    /// The version stays for 12 more months, and each hour of the cluster costs more.
    Extended,
}

/// A component of a GKE control plane that writes logs to Cloud Logging.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "camelCase")]
pub enum GcpLog {
    /// The API server.
    ApiServer,
    /// The controllers of Kubernetes.
    ControllerManager,
    /// The scheduler.
    Scheduler,
}

impl GcpLog {
    /// The name of the component in the flag of gcloud.
    ///
    /// Source: gcloud container clusters update --help (`--logging`), Google Cloud SDK 528.0.0.
    pub const fn flag_name(self) -> &'static str {
        match self {
            Self::ApiServer => "API_SERVER",
            Self::ControllerManager => "CONTROLLER_MANAGER",
            Self::Scheduler => "SCHEDULER",
        }
    }

    /// The name of the component in the API.
    ///
    /// Source: `LoggingComponentConfig` in `container_v1_messages.py`, Google Cloud SDK 528.0.0.
    pub const fn api_name(self) -> &'static str {
        match self {
            Self::ApiServer => "APISERVER",
            Self::ControllerManager => "CONTROLLER_MANAGER",
            Self::Scheduler => "SCHEDULER",
        }
    }
}

/// The NAT gateways of a VPC that eksctl creates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum AwsNatGateways {
    /// One for all zones. If its zone fails, no node reaches the internet.
    #[default]
    Single,
    /// One per zone.
    PerZone,
}

/// How the nodes of an AKS cluster reach the internet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum AzureOutbound {
    /// Through the cluster's load balancer.
    #[default]
    LoadBalancer,
    /// Through a NAT gateway that AKS creates, in the network that AKS creates.
    ManagedNatGateway,
    /// Through the NAT gateway of `subnet`.
    UserAssignedNatGateway,
    /// Through the route table of `subnet`, such as to a firewall.
    UserDefinedRouting,
}

impl AzureOutbound {
    /// The name in the API and in the flag of az.
    ///
    /// Source: azure-cli 2.91.0, az aks create --outbound-type.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::LoadBalancer => "loadBalancer",
            Self::ManagedNatGateway => "managedNATGateway",
            Self::UserAssignedNatGateway => "userAssignedNATGateway",
            Self::UserDefinedRouting => "userDefinedRouting",
        }
    }
}
