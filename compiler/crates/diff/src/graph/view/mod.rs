//! The content of a picture of a cluster, independent of its layout.

mod build;
mod node_gpus;

pub use node_gpus::{GpuRun, MigDevice, NodeGpus, Partitioning};

use gpuc_model::plan::{QuotaTotalSummary, StepKind};

/// The content of a picture of a cluster.
#[derive(Clone, Debug, Default)]
pub struct View {
    /// The cluster's name.
    pub name: String,
    /// Short facts: the cloud and location, the Kubernetes version, the autoscaler.
    pub facts: Vec<String>,
    /// The pools.
    pub pools: Vec<PoolView>,
    /// The teams.
    pub teams: Vec<TeamView>,
    /// The quotas of teams, by pool and resource.
    pub quota_totals: Vec<QuotaTotalSummary>,
    /// The install steps; each follows its dependencies.
    pub steps: Vec<StepView>,
    /// The number of workloads.
    pub workloads: usize,
}

/// The content of a picture of a pool.
#[derive(Clone, Debug, Default)]
pub struct PoolView {
    /// The pool's name.
    pub name: String,
    /// The machine type.
    pub machine: String,
    /// A description of the GPUs; empty without GPUs.
    pub gpus: String,
    /// A description of the sharing mode.
    pub sharing: String,
    /// Short marks for the capacity type and dedicated pools: `spot`, `for research`.
    pub marks: Vec<String>,
    /// The GPUs of a node, if it has any.
    pub node_gpus: Option<NodeGpus>,
    /// The minimum number of nodes.
    pub min_nodes: u32,
    /// The maximum number of nodes.
    pub max_nodes: u32,
    /// The advertised resources.
    pub advertised: Vec<AdvertisedView>,
    /// The taints, as `key=value:Effect`.
    pub taints: Vec<String>,
    /// The workloads that fit on the pool.
    pub workloads: Vec<PlacedWorkload>,
    /// The installer of the driver and the component that advertises the GPUs.
    pub provided_by: String,
}

/// An advertised resource.
#[derive(Clone, Debug, Default)]
pub struct AdvertisedView {
    /// The resource name.
    pub name: String,
    /// The number on a node.
    pub per_node: u32,
    /// The number at the minimum number of nodes.
    pub min: u64,
    /// The number at the maximum number of nodes.
    pub max: u64,
}

/// A workload on a pool that it fits on.
#[derive(Clone, Debug, Default)]
pub struct PlacedWorkload {
    /// The workload's name.
    pub name: String,
    /// The requests: `2 x 8 GPUs`.
    pub requests: String,
}

/// A team.
#[derive(Clone, Debug, Default)]
pub struct TeamView {
    /// The team's name.
    pub name: String,
    /// The namespaces.
    pub namespaces: Vec<String>,
    /// The members, each with a role.
    pub members: Vec<String>,
}

/// An install step.
#[derive(Clone, Debug)]
pub struct StepView {
    /// The step's name.
    pub name: String,
    /// The name without the pool.
    pub stem: String,
    /// The kind of step.
    pub kind: StepKind,
    /// The steps that it depends on, by index, with the reason.
    pub dependencies: Vec<(usize, String)>,
}

impl PoolView {
    /// The number of GPUs, minimum and maximum.
    pub fn gpu_count(&self) -> (u64, u64) {
        let per_node = u64::from(self.node_gpus.as_ref().map_or(0, |cards| cards.per_node));
        let total = |nodes: u32| per_node * u64::from(nodes);
        (total(self.min_nodes), total(self.max_nodes))
    }

    /// Describes the machine, the GPUs and the sharing mode.
    pub fn summary(&self) -> String {
        let words = [&self.machine, &self.gpus, &self.sharing];
        let words: Vec<_> = words.into_iter().filter(|it| !it.is_empty()).collect();
        words
            .iter()
            .map(|it| it.as_str())
            .collect::<Vec<_>>()
            .join(" · ")
    }

    /// The number of nodes, minimum and maximum.
    pub fn node_count(&self) -> (u64, u64) {
        (self.min_nodes.into(), self.max_nodes.into())
    }
}

impl View {
    /// The sum over all pools of a minimum and a maximum.
    pub fn sum(&self, of: fn(&PoolView) -> (u64, u64)) -> (u64, u64) {
        let pairs = self.pools.iter().map(of);
        pairs.fold((0, 0), |sum, it| (sum.0 + it.0, sum.1 + it.1))
    }
}
