//! Workloads that serve.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{EnvFrom, NamedVolume, Pods, RunAs, ValuesFrom, kind, one};
use crate::Spanned;
use crate::config::{CountOrPercent, Quantity, TextMap};

kind! {
    /// A service whose pods are all alike.
    Deployment {
        /// How many pods; 0 to stop it. With `autoscaling`, nobody says it but the autoscaler.
        #[serde(default = "one")]
        #[schemars(range(max = 2_147_483_647))]
        replicas: Spanned<u32>,
        /// How many GPUs, slices or shares for each pod. Default: none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(range(min = 1, max = 2_147_483_647))]
        gpus: Option<Spanned<u32>>,
        /// How it is reached. Default: it is not.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        service: Option<Service>,
        /// How Kubernetes tells whether its pods are well.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        probes: Option<Probes>,
        /// Between how many pods, and by what, it grows and shrinks.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        autoscaling: Option<Spanned<Scaling>>,
        /// How many pods may be taken away at once when nodes are emptied. Default: as many as there are.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        disruption_budget: Option<DisruptionBudget>,
    }
}

kind! {
    /// A service whose pods keep their names and volumes.
    StatefulSet {
        /// How many pods; 0 to stop it.
        #[serde(default = "one")]
        #[schemars(range(max = 2_147_483_647))]
        replicas: Spanned<u32>,
        /// How many GPUs, slices or shares for each pod. Default: none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(range(min = 1, max = 2_147_483_647))]
        gpus: Option<Spanned<u32>>,
        /// How it is reached. Default: by its pods' names alone.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        service: Option<Service>,
        /// How Kubernetes tells whether its pods are well.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        probes: Option<Probes>,
        /// How many pods may be taken away at once when nodes are emptied. Default: as many as there are.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        disruption_budget: Option<DisruptionBudget>,
    }
}

/// How a workload is reached.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Service {
    /// The port of the service.
    #[schemars(range(min = 1, max = 65535))]
    pub port: Spanned<u16>,
    /// The port that the container listens on. Default: `port`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 65535))]
    pub container_port: Option<Spanned<u16>>,
    /// From where it is reached.
    #[serde(default, rename = "type")]
    pub kind: Spanned<ServiceType>,
}

impl Service {
    /// The port that the container listens on.
    pub fn target(&self) -> u16 {
        self.container_port
            .map_or(self.port.value, |port| port.value)
    }
}

/// From where a service is reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ServiceType {
    /// From inside the cluster.
    #[default]
    ClusterIP,
    /// By a port of every node.
    NodePort,
    /// By a load balancer of the cloud.
    LoadBalancer,
}

/// How Kubernetes tells whether pods are well.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Probes {
    /// Until it succeeds, the others wait: large models take minutes to load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub startup: Option<Spanned<Probe>>,
    /// As long as it fails, the pod is sent no requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub readiness: Option<Spanned<Probe>>,
    /// When it fails, the container is restarted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub liveness: Option<Spanned<Probe>>,
}

/// A question asked again and again: of a port, or by a command in the container.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Probe {
    /// The port that is asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 65535))]
    pub port: Option<Spanned<u16>>,
    /// The path that must answer by HTTP. Default: it is enough that the port takes connections.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["/health"]))]
    pub path: Option<Spanned<String>>,
    /// Instead of a port: the command that must succeed, with its arguments. No shell reads it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("examples" = [["cat", "/tmp/ready"]]))]
    pub exec: Vec<Spanned<String>>,
    /// How often, in seconds. Default: 10.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 2_147_483_647))]
    pub period_seconds: Option<Spanned<u32>>,
    /// How long an answer may take, in seconds. Default: 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 2_147_483_647))]
    pub timeout_seconds: Option<Spanned<u32>>,
    /// After how many failures in a row it counts. Default: 3.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 2_147_483_647))]
    pub failures: Option<Spanned<u32>>,
}

/// Between how many pods, and by what, a service grows and shrinks.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Scaling {
    /// The fewest pods.
    #[schemars(range(min = 1, max = 2_147_483_647))]
    pub min: Spanned<u32>,
    /// The most pods.
    #[schemars(range(min = 1, max = 2_147_483_647))]
    pub max: Spanned<u32>,
    /// How busy the CPUs are to be, in percent of `cpu`, which must be said. Default: 80 where there is no `metric`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 100))]
    pub cpu_percent: Option<Spanned<u32>>,
    /// A metric of the pods that the cluster serves by its custom metrics API, such as by the Prometheus Adapter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metric: Option<ScalingMetric>,
}

/// A metric of pods.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ScalingMetric {
    /// Its name.
    #[schemars(extend("examples" = ["requests_waiting"]))]
    pub name: Spanned<String>,
    /// What it is to be on average over the pods.
    pub average: Spanned<Quantity>,
}

/// How many pods may be taken away at once.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum DisruptionBudget {
    /// So many may be away, or such a part of them.
    MaxUnavailable(Spanned<CountOrPercent>),
    /// So many must stay, or such a part of them.
    MinAvailable(Spanned<CountOrPercent>),
}
