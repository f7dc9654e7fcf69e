//! Where workloads run and what they ask of nodes: pools, namespaces, resources.

use gpuc_schema::Spanned;
use gpuc_schema::config::{Allocation, TaintEffect, Task, Workload};

use super::{Claimed, Cluster, DeviceClass, Devices, Pool, PoolTaint, Sharing, Team};

/// The label that everything of a workload has, with its name.
pub const WORKLOAD_LABEL: &str = "gpuc.dev/workload";

/// The namespace of workloads that are nobody's.
pub const WORKLOADS_NAMESPACE: &str = "workloads";

/// What each pod of a workload asks of a node's GPUs.
#[derive(Clone, Copy, Debug)]
pub struct GpuAsk<'w> {
    /// How many GPUs, slices or shares.
    pub count: u32,
    /// The MIG profile of slices that have a name of their own.
    pub profile: Option<&'w Spanned<String>>,
}

impl<'w> GpuAsk<'w> {
    /// What the pods of a task ask for; `None` where they need no GPU.
    pub fn of(task: Task<'w>) -> Option<Self> {
        let profile = task.pods().and_then(|pods| pods.profile);
        let asked = task.gpus().map(|gpus| gpus.value);
        let implied = profile.is_some() || matches!(task, Task::CudaTest(_));
        let count = asked.or(implied.then_some(1))?;
        Some(Self { count, profile })
    }

    /// The resource that a device plugin offers for it on a pool, whether there are as many or not. A test takes a
    /// slice where there is nothing else.
    pub fn devices(&self, pool: &Pool, is_test: bool) -> Option<Devices> {
        let offers = pool.offers.get()?;
        let whole = offers.iter().find(|it| !it.resource.contains("/mig-"));
        let resource = match self.profile {
            Some(slice) => format!("nvidia.com/mig-{}", slice.replace('+', ".")),
            None if is_test => whole.or(offers.first())?.resource.clone(),
            None => whole?.resource.clone(),
        };
        let count = self.count;
        Some(Devices { resource, count })
    }

    /// The class that pods claim for it on a pool.
    pub fn class<'p>(&self, pool: &'p Pool) -> Option<&'p DeviceClass> {
        let mut classes = pool.classes.iter();
        classes.find(|class| match (class.device, self.profile) {
            (Claimed::Gpu, None) => true,
            (Claimed::Slice(slice), Some(profile)) => slice.name == profile.value,
            _ => false,
        })
    }

    /// How many there are of it on a node of a pool.
    pub fn per_node(&self, pool: &Pool, is_test: bool) -> u32 {
        if let Some(class) = self.class(pool) {
            return class.per_node;
        }
        let Some(devices) = self.devices(pool, is_test) else {
            return 0;
        };
        let offers = pool.offers.get().map_or(&[][..], Vec::as_slice);
        let mut offers = offers.iter();
        let offer = offers.find(|it| it.resource == devices.resource);
        offer.map_or(0, |offer| offer.per_node)
    }
}

impl Cluster {
    /// The team of this name.
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

    /// What the claims of a workload on a pool are called: a test has one for each of its pools.
    pub fn claim_of(&self, workload: &Workload, pool: &Pool) -> String {
        match workload.task() {
            Some(Task::CudaTest(_)) => format!("{}-{}", workload.name, pool.name),
            _ => workload.name.value.clone(),
        }
    }

    /// The pools that a workload may run on: the one that it names, else every one that has what it asks for and is for
    /// nobody else. Pods on several nodes keep to pools with the same fast network, where one has any.
    pub fn pools_of(&self, workload: &Workload) -> Vec<&Pool> {
        self.pools_among(workload, |_| true)
    }

    /// The pools that a workload may run on, of those that are `fit` for it: what is unfit keeps it from no other.
    pub fn pools_among(&self, workload: &Workload, fit: impl Fn(&Pool) -> bool) -> Vec<&Pool> {
        if let Some(name) = &workload.pool {
            return self.pool(name).into_iter().filter(|it| fit(it)).collect();
        }
        let Some(task) = workload.task() else {
            return Vec::new();
        };
        let pools = self.pools.iter();
        let mut pools: Vec<&Pool> = match GpuAsk::of(task) {
            None => {
                let is_plain = |pool: &Pool| self.is_without_gpus(pool);
                pools
                    .filter(|it| is_plain(it) && is_for(it, workload) && fit(it))
                    .collect()
            }
            Some(ask) => pools
                .filter(|it| may_take(it, workload, task, ask) && fit(it))
                .collect(),
        };
        if task.nodes().is_some_and(|nodes| nodes.value > 1) {
            same_fabric(&mut pools);
        }
        pools
    }

    /// Whether pods without GPUs may use a pool that they do not name: one without, or, where no pool is without, one
    /// whose nodes keep no pods away.
    fn is_without_gpus(&self, pool: &Pool) -> bool {
        let keeps_away = |taint: &PoolTaint| taint.effect != TaintEffect::PreferNoSchedule;
        let is_only = self.pools.iter().all(Pool::has_gpus);
        !pool.has_gpus() || (is_only && !pool.taints.iter().any(keeps_away))
    }
}

/// Whether a pool is for everybody or for the team of a workload.
fn is_for(pool: &Pool, workload: &Workload) -> bool {
    let whom = pool.written.dedicated_to.as_ref();
    whom.is_none_or(|whom| workload.team.as_ref().is_some_and(|team| team == whom))
}

/// Whether a workload that names no pool may use this one.
fn may_take(pool: &Pool, workload: &Workload, task: Task<'_>, ask: GpuAsk<'_>) -> bool {
    // Each pool has a test of its own, whomever it is for and however it is shared.
    if matches!(task, Task::CudaTest(_)) {
        return ask.per_node(pool, true) >= ask.count;
    }
    let whole = matches!(pool.sharing.get(), Some(Sharing::Exclusive));
    pool.allocation.value == Allocation::DevicePlugin
        && is_for(pool, workload)
        && (whole || ask.profile.is_some())
        && ask.per_node(pool, false) >= ask.count
}

fn same_fabric(pools: &mut Vec<&Pool>) {
    let fabric = |pool: &Pool| {
        let offers = pool.fabric.iter();
        let offers = offers.map(|offer| (offer.resource.clone(), offer.per_node));
        let direct = pool.written.network.gpudirect.iter();
        let direct = direct.flat_map(|it| &it.interfaces);
        let direct = direct.map(|it| (it.subnetwork.value.clone(), 1));
        offers.chain(direct).collect::<Vec<_>>()
    };
    let fast = pools.iter().map(|pool| fabric(pool));
    if let Some(first) = fast.into_iter().find(|offers| !offers.is_empty()) {
        pools.retain(|pool| fabric(pool) == first);
    }
}
