//! Resolution of a node pool: its settings and everything derived from them.

use gpuc_schema::Spanned;
use gpuc_schema::config::{Allocation, DevicePlugin, GpuCluster, OsFamily};
use gpuc_syntax::diag::Report;
use gpuc_syntax::node::{Because, Origin};

use super::machine::{self, Picker};
use super::{Defaults, Inputs, advertised, device_classes, gpus, nodes, rdma, sharing, taints};

use crate::cloud::Cloud;
use crate::{DEDICATED_TO, Label, MPS_CAPABLE, POOL_LABEL, Pool, PoolGpus, Resolved, Sharing};

/// Resolves the pool at an index.
pub(super) fn resolve(
    inputs: &Inputs<'_>,
    index: usize,
    defaults: &mut Defaults,
    report: &mut Report,
) -> Pool {
    let Inputs {
        config,
        registry,
        cloud,
        choices,
    } = *inputs;
    let written = &config.node_pools[index].value;
    let before = choices.machines.get(&written.name.value);
    let picker = Picker {
        index,
        before: before.map(String::as_str),
        cloud,
        registry,
    };
    let machine = machine::resolve(written, &picker, defaults, report);
    let gpus = gpus::resolve(written, &machine, cloud, report);
    let sharing = sharing::resolve(written, &gpus, report);
    let os = resolve_os(config, index, cloud, defaults);
    let allocation = resolve_allocation(config, index, &gpus, defaults);
    let plugin = match allocation.value {
        Allocation::DevicePlugin => resolve_plugin(config, index, &gpus, os.value, cloud, defaults),
        // No device plugin runs on this pool, whatever the cluster's `devicePlugin` is.
        Allocation::Dra => Spanned::unwritten(DevicePlugin::Gpuc),
    };
    let offers = advertised::resolve(written, &gpus, &sharing);
    let (offers, classes) = device_classes::split(written, allocation, (&gpus, &sharing), offers);
    let mut pool = Pool {
        index,
        name: written.name.clone(),
        nodes: nodes::resolve(written, report),
        offers,
        classes,
        driver: resolve_driver(config, index, &gpus, plugin.value, cloud, defaults),
        driver_version: pool_or_cluster(
            written.stack.driver_version.as_ref(),
            config.stack.driver_version.as_ref(),
        ),
        runtime_image: pool_or_cluster(
            written.stack.runtime_image.as_ref(),
            config.stack.runtime_image.as_ref(),
        ),
        driver_image: pool_or_cluster(
            written.stack.driver_image.as_ref(),
            config.stack.driver_image.as_ref(),
        ),
        extras: pool_or_cluster(written.stack.extras.as_ref(), config.stack.extras.as_ref())
            .unwrap_or_default(),
        node_labels: pool_or_cluster(
            written.stack.node_labels.as_ref(),
            config.stack.node_labels.as_ref(),
        )
        .unwrap_or_default(),
        written: written.clone(),
        machine,
        gpus,
        os,
        allocation,
        plugin,
        sharing,
        fabric: Vec::new(),
        labels: Vec::new(),
        selector: Vec::new(),
        taints: Vec::new(),
        startup_taint: None,
        tolerations: Vec::new(),
    };
    pool.labels = own_labels(&pool);
    let cloud_labels = cloud.labels(config, &pool);
    pool.labels.extend(cloud_labels);
    pool.labels.sort_by(|a, b| a.key.cmp(&b.key));
    pool.fabric = cloud.fabric(&pool);
    pool.fabric.extend(rdma::offer(&pool));
    pool.selector = node_selector(&pool);
    pool.taints = taints::own_taints(&pool);
    let cloud_taints = cloud.taints(config, &pool);
    taints::add(&mut pool.taints, cloud_taints);
    pool.tolerations = taints::tolerations(&pool.taints);
    pool.startup_taint = taints::startup_taint(&pool, cloud);
    pool
}

/// The setting of the pool, or that of the cluster.
fn pool_or_cluster<T: Clone>(pool: Option<&T>, cluster: Option<&T>) -> Option<T> {
    pool.or(cluster).cloned()
}

fn resolve_os(
    config: &GpuCluster,
    index: usize,
    cloud: &dyn Cloud,
    defaults: &mut Defaults,
) -> Spanned<OsFamily> {
    let written = config.node_pools[index].os.family;
    written.unwrap_or_else(|| {
        let family = cloud.facts().os[0].family;
        // The node image of an existing pool is unknown, so that the default is an assumption and not reported.
        if config.node_pools[index].existing.is_none() {
            let because = Because::Rule("the default node image of the cloud");
            defaults.fill_pool(index, &["os", "family"], &family, because);
        }
        Spanned::unwritten(family)
    })
}

fn resolve_allocation(
    config: &GpuCluster,
    index: usize,
    gpus: &Resolved<Option<PoolGpus>>,
    defaults: &mut Defaults,
) -> Spanned<Allocation> {
    let written = config.node_pools[index].stack.allocation;
    written.or(config.stack.allocation).unwrap_or_else(|| {
        let allocation = Allocation::DevicePlugin;
        if matches!(gpus.get(), Some(Some(_))) {
            let keys = &["stack", "allocation"];
            defaults.fill_pool(index, keys, &allocation, Because::Default);
        }
        Spanned::unwritten(allocation)
    })
}

fn resolve_plugin(
    config: &GpuCluster,
    index: usize,
    gpus: &Resolved<Option<PoolGpus>>,
    os: OsFamily,
    cloud: &dyn Cloud,
    defaults: &mut Defaults,
) -> Spanned<DevicePlugin> {
    let written = config.node_pools[index].stack.device_plugin;
    if let Some(plugin) = written.or(config.stack.device_plugin) {
        return plugin;
    }
    let advertises = cloud.os(os).is_some_and(|facts| facts.advertises);
    let (plugin, because) = if advertises {
        let why = "the node image of this operating system includes a device plugin";
        (DevicePlugin::Cloud, Because::Rule(why))
    } else {
        (DevicePlugin::Gpuc, Because::Default)
    };
    if matches!(gpus.get(), Some(Some(_))) {
        defaults.fill_pool(index, &["stack", "devicePlugin"], &plugin, because);
    }
    Spanned::unwritten(plugin)
}

fn resolve_driver(
    config: &GpuCluster,
    index: usize,
    gpus: &Resolved<Option<PoolGpus>>,
    plugin: DevicePlugin,
    cloud: &dyn Cloud,
    defaults: &mut Defaults,
) -> Spanned<gpuc_schema::config::DriverOwner> {
    let written = config.node_pools[index].stack.driver;
    if let Some(driver) = written.or(config.stack.driver) {
        return driver;
    }
    let driver = cloud.default_driver(plugin);
    if matches!(gpus.get(), Some(Some(_))) {
        let because = Because::Rule("the default driver installation for this device plugin");
        defaults.fill_pool(index, &["stack", "driver"], &driver, because);
    }
    Spanned::unwritten(driver)
}

/// The labels that follow from the pool itself. gpuc does not label the nodes of existing pools.
fn own_labels(pool: &Pool) -> Vec<Label> {
    if pool.is_existing() {
        return Vec::new();
    }
    let name = Label {
        key: POOL_LABEL.to_owned(),
        value: pool.name.value.clone(),
        origin: Origin::rule(
            [pool.name.span],
            "every node has the name of its pool as a label",
        ),
    };
    let dedicated = pool.written.dedicated_to.iter().map(|team| Label {
        key: DEDICATED_TO.to_owned(),
        value: team.value.clone(),
        origin: Origin::rule(
            [team.span],
            "the nodes of a dedicated pool are labelled with its purpose",
        ),
    });
    let written = pool.written.labels.iter().map(|(key, value)| Label {
        key: key.value.clone(),
        value: value.value.clone(),
        origin: Origin::made([key.span, value.span], Because::Written),
    });
    let by_nvidia = pool.is_advertised_by(DevicePlugin::Nvidia);
    let is_mps = matches!(pool.sharing.get(), Some(Sharing::Mps { .. }));
    let is_written = pool.written.labels.keys().any(|key| **key == MPS_CAPABLE);
    let mps = (by_nvidia && is_mps && !is_written).then(|| Label {
        key: MPS_CAPABLE.to_owned(),
        value: "true".to_owned(),
        origin: Origin::fact(
            [pool.plugin.span, pool.written.sharing.span],
            "the MPS control daemon of NVIDIA's chart runs only on nodes with this label",
            "NVIDIA/k8s-device-plugin@v0.20.0 daemonset-mps-control-daemon.yml",
        ),
    });
    std::iter::once(name)
        .chain(dedicated)
        .chain(mps)
        .chain(written)
        .collect()
}

/// The labels that select the nodes of a pool.
fn node_selector(pool: &Pool) -> Vec<Label> {
    let Some(existing) = &pool.written.existing else {
        let is_pool = |label: &&Label| label.key == POOL_LABEL;
        return pool.labels.iter().filter(is_pool).cloned().collect();
    };
    let label = |(key, value): (&Spanned<String>, &Spanned<String>)| Label {
        key: key.value.clone(),
        value: value.value.clone(),
        origin: Origin::made([key.span, value.span], Because::Written),
    };
    existing.selector.iter().map(label).collect()
}
