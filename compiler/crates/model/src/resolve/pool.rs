//! Resolution of a node pool: first its specification from the file, then everything that is derived from it.

use gpuc_schema::Spanned;
use gpuc_schema::config::{Allocation, Autoscaler, DevicePlugin, DriverOwner, NodePool, OsFamily};
use gpuc_syntax::diag::Report;
use gpuc_syntax::node::DerivationReason;

use super::defaults::Defaults;
use super::device_classes::ClassResolver;
use super::inputs::Inputs;
use super::machine::{self, MachineContext};
use super::{advertised, gpus, labels, nodes, rdma, sharing, taints};

use crate::cloud::Cloud;
use crate::{Pool, PoolGpus, PoolSettings, PoolSpec, Resolved};

/// Derives a pool from its specification. `uses_operator` is true if the GPU Operator is installed in the cluster.
pub(super) fn derive(
    cloud: &dyn Cloud,
    autoscaler: Spanned<Autoscaler>,
    spec: PoolSpec,
    uses_operator: bool,
) -> Pool {
    let labels = labels::effective_labels(cloud, autoscaler, &spec, uses_operator);
    let taints = taints::effective_taints(cloud, &spec);
    Pool {
        interconnect: cloud
            .interconnect_resources(&spec)
            .into_iter()
            .chain(rdma::shared_nic_resource(&spec))
            .collect(),
        selector: labels::node_selector(&spec, &labels),
        tolerations: taints::tolerations(&taints),
        startup_taint: taints::startup_taint(&spec, cloud),
        labels,
        taints,
        spec,
    }
}

/// Resolves the specifications of pools.
pub(super) struct SpecResolver<'r> {
    /// The file, the cloud and the selections of an earlier run.
    pub(super) inputs: Inputs<'r>,
    /// The default values that were filled in.
    pub(super) defaults: &'r mut Defaults,
    /// The diagnostics.
    pub(super) report: &'r mut Report,
}

impl SpecResolver<'_> {
    /// Resolves the pool at an index.
    pub(super) fn resolve(&mut self, index: usize) -> PoolSpec {
        let Inputs {
            config,
            registry,
            cloud,
            choices,
        } = self.inputs;
        let pool = &config.node_pools[index].value;
        let before = choices.machines.get(&pool.name.value);
        let picker = MachineContext {
            index,
            earlier_choice: before.map(String::as_str),
            cloud,
            registry,
        };
        let machine = machine::resolve(pool, &picker, self.defaults, self.report);
        let gpus = gpus::resolve(pool, &machine, cloud, self.report);
        let sharing = sharing::resolve(pool, &gpus, self.report);
        let os = self.resolve_os(index);
        let allocation = self.resolve_allocation(index, &gpus);
        let plugin = match allocation.value {
            Allocation::DevicePlugin => self.resolve_plugin(index, &gpus, os.value),
            // No device plugin runs on this pool, whatever the cluster's `devicePlugin` is.
            Allocation::Dra => Spanned::without_span(DevicePlugin::Gpuc),
        };
        let (own, shared) = (&pool.stack, &config.stack);
        let extended_resources = pool_or_cluster(
            own.extended_resources.as_ref(),
            shared.extended_resources.as_ref(),
        )
        .unwrap_or_default();
        let advertised = advertised::resolve(pool, &gpus, &sharing);
        let classes = ClassResolver {
            pool,
            allocation,
            extended_resources,
        };
        let (advertised_resources, classes) =
            classes.split_by_allocation(&gpus, &sharing, advertised);
        PoolSpec {
            settings: PoolSettings::from(pool),
            index,
            name: pool.name.clone(),
            machine_name: pool.machine.clone(),
            nodes: nodes::resolve(pool, self.report),
            advertised: advertised_resources,
            classes,
            driver: self.resolve_driver(index, &gpus, plugin.value),
            driver_version: pool_or_cluster(
                own.driver_version.as_ref(),
                shared.driver_version.as_ref(),
            ),
            runtime_image: pool_or_cluster(
                own.runtime_image.as_ref(),
                shared.runtime_image.as_ref(),
            ),
            driver_image: pool_or_cluster(own.driver_image.as_ref(), shared.driver_image.as_ref()),
            extras: pool_or_cluster(own.extras.as_ref(), shared.extras.as_ref())
                .unwrap_or_default(),
            node_labels: pool_or_cluster(own.node_labels.as_ref(), shared.node_labels.as_ref())
                .unwrap_or_default(),
            sharing_span: pool.sharing.span,
            sharing_placement: pool.sharing.placement(),
            user_labels: pool.labels.clone(),
            user_taints: pool.taints.clone(),
            machine,
            gpus,
            os,
            allocation,
            extended_resources,
            plugin,
            sharing,
        }
    }

    /// The pool at an index, as it is in the file.
    fn pool(&self, index: usize) -> &NodePool {
        &self.inputs.config.node_pools[index]
    }

    fn resolve_os(&mut self, index: usize) -> Spanned<OsFamily> {
        self.pool(index).os.family.unwrap_or_else(|| {
            let family = self.inputs.cloud.facts().os[0].family;
            // The node image of an existing pool is unknown, so that the default is an assumption and not reported.
            if self.pool(index).existing.is_none() {
                let because = DerivationReason::Rule("the default node image of the cloud");
                self.defaults
                    .fill_pool(index, &["os", "family"], &family, because);
            }
            Spanned::without_span(family)
        })
    }

    fn resolve_allocation(
        &mut self,
        index: usize,
        gpus: &Resolved<Option<PoolGpus>>,
    ) -> Spanned<Allocation> {
        let own = self.pool(index).stack.allocation;
        own.or(self.inputs.config.stack.allocation)
            .unwrap_or_else(|| {
                let allocation = Allocation::DevicePlugin;
                if matches!(gpus.get(), Some(Some(_))) {
                    let keys = &["stack", "allocation"];
                    self.defaults
                        .fill_pool(index, keys, &allocation, DerivationReason::Default);
                }
                Spanned::without_span(allocation)
            })
    }

    fn resolve_plugin(
        &mut self,
        index: usize,
        gpus: &Resolved<Option<PoolGpus>>,
        os: OsFamily,
    ) -> Spanned<DevicePlugin> {
        let own = self.pool(index).stack.device_plugin;
        if let Some(plugin) = own.or(self.inputs.config.stack.device_plugin) {
            return plugin;
        }
        let advertises = self
            .inputs
            .cloud
            .os(os)
            .is_some_and(|it| it.has_device_plugin);
        let (plugin, because) = if advertises {
            let reason = "the node image of this operating system includes a device plugin";
            (DevicePlugin::Cloud, DerivationReason::Rule(reason))
        } else if let Some((plugin, reason)) = self.inputs.cloud.default_plugin() {
            (plugin, DerivationReason::Rule(reason))
        } else {
            (DevicePlugin::Gpuc, DerivationReason::Default)
        };
        if matches!(gpus.get(), Some(Some(_))) {
            let keys = &["stack", "devicePlugin"];
            self.defaults.fill_pool(index, keys, &plugin, because);
        }
        Spanned::without_span(plugin)
    }

    fn resolve_driver(
        &mut self,
        index: usize,
        gpus: &Resolved<Option<PoolGpus>>,
        plugin: DevicePlugin,
    ) -> Spanned<DriverOwner> {
        let own = self.pool(index).stack.driver;
        if let Some(driver) = own.or(self.inputs.config.stack.driver) {
            return driver;
        }
        let driver = self.inputs.cloud.default_driver(plugin);
        if matches!(gpus.get(), Some(Some(_))) {
            let because =
                DerivationReason::Rule("the default driver installation for this device plugin");
            self.defaults
                .fill_pool(index, &["stack", "driver"], &driver, because);
        }
        Spanned::without_span(driver)
    }
}

/// The setting of the pool, or that of the cluster.
fn pool_or_cluster<T: Clone>(pool: Option<&T>, cluster: Option<&T>) -> Option<T> {
    pool.or(cluster).cloned()
}
