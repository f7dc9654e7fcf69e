//! A resolved cluster.

use std::sync::Arc;

use gpuc_schema::config::{Allocation, Autoscaler, DevicePlugin, GpuCluster, NodePool};
use gpuc_schema::{Span, Spanned};
use gpuc_syntax::node::DerivationReason;
use jiff::civil::Date;

use crate::cloud::Cloud;
use crate::metrics::ExportedMetrics;
use crate::pool::{Pool, PoolGpus, PoolSpec};
use crate::registry::Registry;
use crate::resolved::Resolved;
use crate::teams::Team;
use crate::version::KubernetesVersion;

/// A cluster.
#[derive(Clone)]
pub struct Cluster {
    /// The configuration in the file. Pools and teams are read from the fields below.
    pub config: Arc<GpuCluster>,
    /// The name.
    pub name: Spanned<String>,
    /// The Kubernetes version.
    pub kubernetes: Resolved<Spanned<KubernetesVersion>>,
    /// The cloud.
    pub cloud: &'static dyn Cloud,
    /// The clouds and rules it is compiled with.
    pub registry: &'static Registry,
    /// The autoscaler.
    pub autoscaler: Spanned<Autoscaler>,
    /// Today's date, for rules about dated facts; without it, they report nothing. The output does not depend on it.
    pub today: Option<Date>,
    /// The pools, in the order of the file.
    pub pools: Vec<Pool>,
    /// The teams, in the order of the file.
    pub teams: Vec<Team>,
    /// The GPU metrics that the exporters of the tree have, once it is lowered. `None` without `monitoring`.
    pub exported_metrics: Option<ExportedMetrics>,
    /// The default values that were filled in, for `gpuc expand`.
    pub defaulted_settings: Vec<DefaultedSetting>,
}

/// The value of a setting that the file does not contain, with its reason.
#[derive(Clone, Debug)]
pub struct DefaultedSetting {
    /// The path of keys and indexes: `nodePools`, `1`, `os`, `family`.
    pub path: Vec<String>,
    /// The value.
    pub value: serde_json::Value,
    /// The reason.
    pub source: DerivationReason,
    /// Whether the value was selected from several or is a sum, so that it is not a default of the file. gpuc can
    /// change a selection until it is written to the file.
    pub is_selected: bool,
}

impl Cluster {
    /// The pools with GPUs, without those whose GPUs are unresolved.
    pub fn gpu_pools(&self) -> impl Iterator<Item = (&Pool, &PoolGpus)> {
        self.pools
            .iter()
            .filter_map(|pool| Some((pool, pool.gpus.get()?.as_ref()?)))
    }

    /// The pools whose GPUs this device plugin advertises.
    pub fn pools_advertised_by(&self, plugin: DevicePlugin) -> impl Iterator<Item = &Pool> {
        self.gpu_pools()
            .map(|(pool, _)| pool)
            .filter(move |pool| pool.is_advertised_by(plugin))
    }

    /// The pools whose GPUs are allocated through DRA.
    pub fn dra_pools(&self) -> impl Iterator<Item = &Pool> {
        self.gpu_pools()
            .map(|(pool, _)| pool)
            .filter(|pool| pool.allocation.value == Allocation::Dra)
    }

    /// The pools whose GPUs NVLink connects in ComputeDomains.
    pub fn compute_domain_pools(&self) -> impl Iterator<Item = (&Pool, Span)> {
        let pools = self.gpu_pools().map(|(pool, _)| pool);
        pools.filter_map(|pool| {
            let written = pool.settings.network.compute_domains?;
            Some((pool, written.span))
        })
    }

    /// The pools on whose nodes NVIDIA's DRA driver runs: for their GPUs, or for ComputeDomains.
    pub fn dra_driver_pools(&self) -> impl Iterator<Item = &Pool> {
        let pools = self.gpu_pools().map(|(pool, _)| pool);
        pools.filter(|pool| {
            pool.allocation.value == Allocation::Dra
                || pool.settings.network.compute_domains.is_some()
        })
    }

    /// The settings of a pool exactly as they are in the file, for rules that report unused or contradictory settings.
    /// Everything else reads the resolved values of the pool.
    pub fn pool_in_file(&self, pool: &PoolSpec) -> &NodePool {
        &self.config.node_pools[pool.index]
    }

    /// The pool with this name.
    pub fn pool(&self, name: &str) -> Option<&Pool> {
        self.pools.iter().find(|pool| pool.name.value == name)
    }
}
