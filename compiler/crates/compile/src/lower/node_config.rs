//! The configuration of gpuc-runtime on the nodes of a pool.

use std::collections::BTreeSet;

use gpuc_model::check::Checked;
use gpuc_model::cloud::Injection;
use gpuc_model::{DriverAccess, Pool, Sharing};
use gpuc_schema::config::NodeLabels;
use gpuc_schema::node_config::{
    API_VERSION, DeviceInjection, Driver, ExpectedGpus, Extra, HealthPolicy, KIND, LabelOutput,
    MetricsConfig, MigGpu, MigSlice, NodeConfig, NodeSharing, SharePlacement, StartSettings,
};
use serde_json::json;

use super::monitoring::runtime_measures_gpus;
use crate::lock::short_digest;

/// The path of the driver in the runtime's container.
pub(super) const DRIVER_ROOT: &str = "/driver-root";

/// The path of CDI specs, on the host and in the runtime's container.
pub(super) const CDI_DIR: &str = "/var/run/cdi";

/// The host path for the control daemon of the Multi-Process Service (MPS).
pub(super) const MPS_ROOT: &str = "/run/gpuc/mps";

/// The path of Node Feature Discovery's feature files, on the host and in the runtime's container
/// (kubernetes-sigs/node-feature-discovery, docs/usage/customization-guide.md, "Feature files").
pub(super) const FEATURES_DIR: &str = "/etc/kubernetes/node-feature-discovery/features.d";

/// The runtime's configuration for a pool with GPUs.
pub fn node_config(cluster: &Checked<'_>, pool: &Pool) -> NodeConfig {
    let gpus = pool.gpus.expect_resolved().as_ref();
    let gpus = gpus.unwrap_or_else(|| unreachable!("only pools with GPUs run the runtime"));
    let access = driver_access(cluster, pool);
    NodeConfig {
        api_version: API_VERSION.to_owned(),
        kind: KIND.to_owned(),
        cluster: cluster.name.value.clone(),
        pool: pool.name.value.clone(),
        expected: ExpectedGpus {
            model: gpus.model.key.to_owned(),
            count: gpus.per_node,
        },
        driver: Driver {
            host_root: access.driver_root.to_owned(),
            container_root: DRIVER_ROOT.to_owned(),
        },
        devices: device_injection(access.injection),
        // Without them a container loses its GPUs when systemd or the kubelet's CPU manager rewrites its device rules
        // (NVIDIA/nvidia-container-toolkit#48; NVIDIA/k8s-device-plugin README, `passDeviceSpecs`). CDI devices and
        // device nodes are part of those rules.
        pass_device_nodes: access.injection == Injection::EnvironmentVariable,
        sharing: node_sharing(cluster, pool),
        resources: pool
            .advertised
            .expect_resolved()
            .iter()
            .map(|resource| (resource.name.clone(), resource.per_node))
            .collect(),
        extras: injected_components(pool),
        placement: share_placement(pool),
        health: HealthPolicy::default(),
        labels: label_output(pool.node_labels.value),
        metrics: MetricsConfig {
            gpus: runtime_measures_gpus(cluster, pool),
            ..MetricsConfig::default()
        },
        startup_taint: pool.startup_taint.as_ref().map(|taint| taint.key.clone()),
    }
}

/// A digest of the settings that the runtime's containers read once, when they start.
pub(super) fn start_digest(config: &NodeConfig) -> String {
    let StartSettings {
        driver,
        devices,
        sharing,
    } = config.start_settings();
    short_digest(&json!([driver, devices, sharing]).to_string())
}

/// The components injected into containers in addition to their GPUs, each once.
pub(crate) fn injected_components(pool: &Pool) -> Vec<Extra> {
    let extras: BTreeSet<_> = pool.extras.iter().map(|extra| extra.value).collect();
    extras.into_iter().collect()
}

fn share_placement(pool: &Pool) -> SharePlacement {
    pool.sharing_placement.unwrap_or_default().value
}

fn label_output(labels: NodeLabels) -> LabelOutput {
    match labels {
        NodeLabels::Node => LabelOutput::Node,
        NodeLabels::FeatureFile => LabelOutput::FeatureFile {
            path: format!("{FEATURES_DIR}/gpuc"),
        },
        NodeLabels::None => LabelOutput::None,
    }
}

/// The access to the driver and the way of injecting devices on a pool's nodes.
pub(crate) fn driver_access(cluster: &Checked<'_>, pool: &Pool) -> DriverAccess {
    let access = cluster.driver_access(pool);
    access
        .unwrap_or_else(|| unreachable!("GPUC2010 rejects node images that a cloud does not have"))
}

fn device_injection(injection: Injection) -> DeviceInjection {
    match injection {
        Injection::EnvironmentVariable => DeviceInjection::EnvironmentVariable,
        Injection::Cdi => DeviceInjection::Cdi {
            spec_dir: CDI_DIR.to_owned(),
            annotations: false,
        },
        Injection::DeviceNodes { host, container } => DeviceInjection::DeviceNodes {
            driver_host_path: host.to_owned(),
            driver_container_path: container.to_owned(),
        },
    }
}

fn node_sharing(cluster: &Checked<'_>, pool: &Pool) -> NodeSharing {
    match pool.sharing.expect_resolved() {
        Sharing::Exclusive => NodeSharing::Exclusive,
        Sharing::TimeSlicing { replicas, rename } => NodeSharing::TimeSlicing {
            replicas: replicas.value,
            rename: *rename,
            refuse_more_than_one: false,
        },
        Sharing::Mps { replicas, rename } => NodeSharing::Mps {
            replicas: replicas.value,
            rename: *rename,
            // The control daemon limits every client to one replica, so a second one would have no effect. NVIDIA's
            // plugin rejects it too (k8s-device-plugin v0.20.0, `failRequestsGreaterThanOne` under `mps`).
            refuse_more_than_one: true,
            root: MPS_ROOT.to_owned(),
        },
        Sharing::Mig { strategy, gpus } => NodeSharing::Mig {
            strategy: strategy.value,
            apply: !cluster.cloud.partitions_gpus(pool),
            gpus: gpus
                .iter()
                .map(|gpu| MigGpu {
                    index: gpu.index,
                    slices: gpu
                        .placements
                        .iter()
                        .map(|placement| MigSlice {
                            profile: placement.profile.to_owned(),
                            start: placement.start,
                            size: placement.size,
                        })
                        .collect(),
                })
                .collect(),
        },
    }
}
