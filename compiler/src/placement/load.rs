//! What the file's workloads keep busy at the same time.

use std::collections::BTreeSet;

use gpuc_schema::config::{Task, Workload};
use gpuc_schema::{Span, Spanned};

use super::reason::{cores, gib};
use super::{Demand, holding};
use crate::diag::words::counted;
use crate::model::{Cluster, Pool, Sharing};

/// A workload as it runs, with the pools that hold it.
#[derive(Clone, Debug)]
pub struct Load<'c> {
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
            demand: Demand::of_workload(workload, first),
        };
        Some(Self {
            title: format!("workload `{}`", workload.name),
            namespace: Some(cluster.namespace_of(workload)),
            team: workload.team.as_ref().map(|team| team.as_str()),
            span: workload.name.span,
            patched: false,
            lasts: lasts(task),
            groups: vec![group],
            pools,
        })
    }

    /// How much of something all of its pods ask for.
    pub fn asks(&self, what: &What, defaults: &Defaults) -> u64 {
        let all = self.groups.iter().map(|group| {
            let each = group.each(what, defaults);
            each.saturating_mul(group.pods)
        });
        all.fold(0, u64::saturating_add)
    }

    /// How many pods ask for how much of something each.
    pub fn by_pods(&self, what: &What) -> Vec<(u64, u64)> {
        let defaults = Defaults::default();
        let groups = self.groups.iter();
        let each = groups.map(|group| (group.pods, group.each(what, &defaults)));
        each.collect()
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
}

/// What is kept for a pod that does not say what it asks for: thousandths of a core, and bytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Defaults {
    /// CPU.
    pub cpu: u64,
    /// Main memory.
    pub memory: u64,
}

impl What {
    /// So much of it, in words.
    pub fn words(&self, amount: u64) -> String {
        match self {
            Self::Device(name) => format!("{amount} of `{name}`"),
            Self::Cpu => format!("{} cores", cores(amount)),
            Self::Memory => format!("{} of memory", gib(amount)),
            Self::Pods => counted(amount, "pod"),
        }
    }
}

impl Group {
    /// How much of something each of its pods asks for.
    fn each(&self, what: &What, defaults: &Defaults) -> u64 {
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
            What::Cpu => demand.cpu.map_or(defaults.cpu, |it| it.value),
            What::Memory => demand.memory.map_or(defaults.memory, |it| it.value),
            What::Pods => 1,
        }
    }
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
