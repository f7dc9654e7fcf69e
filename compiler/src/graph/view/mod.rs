//! What a picture shows of a cluster, apart from how it is drawn.

mod cards;
mod of;

pub use cards::{Card, Cards, Cut, Slice};

use crate::plan::{PromiseSummary, What};

/// What a picture shows of a cluster.
#[derive(Clone, Debug, Default)]
pub struct View {
    /// Its name.
    pub name: String,
    /// The cloud and place, the version of Kubernetes, who adds nodes: a few words each.
    pub facts: Vec<String>,
    /// Its pools.
    pub pools: Vec<PoolView>,
    /// Its teams.
    pub teams: Vec<TeamView>,
    /// What teams were promised, one thing of one pool after the other.
    pub promises: Vec<PromiseSummary>,
    /// What is put into the cluster after what; each comes after those that it needs.
    pub steps: Vec<StepView>,
    /// How many workloads there are.
    pub workloads: usize,
}

/// What a picture shows of a pool.
#[derive(Clone, Debug, Default)]
pub struct PoolView {
    /// Its name.
    pub name: String,
    /// Its machine, in words.
    pub machine: String,
    /// Its GPUs, in words; empty without.
    pub gpus: String,
    /// How GPUs are shared, in words.
    pub sharing: String,
    /// How its machines are had and whom they are for, a word or a few each: `spot`, `for research`.
    pub marks: Vec<String>,
    /// The GPUs of a node, if it has any.
    pub cards: Option<Cards>,
    /// The fewest nodes.
    pub min_nodes: u32,
    /// The most nodes.
    pub max_nodes: u32,
    /// What pods ask for.
    pub offers: Vec<OfferView>,
    /// Its taints, as `key=value:Effect`.
    pub taints: Vec<String>,
    /// What runs on it.
    pub workloads: Vec<Placed>,
    /// Who installs the driver and who advertises the GPUs, in words.
    pub served: String,
}

/// Something that pods ask for.
#[derive(Clone, Debug, Default)]
pub struct OfferView {
    /// Its name.
    pub name: String,
    /// How many on a node.
    pub per_node: u32,
    /// How many at the fewest nodes.
    pub min: u64,
    /// How many at the most nodes.
    pub max: u64,
}

/// A workload on a pool that holds it.
#[derive(Clone, Debug, Default)]
pub struct Placed {
    /// Its name.
    pub name: String,
    /// What it asks for there: `2 x 8 GPUs`.
    pub asks: String,
}

/// A team.
#[derive(Clone, Debug, Default)]
pub struct TeamView {
    /// Its name.
    pub name: String,
    /// Its namespaces.
    pub namespaces: Vec<String>,
    /// Its members, each with a role.
    pub members: Vec<String>,
}

/// A step of bringing everything to the cluster.
#[derive(Clone, Debug)]
pub struct StepView {
    /// Its name.
    pub name: String,
    /// The name without that of the pool it is for.
    pub stem: String,
    /// What it is.
    pub what: What,
    /// The steps before it, by their index, with the reason.
    pub needs: Vec<(usize, String)>,
}

impl PoolView {
    /// How many GPUs it has, at its fewest and at its most nodes.
    pub fn gpu_count(&self) -> (u64, u64) {
        let per_node = u64::from(self.cards.as_ref().map_or(0, |cards| cards.per_node));
        let total = |nodes: u32| per_node * u64::from(nodes);
        (total(self.min_nodes), total(self.max_nodes))
    }

    /// Its machine, its GPUs and how they are shared, in words.
    pub fn words(&self) -> String {
        let words = [&self.machine, &self.gpus, &self.sharing];
        let words: Vec<_> = words.into_iter().filter(|it| !it.is_empty()).collect();
        words
            .iter()
            .map(|it| it.as_str())
            .collect::<Vec<_>>()
            .join(" · ")
    }

    /// How many nodes it has, at its fewest and at its most.
    pub fn node_count(&self) -> (u64, u64) {
        (self.min_nodes.into(), self.max_nodes.into())
    }
}

impl View {
    /// The sum over all pools of a fewest and a most.
    pub fn sum(&self, of: fn(&PoolView) -> (u64, u64)) -> (u64, u64) {
        let pairs = self.pools.iter().map(of);
        pairs.fold((0, 0), |sum, it| (sum.0 + it.0, sum.1 + it.1))
    }
}
