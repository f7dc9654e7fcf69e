//! Workloads: the main object of each, and the objects that belong to it.

mod batch;
mod distributed;
mod fabric_test;
mod interconnect;
mod leader_worker_set;
mod patch;
mod pod;
mod service;
mod train_job;
mod volumes;

use gpuc_model::check::Checked;
use gpuc_model::derive::origins;
use gpuc_model::plan::{Object, WorkloadSummary};
use gpuc_model::{DEFAULT_QUEUE, PodGpuRequest, Pool, QUEUE_LABEL, WORKLOAD_LABEL, scheduling};
use gpuc_schema::Spanned;
use gpuc_schema::config::{Queueing, Task, Workload};
use gpuc_syntax::node::{Node, Origin};
use serde_json::{Value, json};

use super::test_pod_class;

pub(crate) use patch::pod_specs;

/// The folder of the manifests.
pub(crate) const COMPONENT: &str = "workloads";

/// The folder of the runtimes of TrainJobs: the Trainer rejects a job whose runtime does not exist.
pub(crate) const RUNTIMES: &str = "training-runtimes";

/// A workload and its pools.
pub(super) struct WorkloadContext<'c> {
    cluster: &'c Checked<'c>,
    workload: &'c Spanned<Workload>,
    task: Task<'c>,
    /// The pools that it can run on.
    pools: Vec<&'c Pool>,
    gpu_request: Option<PodGpuRequest<'c>>,
}

/// The objects of all workloads, with the user's patches.
pub(super) fn objects(cluster: &Checked<'_>) -> Vec<Object> {
    let workloads = cluster.config.workloads.iter();
    workloads
        .flat_map(|workload| patched_objects(cluster, workload))
        .collect()
}

/// The objects of one workload, with the user's patches.
pub(crate) fn patched_objects(cluster: &Checked<'_>, workload: &Spanned<Workload>) -> Vec<Object> {
    let mut objects = unpatched_objects(cluster, workload);
    for object in &mut objects {
        patch::apply(workload, object);
    }
    objects
}

/// The objects of one workload, before patches.
pub(crate) fn unpatched_objects(
    cluster: &Checked<'_>,
    workload: &Spanned<Workload>,
) -> Vec<Object> {
    let Some(task) = workload.task() else {
        unreachable!("GPUC2180 rejects workloads without exactly one kind");
    };
    let work = WorkloadContext {
        cluster,
        workload,
        task,
        pools: allowed_pools(cluster, workload, task),
        gpu_request: PodGpuRequest::for_task(task),
    };
    let mut objects = match task {
        Task::CudaTest(it) => return batch::cuda_tests(&work, it),
        Task::FabricTest(it) => fabric_test::objects(&work, it),
        Task::Job(it) => vec![batch::job(&work, it)],
        Task::CronJob(it) => vec![batch::cron_job(&work, it)],
        Task::Deployment(it) => service::deployment(&work, it),
        Task::StatefulSet(it) => service::stateful_set(&work, it),
        Task::TrainJob(it) => train_job::objects(&work, it),
        Task::PytorchJob(it) => vec![distributed::pytorch_job(&work, it)],
        Task::JobSet(it) => vec![distributed::job_set(&work, it)],
        Task::LeaderWorkerSet(it) => leader_worker_set::objects(&work, it),
    };
    objects.extend(pod::claim_objects(&work));
    objects.extend(volumes::volume_claims(&work));
    objects
}

/// The pools to which a workload's pods are restricted.
fn allowed_pools<'c>(
    cluster: &'c Checked<'_>,
    workload: &Workload,
    task: Task<'_>,
) -> Vec<&'c Pool> {
    let mut pools = scheduling::fitting_pools(cluster, workload);
    // A pod has one runtime class.
    let class = |pool: &Pool| test_pod_class(cluster, pool);
    let first = pools.first().and_then(|pool| class(pool));
    let is_test = matches!(task, Task::CudaTest(_));
    pools.retain(|pool| is_test || class(pool) == first);
    pools
}

/// The summaries of the workloads for the generated README.
pub(super) fn summaries(cluster: &Checked<'_>) -> Vec<WorkloadSummary> {
    let workloads = cluster.config.workloads.iter();
    let summary = |workload: &Spanned<Workload>| {
        let (kind, _, task) = *workload.tasks().first()?;
        let pools = allowed_pools(cluster, workload, task);
        let is_test = matches!(task, Task::CudaTest(_));
        let gpu_request = PodGpuRequest::for_task(task);
        let mut requests: Vec<String> = Vec::new();
        for pool in pools.iter().filter(|_| gpu_request.is_some()) {
            let class = gpu_request?
                .device_class(pool)
                .map(|class| class.name.clone());
            let name =
                class.or_else(|| Some(gpu_request?.device_request(pool, is_test)?.resource))?;
            let request = format!("{name}: {}", gpu_request?.count);
            if !requests.contains(&request) {
                requests.push(request);
            }
        }
        let team = workload.team.as_ref();
        Some(WorkloadSummary {
            name: workload.name.value.clone(),
            team: team.map_or_else(String::new, |team| team.value.clone()),
            namespace: cluster.namespace_of(workload).to_owned(),
            kind: kind.to_owned(),
            gpu_requests: requests,
            pools: pools.iter().map(|pool| pool.name.value.clone()).collect(),
        })
    };
    workloads.filter_map(summary).collect()
}

/// The namespaces of workloads, with whether their pods need the privileged standard, by name.
pub(super) fn namespaces(cluster: &Checked<'_>) -> Vec<(String, bool, Origin)> {
    let mut found: Vec<(String, bool, Vec<gpuc_schema::Span>)> = Vec::new();
    for workload in &cluster.config.workloads {
        let name = cluster.namespace_of(workload).to_owned();
        let uses_fabric = workload.task().is_some_and(interconnect::uses_interconnect);
        let pools = scheduling::fitting_pools(cluster, workload);
        let is_privileged =
            uses_fabric && pools.iter().any(|pool| pool.is_interconnect_privileged());
        match found.iter_mut().find(|(other, ..)| *other == name) {
            Some((_, privileged, spans)) => {
                *privileged |= is_privileged;
                spans.push(workload.span);
            }
            None => found.push((name, is_privileged, vec![workload.span])),
        }
    }
    let reason = "workloads run there, and their pods require this Pod Security Standard";
    (found.into_iter())
        .map(|(name, privileged, spans)| (name, privileged, Origin::rule(spans, reason)))
        .collect()
}

impl<'c> WorkloadContext<'c> {
    fn name(&self) -> &'c str {
        &self.workload.value.name
    }

    fn namespace(&self) -> &'c str {
        self.cluster.namespace_of(self.workload)
    }

    /// The metadata of an object of the workload.
    fn metadata(&self, name: &str) -> Value {
        json!({"name": name, "namespace": self.namespace(), "labels": self.labels()})
    }

    /// The metadata of the object that Kueue admits.
    fn queued_metadata(&self, name: &str) -> Value {
        let mut metadata = self.metadata(name);
        if self.cluster.config.queueing.value == Queueing::Kueue && self.workload.team.is_some() {
            metadata["labels"][QUEUE_LABEL] = json!(DEFAULT_QUEUE);
        }
        metadata
    }

    fn labels(&self) -> Value {
        json!({
            "app.kubernetes.io/name": self.name(),
            "app.kubernetes.io/managed-by": "gpuc",
            WORKLOAD_LABEL: self.name(),
        })
    }

    /// The label selector of its pods.
    fn selector(&self) -> Value {
        json!({WORKLOAD_LABEL: self.name()})
    }

    fn object(&self, component: &str, object: &Value) -> Object {
        let team = self.workload.team.iter().map(|team| team.span);
        let pools = self.pools.iter().flat_map(|pool| {
            let placement = origins::placement_spans(pool);
            placement.into_iter().chain(origins::serving_spans(pool))
        });
        let interconnect = (self.pools.iter().flat_map(|pool| &pool.interconnect))
            .flat_map(|advertised| advertised.origin.inputs().iter().copied());
        let gpudirect = (self.pools.iter())
            .filter_map(|pool| Some(pool.settings.network.gpudirect.as_ref()?.span));
        let mut inputs = vec![self.workload.span];
        let domains = (self.pools.iter())
            .filter_map(|pool| Some(pool.settings.network.compute_domains?.span));
        inputs.extend(team.chain(pools).chain(interconnect));
        inputs.extend(gpudirect.chain(domains));
        inputs.push(self.cluster.config.queueing.span);
        let reason = "the workload's pool, GPUs and team determine where it runs";
        Object::new(component, object, Origin::rule(inputs, reason))
    }
}

/// Removes null and empty fields at the top level.
fn without_empty_fields(mut value: Value) -> Value {
    if let Value::Object(fields) = &mut value {
        fields.retain(|_, value| {
            let empty = value.as_array().is_some_and(Vec::is_empty)
                || value.as_object().is_some_and(serde_json::Map::is_empty);
            !value.is_null() && !empty
        });
    }
    value
}

/// Whether a node is a mapping that has a list of containers: the specification of a pod.
pub(crate) fn is_pod_spec(node: &Node) -> bool {
    node.get("containers")
        .is_some_and(|containers| !containers.items().is_empty())
}
