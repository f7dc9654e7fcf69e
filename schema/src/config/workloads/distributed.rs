//! Multi-node workloads.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{EnvFrom, NamedVolume, Pods, Probes, RunAs, Service, ValuesFrom, kind, one};
use crate::Spanned;
use crate::config::{Quantity, TextMap};

kind! {
    /// A multi-node training run with PyTorch. Kubeflow Trainer configures `torchrun` for the nodes.
    TrainJob {
        /// The number of nodes, with one pod each.
        #[schemars(range(min = 1, max = 2_147_483_647))]
        nodes: Spanned<u32>,
        /// The number of GPUs, MIG devices or replicas per node.
        #[schemars(range(min = 1, max = 2_147_483_647))]
        gpus_per_node: Spanned<u32>,
        /// The maximum number of restarts of all pods together after a pod fails.
        #[serde(default)]
        #[schemars(range(max = 2_147_483_647))]
        restarts: Spanned<u32>,
        /// The time limit of the job, in seconds. Default: no limit.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(range(min = 1, max = 2_147_483_647))]
        deadline_seconds: Option<Spanned<u32>>,
    }
}

kind! {
    /// A training run with Kubeflow Training Operator v1.
    PytorchJob {
        /// The Training Operator. It has no Helm chart, so it must already be installed.
        operator: Spanned<TrainingOperator>,
        /// The number of nodes: the master and the workers.
        #[schemars(range(min = 1, max = 2_147_483_647))]
        nodes: Spanned<u32>,
        /// The number of GPUs, MIG devices or replicas per node.
        #[schemars(range(min = 1, max = 2_147_483_647))]
        gpus_per_node: Spanned<u32>,
        /// The number of retries of failed pods. Default: no limit.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(range(max = 2_147_483_647))]
        retries: Option<Spanned<u32>>,
        /// The time limit of the job, in seconds. Default: no limit.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(range(min = 1, max = 2_147_483_647))]
        deadline_seconds: Option<Spanned<u32>>,
    }
}

/// The installation of Kubeflow Training Operator v1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum TrainingOperator {
    /// An existing installation in the cluster.
    Existing,
}

kind! {
    /// Pods on several nodes that start and fail together.
    JobSet {
        /// The number of nodes, with one pod each. `torchrun` finds the other nodes through `PET_MASTER_ADDR` and
        /// related environment variables.
        #[schemars(range(min = 1, max = 2_147_483_647))]
        nodes: Spanned<u32>,
        /// The number of GPUs, MIG devices or replicas per node.
        #[schemars(range(min = 1, max = 2_147_483_647))]
        gpus_per_node: Spanned<u32>,
        /// The maximum number of restarts of all pods together after a pod fails.
        #[serde(default)]
        #[schemars(range(max = 2_147_483_647))]
        restarts: Spanned<u32>,
        /// The time after which the finished `JobSet` is deleted, in seconds. A GitOps controller then recreates it,
        /// and it runs again. Default: it is not deleted automatically.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(range(max = 2_147_483_647))]
        ttl_seconds: Option<Spanned<u32>>,
    }
}

kind! {
    /// A model served by groups of pods: a leader, and workers on other nodes. Pods get their position in the group
    /// from `LWS_LEADER_ADDRESS`, `LWS_GROUP_SIZE` and `LWS_WORKER_INDEX`.
    LeaderWorkerSet {
        /// The number of nodes per group, with one pod each, including the leader.
        #[schemars(range(min = 1, max = 2_147_483_647))]
        nodes: Spanned<u32>,
        /// The number of GPUs, MIG devices or replicas per node.
        #[schemars(range(min = 1, max = 2_147_483_647))]
        gpus_per_node: Spanned<u32>,
        /// The number of groups, each of which serves the whole model. 0 stops the workload.
        #[serde(default = "one")]
        #[schemars(range(max = 2_147_483_647))]
        replicas: Spanned<u32>,
        /// The command of the leaders. Default: the workers' command.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        leader: Option<Leader>,
        /// A Service named `<name>-leader` that exposes the leaders. Default: none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        service: Option<Service>,
        /// Probes of the leaders.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        probes: Option<Probes>,
    }
}

impl LeaderWorkerSet {
    /// The name of the Service for the leaders of the set of this name. A Service with the set's own name already
    /// exists: the pods use it to find each other.
    pub fn service_name(&self, set: &str) -> String {
        format!("{set}-leader")
    }
}

/// The command of the leaders.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Leader {
    /// The command.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("examples" = [["sh", "-c", "lead"]]))]
    pub command: Vec<Spanned<String>>,
    /// The command's arguments.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("examples" = [["--tensor-parallel-size", "8"]]))]
    pub args: Vec<Spanned<String>>,
}
