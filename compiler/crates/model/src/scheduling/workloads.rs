//! The scheduling requirements of workloads of the file, and the pools that they fit on.

use gpuc_schema::config::{Allocation, NotebookProfile, Task, Workload};
use gpuc_schema::{Span, Spanned};
use gpuc_syntax::node::Node;

use serde_json::json;

use super::{
    Amount, Claim, DefaultRequests, Demand, Feasibility, Image, PodToleration, Request, check_pool,
};
use crate::{Cluster, DeviceClass, PodGpuRequest, Pool, Sharing};

impl Demand {
    /// The requirements of each pod of a workload on a pool, including tolerations, which follow from the pool. The
    /// defaults of its namespace apply if it sets no requests.
    pub fn for_workload(cluster: &Cluster, workload: &Workload, pool: &Pool) -> Self {
        let Some(task) = workload.task() else {
            return Self::default();
        };
        let pods = task.pods();
        let defaults = DefaultRequests::for_namespace(cluster, cluster.namespace_of(workload));
        let sidecars = sidecar_demand(cluster, task, pool, &defaults);
        let sum_with_sidecars =
            |own: Option<Amount>, defaults: Option<Amount>, sidecars: Option<Amount>| {
                let own = own.or(defaults)?;
                Some(sidecars.map_or(own, |sidecars| own.plus(sidecars)))
            };
        let cpu = pods.and_then(|it| Amount::from_quantity(it.cpu, 1));
        let memory = Amount::from_quantity(task.memory(), 1000);
        let mut demand = Self {
            cpu: sum_with_sidecars(cpu, defaults.cpu, sidecars.cpu),
            memory: sum_with_sidecars(memory, defaults.memory, sidecars.memory),
            tolerations: pool.tolerations.iter().map(toleration_from_pool).collect(),
            gpus_communicate: task.nodes().is_some(),
            images: task.image().cloned().map(Image::new).into_iter().collect(),
            pods: task.nodes().copied(),
            anti_affinity: task.nodes().is_some(),
            ..Self::default()
        };
        if let Some(gpu_request) = PodGpuRequest::for_task(task) {
            let written = task.gpus().map(|gpus| gpus.span);
            let span = written.or(gpu_request.profile.map(|it| it.span));
            let span = span.unwrap_or(workload.name.span);
            match claimed_class(cluster, workload, gpu_request, pool) {
                Some(class) => demand.claims.push(Claim {
                    class: Spanned::new(class.name.clone(), span),
                    count: u64::from(gpu_request.count),
                    span,
                }),
                None => demand.add_gpu_request(task, gpu_request, span, pool),
            }
        }
        demand
    }

    /// The requirements of a notebook on a pool, without GPUs. There are no defaults.
    pub fn for_notebook(profile: &NotebookProfile, pool: &Pool) -> Self {
        Self {
            cpu: Amount::from_quantity(profile.cpu.as_ref(), 1),
            memory: Amount::from_quantity(profile.memory.as_ref(), 1000),
            tolerations: pool.tolerations.iter().map(toleration_from_pool).collect(),
            ..Self::default()
        }
    }

    fn add_gpu_request(
        &mut self,
        task: Task<'_>,
        gpu_request: PodGpuRequest<'_>,
        span: Span,
        pool: &Pool,
    ) {
        let count = u64::from(gpu_request.count);
        let is_test = matches!(task, Task::CudaTest(_));
        let resource = match (
            gpu_request.profile,
            gpu_request.device_request(pool, is_test),
        ) {
            // Without a profile or known devices, the request is for GPUs.
            (None, None) => "nvidia.com/gpu".to_owned(),
            (Some(profile), None) => format!("nvidia.com/mig-{}", profile.replace('+', ".")),
            (_, Some(devices)) => devices.resource,
        };
        let named = gpu_request.profile.map_or(span, |profile| profile.span);
        let resource = Spanned::new(resource, named);
        self.resources.push(Request::new(&resource, count, span));
    }
}

/// The DeviceClass that the pods of a workload claim on a pool. Before Kubernetes creates claims for extended
/// resources, workloads use DRA only if they name the pool.
fn claimed_class<'p>(
    cluster: &Cluster,
    workload: &Workload,
    gpu_request: PodGpuRequest<'_>,
    pool: &'p Pool,
) -> Option<&'p DeviceClass> {
    let is_bridged = gpu_request.profile.is_none() && cluster.bridges_extended_resources();
    let is_claimed = pool.allocation.value == Allocation::Dra;
    (is_claimed && (is_bridged || workload.pool.is_some()))
        .then(|| gpu_request.device_class(pool))
        .flatten()
}

/// The requests of the sidecars that move packets, on pools with such an interconnect.
fn sidecar_demand(
    cluster: &Cluster,
    task: Task<'_>,
    pool: &Pool,
    defaults: &DefaultRequests,
) -> Demand {
    if task.nodes().is_none_or(|nodes| nodes.value == 1) {
        return Demand::default();
    }
    let containers = cluster
        .cloud
        .interconnect_settings(cluster, pool)
        .additions
        .sidecars;
    Demand::from_pod_spec(
        &Node::from_json(json!({"initContainers": containers})),
        defaults,
    )
}

fn toleration_from_pool(toleration: &crate::Toleration) -> PodToleration {
    PodToleration {
        key: toleration.key.clone(),
        matches_any_value: toleration.value.is_empty(),
        value: toleration.value.clone(),
        effect: String::new(),
        span: Span::NONE,
    }
}

/// The pools that a workload can use and that its pods fit on.
pub fn fitting_pools<'c>(cluster: &'c Cluster, workload: &Workload) -> Vec<&'c Pool> {
    cluster.candidate_pools_among(workload, |pool| shortage(cluster, workload, pool).is_none())
}

/// The reason why a workload does not fit on a pool, independent of other pools.
fn shortage(cluster: &Cluster, workload: &Workload, pool: &Pool) -> Option<(String, Span)> {
    let demand = Demand::for_workload(cluster, workload, pool);
    let evaluation = check_pool(&demand, cluster, pool);
    let mut reasons = evaluation.reasons.iter();
    if let Some(reason) = reasons.find(|reason| reason.feasibility == Feasibility::DoesNotFit) {
        return Some((reason.to_string(), reason.pool_span));
    }
    let claim_reason = claim_shortage(workload, pool)?;
    Some((claim_reason, pool.sharing_span))
}

/// The reason why a workload does not run on a pool, as a predicate of the pool, with the location of the cause.
pub fn misfit_reason(
    cluster: &Cluster,
    workload: &Workload,
    pool: &Pool,
) -> Option<(String, Span)> {
    let reason = shortage(cluster, workload, pool);
    if reason.is_some() || workload.pool.is_some() {
        return reason;
    }
    let mut all = fitting_pools(cluster, workload).into_iter();
    if all.any(|other| other.index == pool.index) {
        return None;
    }
    // The remaining pools are used only by workloads that name them.
    let owner = pool.settings.dedicated_to.as_ref();
    let team = workload.team.as_ref();
    if let Some(owner) = owner.filter(|owner| team != Some(owner)) {
        return Some((format!("is dedicated to `{owner}`"), owner.span));
    }
    let span = pool.sharing_span;
    let shared = !matches!(pool.sharing.get(), Some(Sharing::Exclusive));
    let reason = if pool.allocation.value == Allocation::Dra {
        "allocates its GPUs through DRA, and is used only by workloads that name it"
    } else if shared {
        "shares its GPUs, and is used only by workloads that name it"
    } else if workload.task().and_then(PodGpuRequest::for_task).is_none() {
        "has GPUs, and is used by workloads without GPUs only if they name it"
    } else {
        "has a slower interconnect than other pools"
    };
    Some((reason.to_owned(), span))
}

/// The reason why one ResourceClaim, which all pods of a workload use if they share a GPU through MPS, is not enough.
/// All pods that use a claim run on the node of its GPU.
fn claim_shortage(workload: &Workload, pool: &Pool) -> Option<String> {
    let task = workload.task()?;
    let gpu_request = PodGpuRequest::for_task(task)?;
    gpu_request.device_class(pool)?;
    let Some(Sharing::Mps { replicas, .. }) = pool.sharing.get() else {
        return None;
    };
    let pods = task.max_pods();
    if gpu_request.count > 1 {
        let count = gpu_request.count;
        Some(format!(
            "shares one GPU among the pods of a ResourceClaim, but each pod requests {count}"
        ))
    } else if task.nodes().is_some_and(|nodes| nodes.value > 1) {
        Some(
            "shares its GPUs through ResourceClaims, each of which is limited to one node"
                .to_owned(),
        )
    } else if pods > replicas.value {
        Some(format!(
            "allows {replicas} pods to share a ResourceClaim, not {pods}"
        ))
    } else {
        None
    }
}
