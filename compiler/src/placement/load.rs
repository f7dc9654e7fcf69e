//! What the file's workloads keep busy at the same time.

use std::collections::BTreeSet;

use gpuc_schema::config::{Task, VolumeFrom, Workload};
use gpuc_schema::{Span, Spanned};

use super::reason::{gib, in_cores};
use super::{Demand, holding};
use crate::diag::words::counted;
use crate::model::{Cluster, Pool, Sharing};

/// A workload as it runs, with the pools that hold it.
#[derive(Clone, Debug)]
pub struct Load<'c> {
    /// The workload of the file; none for what a manifest makes.
    pub workload: Option<&'c Spanned<Workload>>,
    /// What it is called in messages: ``workload `chat` ``.
    pub title: String,
    /// The namespace of its pods, where somebody says it.
    pub namespace: Option<&'c str>,
    /// The team whose it is, by its name.
    pub team: Option<&'c str>,
    /// Where it says how much it is.
    pub span: Span,
    /// Whether somebody laid something over it that changed this.
    pub patched: bool,
    /// Whether it runs until somebody takes it away, as services do. Jobs end, and others come after them.
    pub lasts: bool,
    /// Its pods: those of a group are alike.
    pub groups: Vec<Group>,
    /// The pools that hold them.
    pub pools: Vec<&'c Pool>,
    /// How many bytes the volumes hold that are claimed for it.
    pub storage: u64,
}

/// Pods of a workload that are alike.
#[derive(Clone, Debug)]
pub struct Group {
    /// How many there are at least while the workload runs.
    pub pods: u64,
    /// What each of them asks for.
    pub demand: Demand,
}

impl<'c> Load<'c> {
    /// What a workload of the file keeps busy. `None` for one that no pool holds, which is said elsewhere, and for a
    /// test, which is over before anything else waits for it.
    pub fn of(cluster: &'c Cluster, workload: &'c Spanned<Workload>) -> Option<Self> {
        let task = workload.task()?;
        if matches!(task, Task::CudaTest(_)) {
            return None;
        }
        let pools = holding(cluster, workload);
        let first = pools.first()?;
        let group = Group {
            pods: u64::from(least_pods(task)),
            demand: Demand::of_workload(cluster, workload, first),
        };
        Some(Self {
            workload: Some(workload),
            title: format!("workload `{}`", workload.name),
            namespace: Some(cluster.namespace_of(workload)),
            team: workload.team.as_ref().map(|team| team.as_str()),
            span: workload.name.span,
            patched: false,
            lasts: lasts(task),
            groups: vec![group],
            pools,
            storage: storage(task),
        })
    }

    /// How much of something all of its pods ask for.
    pub fn asks(&self, what: &What) -> u64 {
        if *what == What::Storage {
            return self.storage;
        }
        let all = self.groups.iter().map(|group| {
            let each = group.each(what);
            each.saturating_mul(group.pods)
        });
        all.fold(0, u64::saturating_add)
    }

    /// How many pods ask for how much of something each.
    pub fn by_pods(&self, what: &What) -> Vec<(u64, u64)> {
        let groups = self.groups.iter();
        let each = groups.map(|group| (group.pods, group.each(what)));
        each.collect()
    }

    /// Whether its pods do not say how much of it they need, and are given some.
    pub fn is_given(&self, what: &What) -> bool {
        let mut demands = self.groups.iter().map(|group| &group.demand);
        demands.any(|demand| match what {
            What::Cpu => demand.cpu.is_some_and(|it| it.is_given),
            What::Memory => demand.memory.is_some_and(|it| it.is_given),
            What::Device(_) | What::Pods | What::Storage => false,
        })
    }

    /// The devices that its pods ask for.
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

    /// Whether its pods share GPUs by one claim that all of them name, so that they count once.
    pub fn shares_a_claim(&self) -> bool {
        let mut groups = self.groups.iter();
        let claims = groups.any(|group| !group.demand.claims.is_empty());
        let mut pools = self.pools.iter();
        claims && pools.any(|pool| matches!(pool.sharing.get(), Some(Sharing::Mps { .. })))
    }
}

/// What is counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
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

impl What {
    /// So much of it, in words.
    pub fn words(&self, amount: u64) -> String {
        match self {
            Self::Device(name) => format!("{amount} of `{name}`"),
            Self::Cpu => in_cores(amount),
            Self::Memory => format!("{} of memory", gib(amount)),
            Self::Pods => counted(amount, "pod"),
            Self::Storage => format!("{} of storage", gib(amount)),
        }
    }
}

impl Group {
    /// How much of something each of its pods asks for.
    fn each(&self, what: &What) -> u64 {
        let demand = &self.demand;
        match what {
            What::Device(name) => {
                let requests = demand.resources.iter();
                let requests = requests.filter(|it| it.resource.value == *name);
                let claims = demand.claims.iter();
                let claims = claims.filter(|it| it.class.value == *name);
                let counts = requests.map(|it| it.count);
                counts
                    .chain(claims.map(|it| it.count))
                    .fold(0, u64::saturating_add)
            }
            What::Cpu => demand.cpu.map_or(0, |it| it.value),
            What::Memory => demand.memory.map_or(0, |it| it.value),
            What::Pods => 1,
            // Volumes are the workload's.
            What::Storage => 0,
        }
    }
}

/// How many bytes the claims of a task ask for, those of every pod of a `StatefulSet`.
pub fn storage(task: Task<'_>) -> u64 {
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

/// Whether a task runs until somebody takes it away.
pub fn lasts(task: Task<'_>) -> bool {
    matches!(
        task,
        Task::Deployment(_) | Task::StatefulSet(_) | Task::LeaderWorkerSet(_)
    )
}

/// How many pods there are at least while a task runs: an autoscaler adds more where there is room.
fn least_pods(task: Task<'_>) -> u32 {
    match task {
        Task::Deployment(it) => match &it.autoscaling {
            Some(scaling) => scaling.min.value,
            None => it.replicas.value,
        },
        task => task.most_pods(),
    }
}
