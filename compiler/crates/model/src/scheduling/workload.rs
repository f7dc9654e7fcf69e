//! The resources that workloads use at the same time.

use std::collections::BTreeSet;

use gpuc_schema::config::{Task, VolumeFrom, Workload};
use gpuc_schema::{Span, Spanned};
use gpuc_syntax::diag::phrases::pluralize;

use super::reason::{gib, in_cores};
use super::{Demand, fitting_pools, pod_sets};
use crate::{Cluster, Pool, Sharing};

/// A running workload, with the pools that it fits on.
#[derive(Clone, Debug)]
pub struct RunningWorkload<'c> {
    /// The workload of the file; `None` for a workload from a manifest.
    pub workload: Option<&'c Spanned<Workload>>,
    /// The name of the workload in messages: ``workload `chat` ``.
    pub title: String,
    /// The namespace of its pods, if it is set.
    pub namespace: Option<&'c str>,
    /// The name of its team.
    pub team: Option<&'c str>,
    /// The location of its size.
    pub span: Span,
    /// Whether a patch changed its size.
    pub is_patched: bool,
    /// Whether it runs until it is deleted, as services do. Jobs end.
    pub is_long_running: bool,
    /// Its pods, in groups of identical pods.
    pub groups: Vec<PodGroup>,
    /// The pools that its pods fit on.
    pub pools: Vec<&'c Pool>,
    /// The size of its claimed volumes, in bytes.
    pub storage: u64,
}

/// Identical pods of a workload.
#[derive(Clone, Debug)]
pub struct PodGroup {
    /// The minimum number of pods while the workload runs.
    pub pods: u64,
    /// The number of pods in each pod set that a queue admits as a unit.
    pub pod_sets: Vec<u64>,
    /// The scheduling requirements of each pod.
    pub demand: Demand,
}

impl<'c> RunningWorkload<'c> {
    /// The pods and pools of a workload of the file. `None` for a workload that does not fit on any pool, which another
    /// rule reports, and for a test, which completes before another workload has to wait for it.
    pub fn from_workload(cluster: &'c Cluster, workload: &'c Spanned<Workload>) -> Option<Self> {
        let task = workload.task()?;
        if matches!(task, Task::CudaTest(_) | Task::FabricTest(_)) {
            return None;
        }
        let pools = fitting_pools(cluster, workload);
        let first = pools.first()?;
        let group = PodGroup {
            pods: u64::from(min_pods(task)),
            pod_sets: pod_sets(task),
            demand: Demand::for_workload(cluster, workload, first),
        };
        Some(Self {
            workload: Some(workload),
            title: format!("workload `{}`", workload.name),
            namespace: Some(cluster.namespace_of(workload)),
            team: workload.team.as_ref().map(|team| team.as_str()),
            span: workload.name.span,
            is_patched: false,
            is_long_running: is_long_running(task),
            groups: vec![group],
            pools,
            storage: claimed_storage(task),
        })
    }

    /// The requests of all pods for a resource.
    pub fn requested(&self, resource: &QuotaResource) -> u64 {
        if *resource == QuotaResource::Storage {
            return self.storage;
        }
        let all = self.groups.iter().map(|group| {
            let each = group.per_pod(resource);
            each.saturating_mul(group.pods)
        });
        all.fold(0, u64::saturating_add)
    }

    /// The number of pods and the request of each pod for a resource, by group.
    pub fn requests_by_group(&self, resource: &QuotaResource) -> Vec<(u64, u64)> {
        let groups = self.groups.iter();
        let each = groups.map(|group| (group.pods, group.per_pod(resource)));
        each.collect()
    }

    /// Whether a default applies because its pods do not request the resource.
    pub fn has_default_request(&self, resource: &QuotaResource) -> bool {
        let mut demands = self.groups.iter().map(|group| &group.demand);
        demands.any(|demand| match resource {
            QuotaResource::Cpu => demand.cpu.is_some_and(|it| it.is_default),
            QuotaResource::Memory => demand.memory.is_some_and(|it| it.is_default),
            QuotaResource::Device(_) | QuotaResource::Pods | QuotaResource::Storage => false,
        })
    }

    /// The devices that its pods request.
    pub fn devices(&self) -> BTreeSet<String> {
        let groups = self.groups.iter();
        let names = groups.flat_map(|group| {
            let requests = group.demand.resources.iter();
            let requests = requests.map(|it| it.resource.value.clone());
            let claims = group.demand.claims.iter();
            requests.chain(claims.map(|it| it.class.value.clone()))
        });
        names.collect()
    }

    /// Whether its pods share GPUs through one ResourceClaim, which counts once.
    pub fn shares_a_claim(&self) -> bool {
        let mut groups = self.groups.iter();
        let claims = groups.any(|group| !group.demand.claims.is_empty());
        let mut pools = self.pools.iter();
        claims && pools.any(|pool| matches!(pool.sharing.get(), Some(Sharing::Mps { .. })))
    }
}

/// A resource that quotas and pools limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QuotaResource {
    /// Devices of a resource or a class.
    Device(String),
    /// Thousandths of a core.
    Cpu,
    /// Bytes of main memory.
    Memory,
    /// Pods.
    Pods,
    /// Bytes of claimed volumes.
    Storage,
}

impl QuotaResource {
    /// An amount of the resource, as text.
    pub fn format_amount(&self, amount: u64) -> String {
        match self {
            Self::Device(name) => format!("{amount} of `{name}`"),
            Self::Cpu => in_cores(amount),
            Self::Memory => format!("{} of memory", gib(amount)),
            Self::Pods => pluralize(amount, "pod"),
            Self::Storage => format!("{} of storage", gib(amount)),
        }
    }
}

impl PodGroup {
    /// The request of each of its pods for a resource.
    pub(super) fn per_pod(&self, resource: &QuotaResource) -> u64 {
        let demand = &self.demand;
        match resource {
            QuotaResource::Device(name) => {
                let requests = demand
                    .resources
                    .iter()
                    .filter(|it| it.resource.value == *name)
                    .map(|it| it.count);
                let claims = demand
                    .claims
                    .iter()
                    .filter(|it| it.class.value == *name)
                    .map(|it| it.count);
                requests.chain(claims).fold(0, u64::saturating_add)
            }
            QuotaResource::Cpu => demand.cpu.map_or(0, |it| it.value),
            QuotaResource::Memory => demand.memory.map_or(0, |it| it.value),
            QuotaResource::Pods => 1,
            // Volumes belong to the workload, not to a pod.
            QuotaResource::Storage => 0,
        }
    }
}

/// The total size of a task's claims in bytes, including those of every pod of a StatefulSet.
pub fn claimed_storage(task: Task<'_>) -> u64 {
    let volumes = task.pods().map_or(&[][..], |pods| pods.volumes);
    let sizes = volumes.iter().map(|volume| match &volume.from.value {
        VolumeFrom::Claim(claim) => u64::from(claim.size_gib.value) << 30,
        _ => 0,
    });
    let copies = match task {
        Task::StatefulSet(it) => it.replicas.value,
        _ => 1,
    };
    let all = sizes.fold(0, u64::saturating_add);
    all.saturating_mul(u64::from(copies))
}

/// Whether a task runs until it is deleted.
pub fn is_long_running(task: Task<'_>) -> bool {
    matches!(
        task,
        Task::Deployment(_) | Task::StatefulSet(_) | Task::LeaderWorkerSet(_)
    )
}

/// The minimum number of pods while a task runs: an autoscaler adds more only if they fit.
fn min_pods(task: Task<'_>) -> u32 {
    match task {
        Task::Deployment(it) => match &it.autoscaling {
            Some(scaling) => scaling.min.value,
            None => it.replicas.value,
        },
        task => task.max_pods(),
    }
}

#[cfg(test)]
mod tests {
    use gpuc_schema::Spanned;

    use super::super::demand::{Claim, Request};
    use super::*;

    #[test]
    fn requests_and_claims_of_one_name_are_added() {
        let name = |name: &str| Spanned::without_span(name.to_owned());
        let request = |resource: &str, count| Request {
            resource: name(resource),
            count,
            container_max: count,
            span: Span::NONE,
        };
        let claim = |class: &str, count| Claim {
            class: name(class),
            count,
            span: Span::NONE,
        };
        let group = PodGroup {
            pods: 1,
            pod_sets: vec![1],
            demand: Demand {
                resources: vec![request("a", 1), request("b", 2)],
                claims: vec![claim("a", 4), claim("c", 8)],
                ..Demand::default()
            },
        };
        for (device, expected) in [("a", 5), ("b", 2), ("c", 8), ("d", 0)] {
            let resource = QuotaResource::Device(device.to_owned());
            assert_eq!(group.per_pod(&resource), expected, "{device}");
        }
        assert_eq!(group.per_pod(&QuotaResource::Cpu), 0);
        assert_eq!(group.per_pod(&QuotaResource::Pods), 1);
    }
}
