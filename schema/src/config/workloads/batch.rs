//! Workloads that run to completion.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{EnvFrom, NamedVolume, Pods, RunAs, ValuesFrom, kind, one};
use crate::Spanned;
use crate::config::{Quantity, TextMap};

/// A test that GPUs work.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CudaTest {
    /// The program that the test runs.
    #[serde(default)]
    pub run: Spanned<CudaProgram>,
    /// The number of GPUs, MIG devices or replicas. Default: 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 2_147_483_647))]
    pub gpus: Option<Spanned<u32>>,
    /// The image. Default: NVIDIA's sample `vectorAdd`, built with CUDA 12.5.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["registry.example.com/cuda-test:1.0.0"]))]
    pub image: Option<Spanned<String>>,
}

/// The program of a GPU test.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum CudaProgram {
    /// The image's default command. NVIDIA's sample image adds two vectors.
    #[default]
    VectorAdd,
    /// `nvidia-smi`, which lists the GPUs that are visible to the container.
    NvidiaSmi,
}

/// A test of the network between the GPUs of several nodes.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FabricTest {
    /// The number of nodes, with one pod each; one to test NVLink between the GPUs of a node.
    #[serde(default = "two")]
    #[schemars(range(min = 1, max = 2_147_483_647))]
    pub nodes: Spanned<u32>,
    /// The number of GPUs per node; all GPUs of a node for a comparable result.
    #[schemars(range(min = 1, max = 2_147_483_647))]
    pub gpus_per_node: Spanned<u32>,
    /// The image, with Python, PyTorch and the network plugin of the pool. Default: NVIDIA's image of PyTorch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["registry.example.com/pytorch:2.8.0"]))]
    pub image: Option<Spanned<String>>,
    /// The memory request and limit of each pod. Pods on a pool with EFA get huge pages only with it. Default: none;
    /// the pod uses free memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<Spanned<Quantity>>,
    /// The lowest accepted bus bandwidth of the largest message, in GB/s. Default: the bandwidth that sources require
    /// of the machine type, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 2_147_483_647))]
    pub min_bus_bandwidth: Option<Spanned<u32>>,
}

fn two() -> Spanned<u32> {
    Spanned::without_span(2)
}

kind! {
    /// A run to completion.
    Job {
        /// The number of GPUs, MIG devices or replicas per pod. Default: none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(range(min = 1, max = 2_147_483_647))]
        gpus: Option<Spanned<u32>>,
        /// The number of pods that must succeed. Each pod gets its index in `JOB_COMPLETION_INDEX`.
        #[serde(default = "one")]
        #[schemars(range(min = 1, max = 2_147_483_647))]
        completions: Spanned<u32>,
        /// The maximum number of pods that run concurrently.
        #[serde(default = "one")]
        #[schemars(range(min = 1, max = 2_147_483_647))]
        parallelism: Spanned<u32>,
        /// The number of retries of failed pods. Default: 6.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(range(max = 2_147_483_647))]
        retries: Option<Spanned<u32>>,
        /// The time limit of the Job, in seconds. Default: no limit.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(range(min = 1, max = 2_147_483_647))]
        deadline_seconds: Option<Spanned<u32>>,
        /// The time after which the finished Job is deleted, in seconds. A GitOps controller then recreates it, and it
        /// runs again. Default: it is not deleted automatically.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(range(max = 2_147_483_647))]
        ttl_seconds: Option<Spanned<u32>>,
    }
}

kind! {
    /// Scheduled runs.
    CronJob {
        /// The schedule in cron syntax: minute, hour, day, month, weekday.
        #[schemars(extend("examples" = ["0 3 * * *", "@daily"]))]
        schedule: Spanned<String>,
        /// The number of GPUs, MIG devices or replicas per run. Default: none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(range(min = 1, max = 2_147_483_647))]
        gpus: Option<Spanned<u32>>,
        /// The time zone of the schedule. Default: the control plane's time zone, in most cases UTC.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(extend("examples" = ["Europe/Berlin"]))]
        time_zone: Option<Spanned<String>>,
        /// The action if a run is due while the previous run is still active.
        #[serde(default)]
        concurrency: Spanned<Concurrency>,
        /// The number of retries of failed pods of a run. Default: 6.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(range(max = 2_147_483_647))]
        retries: Option<Spanned<u32>>,
        /// The time limit of a run, in seconds. Default: no limit.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(range(min = 1, max = 2_147_483_647))]
        deadline_seconds: Option<Spanned<u32>>,
    }
}

/// The action if a run is due while the previous run is still active.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Concurrency {
    /// The new run is skipped.
    #[default]
    Forbid,
    /// The new run replaces the previous one.
    Replace,
    /// Both runs are active.
    Allow,
}
