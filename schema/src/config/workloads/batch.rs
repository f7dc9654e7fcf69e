//! Workloads that end.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{EnvFrom, NamedVolume, Pods, RunAs, ValuesFrom, kind, one};
use crate::Spanned;
use crate::config::{Quantity, TextMap};

/// A test that GPUs can be used.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CudaTest {
    /// What it runs.
    #[serde(default)]
    pub run: Spanned<CudaProgram>,
    /// How many GPUs, slices or shares. Default: 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 2_147_483_647))]
    pub gpus: Option<Spanned<u32>>,
    /// The image. Default: NVIDIA's sample `vectorAdd`, built with CUDA 12.5.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["registry.example.com/cuda-test:1.0.0"]))]
    pub image: Option<Spanned<String>>,
}

/// What a test runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum CudaProgram {
    /// What the image runs by itself: NVIDIA's sample adds two vectors.
    #[default]
    VectorAdd,
    /// `nvidia-smi`, which lists the GPUs that the container sees.
    NvidiaSmi,
}

kind! {
    /// A run to completion.
    Job {
        /// How many GPUs, slices or shares for each pod. Default: none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(range(min = 1, max = 2_147_483_647))]
        gpus: Option<Spanned<u32>>,
        /// How many pods have to succeed. Each has its number in `JOB_COMPLETION_INDEX`.
        #[serde(default = "one")]
        #[schemars(range(min = 1, max = 2_147_483_647))]
        completions: Spanned<u32>,
        /// How many of them run at once.
        #[serde(default = "one")]
        #[schemars(range(min = 1, max = 2_147_483_647))]
        parallelism: Spanned<u32>,
        /// How many failed pods are tried again. Default: 6.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(range(max = 2_147_483_647))]
        retries: Option<Spanned<u32>>,
        /// How long it may take, in seconds. Default: for ever.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(range(min = 1, max = 2_147_483_647))]
        deadline_seconds: Option<Spanned<u32>>,
        /// How long it is kept when it is done, in seconds. What syncs the tree makes it again then, so that it runs
        /// again. Default: until somebody deletes it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(range(max = 2_147_483_647))]
        ttl_seconds: Option<Spanned<u32>>,
    }
}

kind! {
    /// Runs at certain times.
    CronJob {
        /// When, as cron writes it: minute, hour, day, month, weekday.
        #[schemars(extend("examples" = ["0 3 * * *", "@daily"]))]
        schedule: Spanned<String>,
        /// How many GPUs, slices or shares for each run. Default: none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(range(min = 1, max = 2_147_483_647))]
        gpus: Option<Spanned<u32>>,
        /// The time zone of the schedule. Default: that of the control plane, mostly UTC.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(extend("examples" = ["Europe/Berlin"]))]
        time_zone: Option<Spanned<String>>,
        /// What becomes of a run whose time comes while the last one goes on.
        #[serde(default)]
        concurrency: Spanned<Concurrency>,
        /// How many failed pods of a run are tried again. Default: 6.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(range(max = 2_147_483_647))]
        retries: Option<Spanned<u32>>,
        /// How long a run may take, in seconds. Default: for ever.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(range(min = 1, max = 2_147_483_647))]
        deadline_seconds: Option<Spanned<u32>>,
    }
}

/// What becomes of a run whose time comes while the last one goes on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Concurrency {
    /// It is left out.
    #[default]
    Forbid,
    /// It takes the place of the last one.
    Replace,
    /// Both run.
    Allow,
}
