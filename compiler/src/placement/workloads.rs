//! What a workload of the file asks of a node, and which of its pools give it.

use gpuc_schema::config::{Allocation, NotebookProfile, Task, Workload};
use gpuc_schema::{Span, Spanned};

use serde_json::json;

use super::{Amount, Answer, Claim, Defaults, Demand, Image, Request, Tolerated, verdict};
use crate::model::{Cluster, GpuAsk, Pool, Sharing};
use crate::node::Node;

impl Demand {
    /// What each pod of a workload asks for on a pool, tolerations among it: they follow from the pool. What it does
    /// not say its namespace may give it.
    pub fn of_workload(cluster: &Cluster, workload: &Workload, pool: &Pool) -> Self {
        let Some(task) = workload.task() else {
            return Self::default();
        };
        let pods = task.pods();
        let given = Defaults::of(cluster, cluster.namespace_of(workload));
        let beside = beside(cluster, task, pool, &given);
        let both = |own: Option<Amount>, given: Option<Amount>, beside: Option<Amount>| {
            let own = own.or(given)?;
            Some(beside.map_or(own, |beside| own.plus(beside)))
        };
        let cpu = pods.and_then(|it| Amount::of(it.cpu, 1, false));
        let memory = pods.and_then(|it| Amount::of(it.memory, 1000, false));
        let mut demand = Self {
            cpu: both(cpu, given.cpu, beside.cpu),
            memory: both(memory, given.memory, beside.memory),
            tolerations: pool.tolerations.iter().map(tolerated).collect(),
            gpus_talk: task.nodes().is_some(),
            images: task.image().cloned().map(Image::new).into_iter().collect(),
            pods: task.nodes().copied(),
            apart: task.nodes().is_some(),
            ..Self::default()
        };
        if let Some(ask) = GpuAsk::of(task) {
            demand.ask(task, ask, workload, pool);
        }
        demand
    }

    /// What a notebook asks for on a pool beside GPUs. What it does not say it does not need.
    pub fn of_notebook(profile: &NotebookProfile, pool: &Pool) -> Self {
        Self {
            cpu: Amount::of(profile.cpu.as_ref(), 1, false),
            memory: Amount::of(profile.memory.as_ref(), 1000, false),
            tolerations: pool.tolerations.iter().map(tolerated).collect(),
            ..Self::default()
        }
    }

    fn ask(&mut self, task: Task<'_>, ask: GpuAsk<'_>, workload: &Workload, pool: &Pool) {
        let written = task.gpus().map(|gpus| gpus.span);
        let span = written.or(ask.profile.map(|it| it.span));
        let span = span.unwrap_or(workload.name.span);
        let count = u64::from(ask.count);
        let by_claim = pool.allocation.value == Allocation::Dra && workload.pool.is_some();
        if by_claim && let Some(class) = ask.class(pool) {
            self.claims.push(Claim {
                class: Spanned::new(class.name.clone(), span),
                count,
                span,
            });
            return;
        }
        let is_test = matches!(task, Task::CudaTest(_));
        let resource = match (ask.profile, ask.devices(pool, is_test)) {
            // Where nothing is named, a GPU is meant.
            (None, None) => "nvidia.com/gpu".to_owned(),
            (Some(slice), None) => format!("nvidia.com/mig-{}", slice.replace('+', ".")),
            (_, Some(devices)) => devices.resource,
        };
        let named = ask.profile.map_or(span, |profile| profile.span);
        let resource = Spanned::new(resource, named);
        self.resources.push(Request::new(&resource, count, span));
    }
}

/// What containers ask for that move packets beside a pod's own, on pools with such a network.
fn beside(cluster: &Cluster, task: Task<'_>, pool: &Pool, given: &Defaults) -> Demand {
    if task.nodes().is_none_or(|nodes| nodes.value == 1) {
        return Demand::default();
    }
    let sidecars = cluster.cloud.fabric_settings(pool).parts.sidecars;
    Demand::of_pod(&Node::from_json(json!({"initContainers": sidecars})), given)
}

fn tolerated(toleration: &crate::model::Toleration) -> Tolerated {
    Tolerated {
        key: toleration.key.clone(),
        exists: toleration.value.is_empty(),
        value: toleration.value.clone(),
        effect: String::new(),
        span: Span::NONE,
    }
}

/// The pools that a workload runs on: those that it may run on and that hold its pods. None where none does.
pub fn holding<'c>(cluster: &'c Cluster, workload: &Workload) -> Vec<&'c Pool> {
    cluster.pools_among(workload, |pool| lacks(cluster, workload, pool).is_none())
}

/// What a pool's nodes lack for a workload, whatever other pools have.
fn lacks(cluster: &Cluster, workload: &Workload, pool: &Pool) -> Option<(String, Span)> {
    let demand = Demand::of_workload(cluster, workload, pool);
    let verdict = verdict(&demand, cluster, pool);
    let mut reasons = verdict.reasons.iter();
    if let Some(reason) = reasons.find(|reason| reason.answer == Answer::No) {
        return Some((reason.to_string(), reason.place));
    }
    let why = one_claim(workload, pool)?;
    Some((why, pool.written.sharing.span))
}

/// Why a pool does not hold a workload, in words that follow the pool's name, and where it says otherwise.
pub fn why_not(cluster: &Cluster, workload: &Workload, pool: &Pool) -> Option<(String, Span)> {
    let lack = lacks(cluster, workload, pool);
    if lack.is_some() || workload.pool.is_some() {
        return lack;
    }
    let mut all = holding(cluster, workload).into_iter();
    if all.any(|other| other.index == pool.index) {
        return None;
    }
    // Only what nobody may take who does not name the pool is left.
    let whom = pool.written.dedicated_to.as_ref();
    let team = workload.team.as_ref();
    if let Some(whom) = whom.filter(|whom| team != Some(whom)) {
        return Some((format!("is dedicated to `{whom}`"), whom.span));
    }
    let place = pool.written.sharing.span;
    let shared = !matches!(pool.sharing.get(), Some(Sharing::Exclusive));
    let words = if pool.allocation.value == Allocation::Dra {
        "has its GPUs claimed, and is used only where it is named"
    } else if shared {
        "shares its GPUs, and is used only where it is named"
    } else if workload.task().and_then(GpuAsk::of).is_none() {
        "has GPUs, and is used by pods without only where it is named"
    } else {
        "has another network, and the others are faster"
    };
    Some((words.to_owned(), place))
}

/// Why one claim, which all pods of a workload name where they share a GPU through the Multi-Process Service, is not
/// enough for them. Everybody who names it is on the one node whose GPU it got.
fn one_claim(workload: &Workload, pool: &Pool) -> Option<String> {
    let task = workload.task()?;
    let ask = GpuAsk::of(task)?;
    ask.class(pool)?;
    let Some(Sharing::Mps { replicas, .. }) = pool.sharing.get() else {
        return None;
    };
    let pods = task.most_pods();
    if ask.count > 1 {
        let count = ask.count;
        Some(format!(
            "shares one GPU among the pods of a claim, and each asks for {count}"
        ))
    } else if task.nodes().is_some_and(|nodes| nodes.value > 1) {
        Some("has its GPUs shared by claims, each of which is on one node".to_owned())
    } else if pods > replicas.value {
        Some(format!(
            "lets {replicas} pods share the one claim of a workload, not {pods}"
        ))
    } else {
        None
    }
}
