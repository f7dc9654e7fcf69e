//! What NVIDIA's GPU Operator does in a cluster: which of its parts run on the nodes of which pool, by which labels,
//! and how a pool's nodes are reached whoever installs the driver. Labels, rules, values and manifests all read this.
//!
//! Facts: NVIDIA/gpu-operator `controllers/state_manager.go` (the labels; one that is there already is honoured),
//! NVIDIA/k8s-driver-manager `cmd/driver-manager/main.go` (what a driver's upgrade pauses), both read 2026-11-21.

use gpuc_schema::Span;
use gpuc_schema::config::{DevicePlugin, DriverOwner};

use super::{Cluster, Label, Pool, Sharing};
use crate::cloud::{Cloud, Injection, RuntimeClass};
use crate::node::Origin;

/// The prefix of the labels by which the operator's parts choose nodes.
pub const DEPLOY: &str = "nvidia.com/gpu.deploy.";

/// The label that chooses a configuration of NVIDIA's device plugin.
pub const PLUGIN_CONFIG: &str = "nvidia.com/device-plugin.config";

/// The label that chooses a layout of the MIG manager.
pub const MIG_CONFIG: &str = "nvidia.com/mig.config";

/// The label that the operator itself keeps at `true`, and takes away while it changes a node's driver or slices. It
/// waits for the pods of DaemonSets that select nodes by it.
///
/// Source: NVIDIA/k8s-driver-manager v0.12.0 `waitForPodsToTerminate`, NVIDIA/gpu-operator v26.7.0.
pub const CLIENT: &str = "nvidia.com/gpu.deploy.client";

/// The folder on a node below which the operator's driver container shows the driver.
///
/// Source: NVIDIA/gpu-operator@v26.7.0 deployments/gpu-operator/values.yaml, `hostPaths.driverInstallDir`.
pub const DRIVER_DIR: &str = "/run/nvidia/driver";

/// The runtime class that the operator makes where nothing else is asked of it.
///
/// Source: the same file, `operator.runtimeClass`.
pub const RUNTIME_CLASS: &str = "nvidia";

/// Which of the operator's parts run on the nodes of a pool, beside those that look whether all is well.
#[expect(
    clippy::struct_excessive_bools,
    reason = "one switch for each part, as the operator has them"
)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operands {
    /// The driver.
    pub driver: bool,
    /// NVIDIA's container toolkit, which tells the node's container runtime of GPUs.
    pub toolkit: bool,
    /// NVIDIA's device plugin, and what labels the nodes for it.
    pub plugin: bool,
    /// The MIG manager, which cuts the GPUs.
    pub mig: bool,
}

impl Operands {
    /// What the operator does for a pool; `None` where nobody asks it for anything.
    pub fn of(cloud: &dyn Cloud, pool: &Pool) -> Option<Self> {
        let driver = pool.driver.value == DriverOwner::Operator;
        let plugin = pool.is_advertised_by(DevicePlugin::Operator);
        if !pool.has_gpus() || !(driver || plugin) {
            return None;
        }
        let brought = cloud
            .os(pool.os.value)
            .is_some_and(|os| os.operator.toolkit);
        let is_cut = matches!(pool.sharing.get(), Some(Sharing::Mig { .. }));
        Some(Self {
            driver,
            toolkit: driver || !brought,
            plugin,
            mig: plugin && is_cut && !cloud.cuts_gpus(pool),
        })
    }
}

impl Pool {
    /// What the MIG manager calls the pool's layout: as the pool, unless that is the manager's name for no layout at
    /// all. No pool's name has an underscore.
    pub fn mig_layout(&self) -> String {
        match self.name.as_str() {
            "all-disabled" => "all_disabled".to_owned(),
            name => name.to_owned(),
        }
    }
}

impl Cluster {
    /// The pools that the operator does something for.
    pub fn operator_pools(&self) -> impl Iterator<Item = (&Pool, Operands)> {
        let pools = self.pools.iter();
        pools.filter_map(|pool| Some((pool, Operands::of(self.cloud, pool)?)))
    }

    /// The runtime class by which the operator's parts get NVIDIA's container runtime: there is one for all nodes. The
    /// operator gives a runtime that it configures itself the same name.
    pub fn operator_runtime_class(&self) -> &'static str {
        let mut pools = self.operator_pools();
        let named = pools.find_map(|(pool, operands)| {
            let os = self.cloud.os(pool.os.value)?;
            (!operands.toolkit).then_some(os.operator.runtime_class)
        });
        named.unwrap_or(RUNTIME_CLASS)
    }

    /// How a device plugin of ours reaches the driver and containers on a pool's nodes, whoever installs the driver.
    pub fn access(&self, pool: &Pool) -> Option<Access> {
        let os = self.cloud.os(pool.os.value)?;
        if pool.driver.value == DriverOwner::Operator {
            let class = self.operator_runtime_class();
            return Some(Access {
                injection: Injection::Cdi,
                visible_by_mount: false,
                driver_root: DRIVER_DIR,
                runtime_class: Some(RuntimeClass {
                    name: class,
                    handler: class,
                }),
            });
        }
        Some(Access {
            injection: os.injection,
            visible_by_mount: os.visible_by_mount,
            driver_root: os.driver_root,
            runtime_class: os.runtime_class,
        })
    }
}

/// How a device plugin of ours reaches the driver and containers on a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// How a container gets its devices.
    pub injection: Injection,
    /// Whether a container names its GPUs by a mount, because variables of unprivileged ones are not read.
    pub visible_by_mount: bool,
    /// The folder on the host below which the driver is installed.
    pub driver_root: &'static str,
    /// The runtime class by which a pod gets NVIDIA's container runtime, where it is not the default one.
    pub runtime_class: Option<RuntimeClass>,
}

/// The labels by which the operator's parts keep to the pools that they are wanted on. In a cluster without the
/// operator there are none.
pub fn labels(cloud: &dyn Cloud, pool: &Pool) -> Vec<Label> {
    if !pool.has_gpus() {
        return Vec::new();
    }
    let Some(operands) = Operands::of(cloud, pool) else {
        let why = "the GPU Operator does nothing for this pool, and keeps off its nodes";
        let inputs = [pool.driver.span, pool.plugin.span];
        return vec![label(
            "nvidia.com/gpu.deploy.operands",
            "false",
            inputs,
            why,
        )];
    };
    let off = |part: &str, owner: Span, why: &'static str| {
        label(&format!("{DEPLOY}{part}"), "false", [owner], why)
    };
    let mut labels = Vec::new();
    if !operands.driver {
        let why = "the driver does not come by the GPU Operator here";
        labels.push(off("driver", pool.driver.span, why));
    }
    if !operands.plugin {
        let why = "another device plugin advertises these GPUs, and labels the nodes";
        labels.push(off("device-plugin", pool.plugin.span, why));
        labels.push(off("gpu-feature-discovery", pool.plugin.span, why));
    }
    let is_cut = matches!(pool.sharing.get(), Some(Sharing::Mig { .. }));
    let shares = !matches!(pool.sharing.get(), None | Some(Sharing::Exclusive));
    let sharing = pool.written.sharing.span;
    if !operands.plugin || (is_cut && !operands.mig) {
        let why = "the GPU Operator does not cut these GPUs";
        labels.push(off("mig-manager", pool.plugin.span, why));
    }
    if operands.plugin && shares {
        let why = "the pool's own configuration of NVIDIA's device plugin";
        let inputs = [pool.name.span, sharing];
        labels.push(label(PLUGIN_CONFIG, &pool.name, inputs, why));
    }
    if operands.mig {
        let why = "the pool's own layout, which the MIG manager cuts";
        let inputs = [pool.name.span, sharing];
        labels.push(label(MIG_CONFIG, &pool.mig_layout(), inputs, why));
    }
    labels
}

fn label(
    key: &str,
    value: &str,
    inputs: impl IntoIterator<Item = Span>,
    why: &'static str,
) -> Label {
    Label {
        key: key.to_owned(),
        value: value.to_owned(),
        origin: Origin::fact(
            inputs,
            why,
            "NVIDIA/gpu-operator controllers/state_manager.go, 2026-11-21",
        ),
    }
}

/// Whether a label is one by which the operator's parts choose nodes or what to do there.
pub fn is_operators(key: &str) -> bool {
    key.starts_with(DEPLOY) || [PLUGIN_CONFIG, MIG_CONFIG].contains(&key)
}
