//! Workloads on several nodes.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{EnvFrom, NamedVolume, Pods, Probes, RunAs, Service, ValuesFrom, kind, one};
use crate::Spanned;
use crate::config::{Quantity, TextMap};

kind! {
    /// A training run with `PyTorch` on several nodes. The Trainer tells `torchrun` who the others are.
    TrainJob {
        /// How many nodes: one pod on each.
        #[schemars(range(min = 1, max = 2_147_483_647))]
        nodes: Spanned<u32>,
        /// How many GPUs, slices or shares on each.
        #[schemars(range(min = 1, max = 2_147_483_647))]
        gpus_per_node: Spanned<u32>,
        /// How often all pods start again together after one failed.
        #[serde(default)]
        #[schemars(range(max = 2_147_483_647))]
        restarts: Spanned<u32>,
        /// How long it may take, in seconds. Default: for ever.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(range(min = 1, max = 2_147_483_647))]
        deadline_seconds: Option<Spanned<u32>>,
    }
}

kind! {
    /// A training run by Kubeflow's Training Operator v1.
    PytorchJob {
        /// Who installs the Training Operator: it has no chart, so it must be there.
        operator: Spanned<TrainingOperator>,
        /// How many nodes: the master and the workers.
        #[schemars(range(min = 1, max = 2_147_483_647))]
        nodes: Spanned<u32>,
        /// How many GPUs, slices or shares on each.
        #[schemars(range(min = 1, max = 2_147_483_647))]
        gpus_per_node: Spanned<u32>,
        /// How many failed pods are tried again. Default: for ever.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(range(max = 2_147_483_647))]
        retries: Option<Spanned<u32>>,
        /// How long it may take, in seconds. Default: for ever.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(range(min = 1, max = 2_147_483_647))]
        deadline_seconds: Option<Spanned<u32>>,
    }
}

/// Who installs Kubeflow's Training Operator v1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum TrainingOperator {
    /// Somebody else: it is in the cluster.
    Existing,
}

kind! {
    /// Pods on several nodes that start and fail together.
    JobSet {
        /// How many nodes: one pod on each. `torchrun` finds the others by `PET_MASTER_ADDR` and its like.
        #[schemars(range(min = 1, max = 2_147_483_647))]
        nodes: Spanned<u32>,
        /// How many GPUs, slices or shares on each.
        #[schemars(range(min = 1, max = 2_147_483_647))]
        gpus_per_node: Spanned<u32>,
        /// How often all pods start again together after one failed.
        #[serde(default)]
        #[schemars(range(max = 2_147_483_647))]
        restarts: Spanned<u32>,
        /// How long it is kept when it is done, in seconds. What syncs the tree makes it again then, so that it runs
        /// again. Default: until somebody deletes it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(range(max = 2_147_483_647))]
        ttl_seconds: Option<Spanned<u32>>,
    }
}

kind! {
    /// A model served by groups of pods: a leader, and workers on other nodes. `LWS_LEADER_ADDRESS`, `LWS_GROUP_SIZE`
    /// and `LWS_WORKER_INDEX` tell a pod who it is.
    LeaderWorkerSet {
        /// How many nodes a group has: one pod on each, the leader among them.
        #[schemars(range(min = 1, max = 2_147_483_647))]
        nodes: Spanned<u32>,
        /// How many GPUs, slices or shares on each.
        #[schemars(range(min = 1, max = 2_147_483_647))]
        gpus_per_node: Spanned<u32>,
        /// How many groups, each with the whole model; 0 to stop it.
        #[serde(default = "one")]
        #[schemars(range(max = 2_147_483_647))]
        replicas: Spanned<u32>,
        /// What the leaders run instead. Default: what workers run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        leader: Option<Leader>,
        /// How the leaders are reached: by a service called `<name>-leader`. Default: they are not.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        service: Option<Service>,
        /// How Kubernetes tells whether the leaders are well.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        probes: Option<Probes>,
    }
}

impl LeaderWorkerSet {
    /// What the service of the leaders of a set with this name is called. The set's own name is that of the service by
    /// which its pods find each other.
    pub fn service_name(&self, set: &str) -> String {
        format!("{set}-leader")
    }
}

/// What the leaders run.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Leader {
    /// Their command.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("examples" = [["sh", "-c", "lead"]]))]
    pub command: Vec<Spanned<String>>,
    /// Its arguments.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("examples" = [["--tensor-parallel-size", "8"]]))]
    pub args: Vec<Spanned<String>>,
}
