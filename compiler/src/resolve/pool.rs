//! A pool, from what was written to what follows.

use gpuc_schema::Spanned;
use gpuc_schema::config::{Allocation, DevicePlugin, GpuCluster, OsFamily};

use super::machine::Picker;
use super::{Choices, Defaults, classes, gpus, machine, nodes, offers, rdma, sharing, taints};
use crate::cloud::{self, Cloud};
use crate::diag::Report;
use crate::model::{DEDICATED_TO, Known, Label, MPS_CAPABLE, POOL_LABEL, Pool, PoolGpus, Sharing};
use crate::node::{Because, Origin};

/// Understands the pool at an index.
pub(super) fn resolve(
    config: &GpuCluster,
    index: usize,
    choices: &Choices,
    defaults: &mut Defaults,
    report: &mut Report,
) -> Pool {
    let written = &config.node_pools[index].value;
    let cloud = cloud::of(&config.cloud);
    let before = choices.machines.get(&written.name.value);
    let picker = Picker {
        index,
        before: before.map(String::as_str),
        cloud,
    };
    let machine = machine::resolve(written, &picker, defaults, report);
    let gpus = gpus::resolve(written, &machine, cloud, report);
    let sharing = sharing::resolve(written, &gpus, report);
    let os = os(config, index, cloud, defaults);
    let allocation = allocation(config, index, &gpus, defaults);
    let plugin = match allocation.value {
        Allocation::DevicePlugin => plugin(config, index, &gpus, os.value, cloud, defaults),
        // Whatever the cluster's other pools have, none runs here.
        Allocation::Dra => Spanned::unwritten(DevicePlugin::Gpuc),
    };
    let offers = offers::of(written, &gpus, &sharing);
    let (offers, classes) = classes::split(written, allocation, (&gpus, &sharing), offers);
    let mut pool = Pool {
        index,
        name: written.name.clone(),
        nodes: nodes::resolve(written, report),
        offers,
        classes,
        driver: driver(config, index, &gpus, plugin.value, cloud, defaults),
        driver_version: first(
            written.stack.driver_version.as_ref(),
            config.stack.driver_version.as_ref(),
        ),
        runtime_image: first(
            written.stack.runtime_image.as_ref(),
            config.stack.runtime_image.as_ref(),
        ),
        driver_image: first(
            written.stack.driver_image.as_ref(),
            config.stack.driver_image.as_ref(),
        ),
        extras: first(written.stack.extras.as_ref(), config.stack.extras.as_ref())
            .unwrap_or_default(),
        node_labels: first(
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
    pool.labels = labels(&pool);
    let more = cloud.labels(config, &pool);
    pool.labels.extend(more);
    pool.labels.sort_by(|a, b| a.key.cmp(&b.key));
    pool.fabric = cloud.fabric(&pool);
    pool.fabric.extend(rdma::offer(&pool));
    pool.selector = selector(&pool);
    pool.taints = taints::of(&pool);
    let more = cloud.taints(config, &pool);
    taints::add(&mut pool.taints, more);
    pool.tolerations = taints::tolerations(&pool.taints);
    pool.startup_taint = taints::startup(&pool, cloud);
    pool
}

/// The pool's word, else the cluster's.
fn first<T: Clone>(pool: Option<&T>, cluster: Option<&T>) -> Option<T> {
    pool.or(cluster).cloned()
}

fn os(
    config: &GpuCluster,
    index: usize,
    cloud: &dyn Cloud,
    defaults: &mut Defaults,
) -> Spanned<OsFamily> {
    let written = config.node_pools[index].os.family;
    written.unwrap_or_else(|| {
        let family = cloud.facts().os[0].family;
        // Of nodes made by others nobody knows the image; what is assumed of it is not written down.
        if config.node_pools[index].existing.is_none() {
            let because = Because::Rule("the usual node image here");
            defaults.fill_pool(index, &["os", "family"], &family, because);
        }
        Spanned::unwritten(family)
    })
}

fn allocation(
    config: &GpuCluster,
    index: usize,
    gpus: &Known<Option<PoolGpus>>,
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

fn plugin(
    config: &GpuCluster,
    index: usize,
    gpus: &Known<Option<PoolGpus>>,
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
        let why = "this operating system advertises GPUs itself";
        (DevicePlugin::Cloud, Because::Rule(why))
    } else {
        (DevicePlugin::Gpuc, Because::Default)
    };
    if matches!(gpus.get(), Some(Some(_))) {
        defaults.fill_pool(index, &["stack", "devicePlugin"], &plugin, because);
    }
    Spanned::unwritten(plugin)
}

fn driver(
    config: &GpuCluster,
    index: usize,
    gpus: &Known<Option<PoolGpus>>,
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
        let because = Because::Rule("who installs the driver here when this plugin advertises");
        defaults.fill_pool(index, &["stack", "driver"], &driver, because);
    }
    Spanned::unwritten(driver)
}

/// The labels that follow from the pool itself. An existing pool's nodes have what they have.
fn labels(pool: &Pool) -> Vec<Label> {
    if pool.is_existing() {
        return Vec::new();
    }
    let name = Label {
        key: POOL_LABEL.to_owned(),
        value: pool.name.value.clone(),
        origin: Origin::rule([pool.name.span], "every node says which pool it belongs to"),
    };
    let dedicated = pool.written.dedicated_to.iter().map(|whom| Label {
        key: DEDICATED_TO.to_owned(),
        value: whom.value.clone(),
        origin: Origin::rule(
            [whom.span],
            "a dedicated pool's nodes say whom they are for",
        ),
    });
    let written = pool.written.labels.iter().map(|(key, value)| Label {
        key: key.value.clone(),
        value: value.value.clone(),
        origin: Origin::made([key.span, value.span], Because::Written),
    });
    let by_nvidia = pool.is_advertised_by(DevicePlugin::Nvidia);
    let shared = matches!(pool.sharing.get(), Some(Sharing::Mps { .. }));
    let own = pool.written.labels.keys().any(|key| **key == MPS_CAPABLE);
    let mps = (by_nvidia && shared && !own).then(|| Label {
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

fn selector(pool: &Pool) -> Vec<Label> {
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
