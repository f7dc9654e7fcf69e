//! `workloads`: what runs on the cluster.

mod batch;
mod container;
mod distributed;
mod service;
mod volume;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Fragment;
use crate::{Span, Spanned};

pub use batch::*;
pub use container::*;
pub use distributed::*;
pub use service::*;
pub use volume::*;

/// Something that runs on the cluster, of exactly one kind. Resource names, tolerations, node affinity, namespace,
/// shared memory and the settings of a fast network follow from `pool`, the GPUs it asks for and `team`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Workload {
    /// Its name: that of its objects.
    #[schemars(extend("examples" = ["finetune"]))]
    pub name: Spanned<String>,
    /// The team whose namespace and quota it uses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub team: Option<Spanned<String>>,
    /// Its namespace; with a team, one of the team's. Default: the first of the team's, else `workloads`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["serving"]))]
    pub namespace: Option<Spanned<String>>,
    /// The pool it runs on. Default: every pool that has what it asks for, whose GPUs belong to one container at a time
    /// unless it names a MIG profile, and that is for nobody else (`dedicatedTo`). Several of them are all tolerated. A
    /// pool whose pods claim GPUs (`allocation: dra`) is used only where it is named, and so is a pool with GPUs by
    /// workloads without, as long as another pool has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pool: Option<Spanned<String>>,
    /// A `PriorityClass` of the cluster, by name: which pods go first when there is no room for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["batch"]))]
    pub priority: Option<Spanned<String>>,
    /// A test that GPUs can be used: one Job on each of its pools. It is the platform's: without `pool` it runs on
    /// every pool with GPUs, those that are for a team among them, as a user without rights.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cuda_test: Option<Spanned<CudaTest>>,
    /// A run to completion, as a Kubernetes Job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<Spanned<Job>>,
    /// Runs at certain times, as a Kubernetes `CronJob`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cron_job: Option<Spanned<CronJob>>,
    /// A service, as a Deployment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deployment: Option<Spanned<Deployment>>,
    /// A service whose pods keep their names and volumes, as a `StatefulSet`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stateful_set: Option<Spanned<StatefulSet>>,
    /// A training run with `PyTorch` on several nodes, as a `TrainJob` of Kubeflow's Trainer, which gpuc installs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub train_job: Option<Spanned<TrainJob>>,
    /// A training run as a `PyTorchJob`, on clusters that have Kubeflow's Training Operator v1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pytorch_job: Option<Spanned<PytorchJob>>,
    /// Pods on several nodes that start and fail together, as a `JobSet`, which gpuc installs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job_set: Option<Spanned<JobSet>>,
    /// A model served by groups of pods on several nodes, as a `LeaderWorkerSet`, which gpuc installs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leader_worker_set: Option<Spanned<LeaderWorkerSet>>,
    /// Fields laid over the pods' specification: mappings merge, lists of things with a name merge by name, `null`
    /// takes a field away, and anything else is replaced.
    #[serde(default, skip_serializing_if = "is_empty")]
    #[schemars(extend("examples" = [{"hostIPC": true}]))]
    pub pod_patch: Spanned<Fragment>,
    /// Fields laid over the object itself, as `podPatch` is over its pods. What it is called and what kind it is cannot
    /// be changed.
    #[serde(default, skip_serializing_if = "is_empty")]
    #[schemars(extend("examples" = [{"metadata": {"annotations": {"example.com/owner": "research"}}}]))]
    pub patch: Spanned<Fragment>,
}

/// What a workload is.
#[derive(Clone, Copy, Debug)]
pub enum Task<'w> {
    /// A test of GPUs.
    CudaTest(&'w CudaTest),
    /// A Job.
    Job(&'w Job),
    /// A `CronJob`.
    CronJob(&'w CronJob),
    /// A Deployment.
    Deployment(&'w Deployment),
    /// A `StatefulSet`.
    StatefulSet(&'w StatefulSet),
    /// A `TrainJob`.
    TrainJob(&'w TrainJob),
    /// A `PyTorchJob`.
    PytorchJob(&'w PytorchJob),
    /// A `JobSet`.
    JobSet(&'w JobSet),
    /// A `LeaderWorkerSet`.
    LeaderWorkerSet(&'w LeaderWorkerSet),
}

impl Workload {
    /// The kinds that were written, each with its key and its place; a right workload has one.
    pub fn tasks(&self) -> Vec<(&'static str, Span, Task<'_>)> {
        let mut found = Vec::new();
        macro_rules! look {
            ($($field:ident $key:literal $task:ident,)*) => {
                $(if let Some(it) = &self.$field {
                    found.push(($key, it.span, Task::$task(&it.value)));
                })*
            };
        }
        look! {
            cuda_test "cudaTest" CudaTest,
            job "job" Job,
            cron_job "cronJob" CronJob,
            deployment "deployment" Deployment,
            stateful_set "statefulSet" StatefulSet,
            train_job "trainJob" TrainJob,
            pytorch_job "pytorchJob" PytorchJob,
            job_set "jobSet" JobSet,
            leader_worker_set "leaderWorkerSet" LeaderWorkerSet,
        }
        found
    }

    /// What it is, where that is said once.
    pub fn task(&self) -> Option<Task<'_>> {
        match self.tasks().as_slice() {
            [(_, _, task)] => Some(*task),
            _ => None,
        }
    }
}

/// The keys of a workload that say what it is.
pub const TASKS: &[&str] = &[
    "cudaTest",
    "job",
    "cronJob",
    "deployment",
    "statefulSet",
    "trainJob",
    "pytorchJob",
    "jobSet",
    "leaderWorkerSet",
];

impl<'w> Task<'w> {
    /// What its pods are; a test says nothing of them.
    pub fn pods(self) -> Option<Pods<'w>> {
        Some(match self {
            Self::CudaTest(_) => return None,
            Self::Job(it) => it.pods(),
            Self::CronJob(it) => it.pods(),
            Self::Deployment(it) => it.pods(),
            Self::StatefulSet(it) => it.pods(),
            Self::TrainJob(it) => it.pods(),
            Self::PytorchJob(it) => it.pods(),
            Self::JobSet(it) => it.pods(),
            Self::LeaderWorkerSet(it) => it.pods(),
        })
    }

    /// The image that was written.
    pub fn image(self) -> Option<&'w Spanned<String>> {
        match self {
            Self::CudaTest(it) => it.image.as_ref(),
            task => task.pods().map(|pods| pods.image),
        }
    }

    /// How many GPUs, slices or shares each pod asks for, where it says so.
    pub fn gpus(self) -> Option<&'w Spanned<u32>> {
        match self {
            Self::CudaTest(it) => it.gpus.as_ref(),
            Self::Job(it) => it.gpus.as_ref(),
            Self::CronJob(it) => it.gpus.as_ref(),
            Self::Deployment(it) => it.gpus.as_ref(),
            Self::StatefulSet(it) => it.gpus.as_ref(),
            Self::TrainJob(it) => Some(&it.gpus_per_node),
            Self::PytorchJob(it) => Some(&it.gpus_per_node),
            Self::JobSet(it) => Some(&it.gpus_per_node),
            Self::LeaderWorkerSet(it) => Some(&it.gpus_per_node),
        }
    }

    /// On how many nodes the pods are that work as one; `None` where each works for itself.
    pub fn nodes(self) -> Option<&'w Spanned<u32>> {
        match self {
            Self::TrainJob(it) => Some(&it.nodes),
            Self::PytorchJob(it) => Some(&it.nodes),
            Self::JobSet(it) => Some(&it.nodes),
            Self::LeaderWorkerSet(it) => Some(&it.nodes),
            _ => None,
        }
    }

    /// How many pods there are at once, at the most.
    pub fn most_pods(self) -> u32 {
        match self {
            Self::CudaTest(_) | Self::CronJob(_) => 1,
            // No more run than are left to complete.
            Self::Job(it) => it.parallelism.value.min(it.completions.value),
            Self::Deployment(it) => match &it.autoscaling {
                Some(scaling) => scaling.max.value,
                None => it.replicas.value,
            },
            Self::StatefulSet(it) => it.replicas.value,
            Self::TrainJob(it) => it.nodes.value,
            Self::PytorchJob(it) => it.nodes.value,
            Self::JobSet(it) => it.nodes.value,
            Self::LeaderWorkerSet(it) => it.nodes.value.saturating_mul(it.replicas.value),
        }
    }

    /// How it is reached, where it is.
    pub fn service(self) -> Option<&'w Service> {
        match self {
            Self::Deployment(it) => it.service.as_ref(),
            Self::StatefulSet(it) => it.service.as_ref(),
            Self::LeaderWorkerSet(it) => it.service.as_ref(),
            _ => None,
        }
    }

    /// How it is told whether its pods are well.
    pub fn probes(self) -> Option<&'w Probes> {
        match self {
            Self::Deployment(it) => it.probes.as_ref(),
            Self::StatefulSet(it) => it.probes.as_ref(),
            Self::LeaderWorkerSet(it) => it.probes.as_ref(),
            _ => None,
        }
    }
}

/// One, where nobody says how many.
fn one() -> Spanned<u32> {
    Spanned::unwritten(1)
}

fn is_empty(fragment: &Spanned<Fragment>) -> bool {
    fragment.value.is_empty()
}
