//! NVIDIA's GPU Operator in a cluster: the operands on the nodes of each pool, the node labels that select them, and
//! the way to access the driver on a node. Labels, rules, Helm values and manifests are derived from this module.
//!
//! Facts: NVIDIA/gpu-operator `controllers/state_manager.go` (the labels; existing labels are kept),
//! NVIDIA/k8s-driver-manager `cmd/driver-manager/main.go` (the operands that a driver upgrade pauses), both read
//! 2026-11-21.

use gpuc_schema::Span;
use gpuc_schema::config::{DevicePlugin, DriverOwner};
use gpuc_syntax::node::Origin;

use super::{Cluster, Label, Pool, PoolSpec, Sharing};
pub use crate::cloud::DRIVER_DIR;
use crate::cloud::{Cloud, Injection, RuntimeClass};

/// The prefix of the node labels that select the operands.
pub const DEPLOY_LABEL_PREFIX: &str = "nvidia.com/gpu.deploy.";

/// The label that selects a configuration of NVIDIA's device plugin.
pub const PLUGIN_CONFIG_LABEL: &str = "nvidia.com/device-plugin.config";

/// The label that selects a configuration of the MIG manager.
pub const MIG_CONFIG_LABEL: &str = "nvidia.com/mig.config";

/// The label that the operator sets to `true`, and removes while it changes the driver or the MIG devices of a node. It
/// waits until the pods of DaemonSets with this node selector are gone.
///
/// Source: NVIDIA/k8s-driver-manager v0.12.0 `waitForPodsToTerminate`, NVIDIA/gpu-operator v26.7.0.
pub const DEPLOY_CLIENT_LABEL: &str = "nvidia.com/gpu.deploy.client";

/// The RuntimeClass that the operator creates by default.
///
/// Source: NVIDIA/gpu-operator@v26.7.0 deployments/gpu-operator/values.yaml, `operator.runtimeClass`.
pub const RUNTIME_CLASS: &str = "nvidia";

/// The operands that run on the nodes of a pool, in addition to the validator.
#[expect(
    clippy::struct_excessive_bools,
    reason = "one switch for each operand, as in the operator"
)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operands {
    /// The driver.
    pub driver: bool,
    /// NVIDIA's container toolkit, which configures the container runtime of the node for GPUs.
    pub toolkit: bool,
    /// NVIDIA's device plugin and GPU Feature Discovery.
    pub plugin: bool,
    /// The MIG manager, which partitions the GPUs.
    pub mig: bool,
}

impl Operands {
    /// The operands of a pool; `None` if the pool does not use the operator.
    pub fn for_pool(cloud: &dyn Cloud, pool: &PoolSpec) -> Option<Self> {
        let driver = pool.driver.value == DriverOwner::Operator;
        let plugin = pool.is_advertised_by(DevicePlugin::Operator);
        if !pool.has_gpus() || !(driver || plugin) {
            return None;
        }
        let has_toolkit = cloud
            .os(pool.os.value)
            .is_some_and(|os| os.operator_support.toolkit);
        let is_mig = matches!(pool.sharing.get(), Some(Sharing::Mig { .. }));
        Some(Self {
            driver,
            toolkit: driver || !has_toolkit,
            plugin,
            mig: plugin && is_mig && !cloud.partitions_gpus(pool),
        })
    }
}

impl PoolSpec {
    /// The name of the pool's MIG manager configuration: the name of the pool, unless the MIG manager reserves that
    /// name for disabled MIG. The name of a pool contains no underscore.
    pub fn mig_config_name(&self) -> String {
        match self.name.as_str() {
            "all-disabled" => "all_disabled".to_owned(),
            name => name.to_owned(),
        }
    }
}

impl Cluster {
    /// The pools that use the operator.
    pub fn operator_pools(&self) -> impl Iterator<Item = (&Pool, Operands)> {
        let pools = self.pools.iter();
        pools.filter_map(|pool| Some((pool, Operands::for_pool(self.cloud, pool)?)))
    }

    /// The RuntimeClass with which the operands use NVIDIA's container runtime: there is one for all nodes. The
    /// operator gives the same name to a runtime that it configures itself.
    pub fn operator_runtime_class(&self) -> &'static str {
        let mut pools = self.operator_pools();
        let named = pools.find_map(|(pool, operands)| {
            let os = self.cloud.os(pool.os.value)?;
            (!operands.toolkit).then_some(os.operator_support.runtime_class)
        });
        named.unwrap_or(RUNTIME_CLASS)
    }

    /// How gpuc's device plugin accesses the driver and containers on the nodes of a pool.
    pub fn driver_access(&self, pool: &Pool) -> Option<DriverAccess> {
        let os = self.cloud.os(pool.os.value)?;
        if pool.driver.value == DriverOwner::Operator {
            let class = self.operator_runtime_class();
            return Some(DriverAccess {
                injection: Injection::Cdi,
                visible_by_mount: false,
                driver_root: DRIVER_DIR,
                runtime_class: Some(RuntimeClass {
                    name: class,
                    handler: class,
                }),
            });
        }
        Some(DriverAccess {
            injection: os.injection,
            visible_by_mount: os.visible_by_mount,
            driver_root: os.driver_root,
            runtime_class: os.runtime_class,
        })
    }
}

/// How gpuc's device plugin accesses the driver and containers on a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DriverAccess {
    /// How devices are injected into a container.
    pub injection: Injection,
    /// Whether a container requests its GPUs with a mount, because the variables of unprivileged containers are
    /// ignored.
    pub visible_by_mount: bool,
    /// The directory on the host in which the driver is installed.
    pub driver_root: &'static str,
    /// The RuntimeClass with which a pod uses NVIDIA's container runtime, unless it is the default runtime.
    pub runtime_class: Option<RuntimeClass>,
}

/// The node labels that restrict the operands to their pools. A cluster without the operator has none.
pub fn operand_labels(cloud: &dyn Cloud, pool: &PoolSpec) -> Vec<Label> {
    if !pool.has_gpus() {
        return Vec::new();
    }
    let Some(operands) = Operands::for_pool(cloud, pool) else {
        let reason = "this pool does not use the GPU Operator, so no operands run on its nodes";
        let inputs = [pool.driver.span, pool.plugin.span];
        return vec![label(
            "nvidia.com/gpu.deploy.operands",
            "false",
            inputs,
            reason,
        )];
    };
    let disabled = |operand: &str, owner: Span, reason: &'static str| {
        label(
            &format!("{DEPLOY_LABEL_PREFIX}{operand}"),
            "false",
            [owner],
            reason,
        )
    };
    let mut labels = Vec::new();
    if !operands.driver {
        let reason = "the GPU Operator does not install the driver on this pool";
        labels.push(disabled("driver", pool.driver.span, reason));
    }
    if !operands.plugin {
        let reason = "another device plugin advertises these GPUs, and labels the nodes";
        labels.push(disabled("device-plugin", pool.plugin.span, reason));
        labels.push(disabled("gpu-feature-discovery", pool.plugin.span, reason));
    }
    let is_mig = matches!(pool.sharing.get(), Some(Sharing::Mig { .. }));
    let is_shared = !matches!(pool.sharing.get(), None | Some(Sharing::Exclusive));
    let sharing = pool.sharing_span;
    if !operands.plugin || (is_mig && !operands.mig) {
        let reason = "the GPU Operator does not partition these GPUs";
        labels.push(disabled("mig-manager", pool.plugin.span, reason));
    }
    if operands.plugin && (is_shared || !pool.extras.is_empty()) {
        let reason = "the configuration of NVIDIA's device plugin for this pool";
        let extras = pool.extras.iter().map(|extra| extra.span);
        let inputs = [pool.name.span, sharing].into_iter().chain(extras);
        labels.push(label(PLUGIN_CONFIG_LABEL, &pool.name, inputs, reason));
    }
    if operands.mig {
        let reason = "the MIG geometry of this pool, which the MIG manager applies";
        let inputs = [pool.name.span, sharing];
        labels.push(label(
            MIG_CONFIG_LABEL,
            &pool.mig_config_name(),
            inputs,
            reason,
        ));
    }
    labels
}

fn label(
    key: &str,
    value: &str,
    inputs: impl IntoIterator<Item = Span>,
    reason: &'static str,
) -> Label {
    Label {
        key: key.to_owned(),
        value: value.to_owned(),
        origin: Origin::fact(
            inputs,
            reason,
            "NVIDIA/gpu-operator controllers/state_manager.go, 2026-11-21",
        ),
    }
}

/// Whether a label selects or configures operands.
pub fn is_operator_label(key: &str) -> bool {
    key.starts_with(DEPLOY_LABEL_PREFIX) || [PLUGIN_CONFIG_LABEL, MIG_CONFIG_LABEL].contains(&key)
}
