//! The pools, namespaces and resource requests of workloads.

use gpuc_schema::Spanned;
use gpuc_schema::config::{Allocation, Gpudirect, TaintEffect, Task, Workload};

use super::{
    Cluster, DeviceClass, DeviceKind, ExtendedResourceRequest, Pool, PoolTaint, Sharing, Team,
};

/// The label of all objects of a workload, with the name of the workload.
pub const WORKLOAD_LABEL: &str = "gpuc.dev/workload";

/// The namespace of workloads without a team.
pub const WORKLOADS_NAMESPACE: &str = "workloads";

/// The GPUs that each pod of a workload requests.
#[derive(Clone, Copy, Debug)]
pub struct PodGpuRequest<'w> {
    /// The number of GPUs, MIG devices or replicas.
    pub count: u32,
    /// The MIG profile, for MIG devices that are advertised by profile.
    pub profile: Option<&'w Spanned<String>>,
}

impl<'w> PodGpuRequest<'w> {
    /// The request of the pods of a task; `None` if they need no GPU.
    pub fn for_task(task: Task<'w>) -> Option<Self> {
        let profile = task.pods().and_then(|pods| pods.profile);
        let written = task.gpus().map(|gpus| gpus.value);
        let is_implied = profile.is_some() || matches!(task, Task::CudaTest(_));
        let count = written.or(is_implied.then_some(1))?;
        Some(Self { count, profile })
    }

    /// The resource that a device plugin advertises for the request on a pool, whether the number suffices or not. A
    /// test uses a MIG device if the pool has nothing else.
    pub fn device_request(&self, pool: &Pool, is_test: bool) -> Option<ExtendedResourceRequest> {
        let advertised = pool.advertised.get()?;
        let gpu = advertised.iter().find(|it| !it.name.contains("/mig-"));
        let resource = match self.profile {
            Some(profile) => format!("nvidia.com/mig-{}", profile.replace('+', ".")),
            None if is_test => gpu.or(advertised.first())?.name.clone(),
            None => gpu?.name.clone(),
        };
        let count = self.count;
        Some(ExtendedResourceRequest { resource, count })
    }

    /// The DeviceClass for the request on a pool.
    pub fn device_class<'p>(&self, pool: &'p Pool) -> Option<&'p DeviceClass> {
        let mut classes = pool.classes.iter();
        classes.find(|class| match (class.device_kind, self.profile) {
            (DeviceKind::FullGpu, None) => true,
            (DeviceKind::MigDevice(mig_profile), Some(profile)) => {
                mig_profile.name == profile.value
            }
            _ => false,
        })
    }

    /// The number of matching devices on a node of a pool.
    pub fn per_node(&self, pool: &Pool, is_test: bool) -> u32 {
        if let Some(class) = self.device_class(pool) {
            return class.per_node;
        }
        let Some(devices) = self.device_request(pool, is_test) else {
            return 0;
        };
        let advertised = pool.advertised.get().map_or(&[][..], Vec::as_slice);
        let mut advertised = advertised.iter();
        let resource = advertised.find(|it| it.name == devices.resource);
        resource.map_or(0, |resource| resource.per_node)
    }
}

impl Cluster {
    /// The team with this name.
    pub fn team(&self, name: &str) -> Option<&Team> {
        self.teams.iter().find(|team| team.name.value == name)
    }

    /// The namespace of a workload.
    pub fn namespace_of<'c>(&'c self, workload: &'c Workload) -> &'c str {
        if let Some(namespace) = &workload.namespace {
            return namespace;
        }
        let Some(name) = &workload.team else {
            return WORKLOADS_NAMESPACE;
        };
        let first = self.team(name).and_then(|team| team.namespaces.first());
        first.map_or(name.as_str(), |namespace| namespace.as_str())
    }

    /// The name of the ResourceClaims of a workload on a pool: a test has one for each of its pools.
    pub fn claim_name(&self, workload: &Workload, pool: &Pool) -> String {
        match workload.task() {
            Some(Task::CudaTest(_)) => format!("{}-{}", workload.name, pool.name),
            _ => workload.name.value.clone(),
        }
    }

    /// The pools that a workload can run on: its `pool`, otherwise every pool that provides the requested GPUs and is
    /// not dedicated to another team. Pods on several nodes use pools with the same interconnect, if one has any.
    pub fn candidate_pools(&self, workload: &Workload) -> Vec<&Pool> {
        self.candidate_pools_among(workload, |_| true)
    }

    /// The pools that a workload can run on, of those that fulfil `filter`. Other pools do not influence the selection.
    pub fn candidate_pools_among(
        &self,
        workload: &Workload,
        filter: impl Fn(&Pool) -> bool,
    ) -> Vec<&Pool> {
        if let Some(name) = &workload.pool {
            return self
                .pool(name)
                .into_iter()
                .filter(|it| filter(it))
                .collect();
        }
        let Some(task) = workload.task() else {
            return Vec::new();
        };
        let pools = self.pools.iter();
        let mut pools: Vec<&Pool> = match PodGpuRequest::for_task(task) {
            None => pools
                .filter(|it| {
                    self.accepts_cpu_pods(it) && is_available_to(it, workload) && filter(it)
                })
                .collect(),
            Some(request) => pools
                .filter(|it| accepts_request(it, workload, task, request) && filter(it))
                .collect(),
        };
        if task.nodes().is_some_and(|nodes| nodes.value > 1) {
            retain_same_interconnect(&mut pools);
        }
        pools
    }

    /// Whether pods without GPUs can use a pool that they do not name: a pool without GPUs, or, if all pools have GPUs,
    /// a pool without taints that repel pods.
    fn accepts_cpu_pods(&self, pool: &Pool) -> bool {
        let repels = |taint: &PoolTaint| taint.effect != TaintEffect::PreferNoSchedule;
        let all_have_gpus = self.pools.iter().all(|pool| pool.has_gpus());
        !pool.has_gpus() || (all_have_gpus && !pool.taints.iter().any(repels))
    }
}

/// Whether a pool is not dedicated, or is dedicated to the team of a workload.
fn is_available_to(pool: &Pool, workload: &Workload) -> bool {
    let dedicated_to = pool.settings.dedicated_to.as_ref();
    dedicated_to.is_none_or(|name| workload.team.as_ref().is_some_and(|team| team == name))
}

/// Whether a workload that names no pool can use this one.
fn accepts_request(
    pool: &Pool,
    workload: &Workload,
    task: Task<'_>,
    request: PodGpuRequest<'_>,
) -> bool {
    // Each pool has its own test, regardless of its dedication and sharing.
    if matches!(task, Task::CudaTest(_)) {
        return request.per_node(pool, true) >= request.count;
    }
    let is_exclusive = matches!(pool.sharing.get(), Some(Sharing::Exclusive));
    pool.allocation.value == Allocation::DevicePlugin
        && is_available_to(pool, workload)
        && (is_exclusive || request.profile.is_some())
        && request.per_node(pool, false) >= request.count
}

/// Keeps the pools with the same interconnect as the first pool that has one.
fn retain_same_interconnect(pools: &mut Vec<&Pool>) {
    let interconnect = |pool: &Pool| {
        let advertised = pool
            .interconnect
            .iter()
            .map(|resource| (resource.name.clone(), resource.per_node));
        let gpudirect = pool
            .settings
            .network
            .gpudirect
            .iter()
            .flat_map(|it| match &it.value {
                Gpudirect::Interfaces(interfaces) => (interfaces.iter())
                    .map(|it| (it.subnetwork.value.clone(), 1))
                    .collect(),
                // The networks depend on the machine type.
                Gpudirect::Create(_) | Gpudirect::Managed(_) => {
                    let machine = pool.machine_name.iter();
                    machine
                        .map(|machine| (machine.value.clone(), 1))
                        .collect::<Vec<_>>()
                }
            });
        let domains = pool.settings.network.compute_domains.iter();
        let domains = domains.map(|_| ("ComputeDomain".to_owned(), 1));
        advertised
            .chain(gpudirect)
            .chain(domains)
            .collect::<Vec<_>>()
    };
    let first = pools
        .iter()
        .map(|pool| interconnect(pool))
        .find(|resources| !resources.is_empty());
    if let Some(first) = first {
        pools.retain(|pool| interconnect(pool) == first);
    }
}
