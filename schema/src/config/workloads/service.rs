//! Services.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{EnvFrom, NamedVolume, Pods, RunAs, ValuesFrom, kind, one};
use crate::Spanned;
use crate::config::{CountOrPercent, Quantity, TextMap};

kind! {
    /// A service with interchangeable pods.
    Deployment {
        /// The number of pods; 0 stops the workload. With `autoscaling`, only the autoscaler sets it.
        #[serde(default = "one")]
        #[schemars(range(max = 2_147_483_647))]
        replicas: Spanned<u32>,
        /// The number of GPUs, MIG devices or replicas per pod. Default: none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(range(min = 1, max = 2_147_483_647))]
        gpus: Option<Spanned<u32>>,
        /// A Service that exposes the pods. Default: none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        service: Option<Service>,
        /// Probes of the pods.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        probes: Option<Probes>,
        /// Horizontal autoscaling: the range and the metrics.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        autoscaling: Option<Spanned<Scaling>>,
        /// A `PodDisruptionBudget`: how many pods can be evicted at once when nodes are drained. Default: no budget.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        disruption_budget: Option<DisruptionBudget>,
    }
}

kind! {
    /// A service whose pods have stable names and volumes.
    StatefulSet {
        /// The number of pods; 0 stops the workload.
        #[serde(default = "one")]
        #[schemars(range(max = 2_147_483_647))]
        replicas: Spanned<u32>,
        /// The number of GPUs, MIG devices or replicas per pod. Default: none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(range(min = 1, max = 2_147_483_647))]
        gpus: Option<Spanned<u32>>,
        /// A Service that exposes the pods. Default: only DNS names of the individual pods.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        service: Option<Service>,
        /// Probes of the pods.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        probes: Option<Probes>,
        /// A `PodDisruptionBudget`: how many pods can be evicted at once when nodes are drained. Default: no budget.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        disruption_budget: Option<DisruptionBudget>,
    }
}

/// A Kubernetes Service for a workload.
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
    /// The type of the Service.
    #[serde(default, rename = "type")]
    pub kind: Spanned<ServiceType>,
}

impl Service {
    /// The port that the container listens on.
    pub fn target_port(&self) -> u16 {
        self.container_port
            .map_or(self.port.value, |port| port.value)
    }
}

/// The type of a Service.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ServiceType {
    /// Accessible only inside the cluster.
    #[default]
    ClusterIP,
    /// Accessible on a port of every node.
    NodePort,
    /// Accessible through a load balancer of the cloud.
    LoadBalancer,
}

/// The probes of a container.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Probes {
    /// The startup probe. The other probes start after it succeeds. Use it for large models, which take minutes to
    /// load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub startup: Option<Spanned<Probe>>,
    /// The readiness probe. While it fails, the pod receives no requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub readiness: Option<Spanned<Probe>>,
    /// The liveness probe. If it fails, the kubelet restarts the container.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub liveness: Option<Spanned<Probe>>,
}

/// A periodic check of a port, or by a command in the container.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Probe {
    /// The port to check.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 65535))]
    pub port: Option<Spanned<u16>>,
    /// The HTTP path that must respond successfully. Default: none; the port only has to accept TCP connections.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["/health"]))]
    pub path: Option<Spanned<String>>,
    /// A command that must succeed, with its arguments, instead of a port. It does not run in a shell.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("examples" = [["cat", "/tmp/ready"]]))]
    pub exec: Vec<Spanned<String>>,
    /// The interval between checks, in seconds. Default: 10.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 2_147_483_647))]
    pub period_seconds: Option<Spanned<u32>>,
    /// The timeout of a check, in seconds. Default: 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 2_147_483_647))]
    pub timeout_seconds: Option<Spanned<u32>>,
    /// The number of consecutive failures after which the probe fails. Default: 3.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 2_147_483_647))]
    pub failures: Option<Spanned<u32>>,
}

/// Horizontal autoscaling of a service.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Scaling {
    /// The minimum number of pods.
    #[schemars(range(min = 1, max = 2_147_483_647))]
    pub min: Spanned<u32>,
    /// The maximum number of pods.
    #[schemars(range(min = 1, max = 2_147_483_647))]
    pub max: Spanned<u32>,
    /// The target CPU utilization, in percent of `cpu`, which must be set. Default: 80 if `metric` is not set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 100))]
    pub cpu_percent: Option<Spanned<u32>>,
    /// A pod metric from the custom metrics API, for example from the Prometheus Adapter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metric: Option<ScalingMetric>,
}

/// A pod metric.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ScalingMetric {
    /// The name of the metric.
    #[schemars(extend("examples" = ["requests_waiting"]))]
    pub name: Spanned<String>,
    /// The target value, averaged over the pods.
    pub average: Spanned<Quantity>,
}

/// The limit on concurrent voluntary evictions.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum DisruptionBudget {
    /// The maximum number or percentage of unavailable pods.
    MaxUnavailable(Spanned<CountOrPercent>),
    /// The minimum number or percentage of available pods.
    MinAvailable(Spanned<CountOrPercent>),
}
