//! `workloads`: the workloads that run on the cluster.

mod batch;
mod container;
mod distributed;
mod service;
mod volume;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Fragment, Quantity};
use crate::{Span, Spanned};

pub use batch::*;
pub use container::*;
pub use distributed::*;
pub use service::*;
pub use volume::*;

/// A workload of exactly one kind. gpuc derives resource names, tolerations, node affinity, the namespace, shared
/// memory and the settings of the interconnect from `pool`, `team` and the requested GPUs.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Workload {
    /// The name of the workload and of its Kubernetes objects.
    #[schemars(extend("examples" = ["finetune"]))]
    pub name: Spanned<String>,
    /// The team whose namespace and quota the workload uses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub team: Option<Spanned<String>>,
    /// The workload's namespace. With `team`, one of the team's namespaces. Default: the team's first namespace,
    /// otherwise `workloads`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["serving"]))]
    pub namespace: Option<Spanned<String>>,
    /// The pool that the workload runs on. Default: every pool that has the requested resources, does not share GPUs
    /// (unless the workload sets a MIG profile), and is not dedicated to others (`dedicatedTo`). gpuc adds tolerations
    /// for all of these pools. A pool with `allocation: dra` must be named explicitly. Workloads without GPUs use a
    /// pool with GPUs only if they name it or no pool without GPUs exists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pool: Option<Spanned<String>>,
    /// The name of a `PriorityClass` of the cluster. It determines which pods are scheduled first when capacity is
    /// short.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["batch"]))]
    pub priority: Option<Spanned<String>>,
    /// A test that GPUs work: one Job on each of its pools. Without `pool`, it runs on every pool with GPUs, including
    /// dedicated pools. It runs as an unprivileged user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cuda_test: Option<Spanned<CudaTest>>,
    /// A test of the network between GPUs of several nodes: it measures an `all_reduce`, verifies the sums, and fails
    /// if NCCL does not use the pool's network or if the bandwidth is too low. It is a Kubernetes Job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fabric_test: Option<Spanned<FabricTest>>,
    /// A run to completion, as a Kubernetes Job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<Spanned<Job>>,
    /// Scheduled runs, as a Kubernetes `CronJob`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cron_job: Option<Spanned<CronJob>>,
    /// A service, as a Deployment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deployment: Option<Spanned<Deployment>>,
    /// A service whose pods have stable names and volumes, as a `StatefulSet`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stateful_set: Option<Spanned<StatefulSet>>,
    /// A multi-node training run with PyTorch, as a `TrainJob` of Kubeflow Trainer, which gpuc installs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub train_job: Option<Spanned<TrainJob>>,
    /// A training run as a `PyTorchJob`, on clusters with an existing Kubeflow Training Operator v1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pytorch_job: Option<Spanned<PytorchJob>>,
    /// Pods on several nodes that start and fail together, as a `JobSet`, which gpuc installs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job_set: Option<Spanned<JobSet>>,
    /// A model served by groups of pods on several nodes, as a `LeaderWorkerSet`, which gpuc installs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leader_worker_set: Option<Spanned<LeaderWorkerSet>>,
    /// A patch of the pod `spec`: mappings are merged, lists of named items are merged by name, `null` deletes a field,
    /// and any other value is replaced.
    #[serde(default, skip_serializing_if = "is_empty")]
    #[schemars(extend("examples" = [{"hostIPC": true}]))]
    pub pod_patch: Spanned<Fragment>,
    /// A patch of the object itself, with the merge rules of `podPatch`. It cannot change the object's name or kind.
    #[serde(default, skip_serializing_if = "is_empty")]
    #[schemars(extend("examples" = [{"metadata": {"annotations": {"example.com/owner": "research"}}}]))]
    pub patch: Spanned<Fragment>,
}

/// The task of a workload, by kind.
#[derive(Clone, Copy, Debug)]
pub enum Task<'w> {
    /// A GPU test.
    CudaTest(&'w CudaTest),
    /// A test of the network between GPUs.
    FabricTest(&'w FabricTest),
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
    /// The kinds that are set, each with its key and span; a valid workload has exactly one.
    pub fn tasks(&self) -> Vec<(&'static str, Span, Task<'_>)> {
        let mut found = Vec::new();
        macro_rules! collect {
            ($($field:ident $key:literal $task:ident,)*) => {
                $(if let Some(it) = &self.$field {
                    found.push(($key, it.span, Task::$task(&it.value)));
                })*
            };
        }
        collect! {
            cuda_test "cudaTest" CudaTest,
            fabric_test "fabricTest" FabricTest,
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

    /// The workload's task, if exactly one kind is set.
    pub fn task(&self) -> Option<Task<'_>> {
        match self.tasks().as_slice() {
            [(_, _, task)] => Some(*task),
            _ => None,
        }
    }
}

/// The keys that select the kind of a workload.
pub const TASKS: &[&str] = &[
    "cudaTest",
    "fabricTest",
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
    /// The settings of the task's pods; `None` for tests.
    pub fn pods(self) -> Option<Pods<'w>> {
        Some(match self {
            Self::CudaTest(_) | Self::FabricTest(_) => return None,
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

    /// The task's image, if set.
    pub fn image(self) -> Option<&'w Spanned<String>> {
        match self {
            Self::CudaTest(it) => it.image.as_ref(),
            Self::FabricTest(it) => it.image.as_ref(),
            task => task.pods().map(|pods| pods.image),
        }
    }

    /// The memory of each pod, if set.
    pub fn memory(self) -> Option<&'w Spanned<Quantity>> {
        match self {
            Self::FabricTest(it) => it.memory.as_ref(),
            task => task.pods().and_then(|pods| pods.memory),
        }
    }

    /// The number of GPUs, MIG devices or replicas that each pod requests, if set.
    pub fn gpus(self) -> Option<&'w Spanned<u32>> {
        match self {
            Self::CudaTest(it) => it.gpus.as_ref(),
            Self::FabricTest(it) => Some(&it.gpus_per_node),
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

    /// The number of nodes of a multi-node task; `None` for tasks with independent pods.
    pub fn nodes(self) -> Option<&'w Spanned<u32>> {
        match self {
            Self::FabricTest(it) => Some(&it.nodes),
            Self::TrainJob(it) => Some(&it.nodes),
            Self::PytorchJob(it) => Some(&it.nodes),
            Self::JobSet(it) => Some(&it.nodes),
            Self::LeaderWorkerSet(it) => Some(&it.nodes),
            _ => None,
        }
    }

    /// The maximum number of concurrent pods.
    pub fn max_pods(self) -> u32 {
        match self {
            Self::CudaTest(_) | Self::CronJob(_) => 1,
            Self::FabricTest(it) => it.nodes.value,
            // A Job does not run more pods than it has completions left.
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

    /// The service that exposes the task, if any.
    pub fn service(self) -> Option<&'w Service> {
        match self {
            Self::Deployment(it) => it.service.as_ref(),
            Self::StatefulSet(it) => it.service.as_ref(),
            Self::LeaderWorkerSet(it) => it.service.as_ref(),
            _ => None,
        }
    }

    /// The probes of the task's pods, if any.
    pub fn probes(self) -> Option<&'w Probes> {
        match self {
            Self::Deployment(it) => it.probes.as_ref(),
            Self::StatefulSet(it) => it.probes.as_ref(),
            Self::LeaderWorkerSet(it) => it.probes.as_ref(),
            _ => None,
        }
    }
}

/// The default number: one.
fn one() -> Spanned<u32> {
    Spanned::without_span(1)
}

fn is_empty(fragment: &Spanned<Fragment>) -> bool {
    fragment.value.is_empty()
}
