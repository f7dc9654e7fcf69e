//! What the runtime is told on the nodes of a pool.

use std::collections::BTreeSet;

use gpuc_schema::config::{MigStrategy, NodeLabels};
use gpuc_schema::node_config::{
    API_VERSION, DeviceInjection, Driver, ExpectedGpus, Extra, HealthPolicy, KIND, LabelOutput,
    MetricsConfig, MigGpu, MigSlice, NodeConfig, NodeSharing, SharePlacement,
};

use super::monitoring::runtime_measures;
use crate::check::Checked;
use crate::cloud::Injection;
use crate::model::{Access, Pool, Sharing};

/// Where the runtime's container sees the driver.
pub(super) const DRIVER_ROOT: &str = "/driver-root";

/// Where CDI specs are written, on the host and in the runtime's container.
pub(super) const CDI_DIR: &str = "/var/run/cdi";

/// The host's folder for the control daemon of the Multi-Process Service.
pub(super) const MPS_ROOT: &str = "/run/gpuc/mps";

/// Where Node Feature Discovery looks for files, on the host and in the runtime's container
/// (kubernetes-sigs/node-feature-discovery, docs/usage/customization-guide.md, "Feature files").
pub(super) const FEATURES_DIR: &str = "/etc/kubernetes/node-feature-discovery/features.d";

/// The runtime's configuration for a pool with GPUs.
pub fn node_config(cluster: &Checked<'_>, pool: &Pool) -> NodeConfig {
    let gpus = pool.gpus.sure().as_ref();
    let gpus = gpus.unwrap_or_else(|| unreachable!("only pools with GPUs run the runtime"));
    let access = access(cluster, pool);
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
        devices: devices(access.injection),
        // Without them a container loses its GPUs when systemd or the kubelet's CPU manager writes its device rules
        // anew (NVIDIA/nvidia-container-toolkit#48; NVIDIA/k8s-device-plugin README, `passDeviceSpecs`). What comes
        // by CDI or as device nodes is among those rules.
        pass_device_nodes: access.injection == Injection::EnvironmentVariable,
        sharing: sharing(cluster, pool),
        resources: pool
            .offers
            .sure()
            .iter()
            .map(|offer| (offer.resource.clone(), offer.per_node))
            .collect(),
        extras: extras(pool),
        placement: placement(pool),
        health: HealthPolicy::default(),
        labels: labels(pool.node_labels.value),
        metrics: MetricsConfig {
            gpus: runtime_measures(cluster, pool),
            ..MetricsConfig::default()
        },
        startup_taint: pool.startup_taint.as_ref().map(|taint| taint.key.clone()),
    }
}

/// What containers get beside their GPUs, each once.
pub(crate) fn extras(pool: &Pool) -> Vec<Extra> {
    let extras: BTreeSet<_> = pool.extras.iter().map(|extra| extra.value).collect();
    extras.into_iter().collect()
}

fn placement(pool: &Pool) -> SharePlacement {
    let written = pool.written.sharing.placement();
    written.unwrap_or_default().value
}

fn labels(labels: NodeLabels) -> LabelOutput {
    match labels {
        NodeLabels::Node => LabelOutput::Node,
        NodeLabels::FeatureFile => LabelOutput::FeatureFile {
            path: format!("{FEATURES_DIR}/gpuc"),
        },
        NodeLabels::None => LabelOutput::None,
    }
}

/// How the driver and containers are reached on a pool's nodes.
pub(crate) fn access(cluster: &Checked<'_>, pool: &Pool) -> Access {
    let access = cluster.access(pool);
    access
        .unwrap_or_else(|| unreachable!("GPUC2010 rejects node images that a cloud does not have"))
}

fn devices(injection: Injection) -> DeviceInjection {
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

fn sharing(cluster: &Checked<'_>, pool: &Pool) -> NodeSharing {
    match pool.sharing.sure() {
        Sharing::Exclusive => NodeSharing::Exclusive,
        Sharing::TimeSlicing { replicas, rename } => NodeSharing::TimeSlicing {
            replicas: replicas.value,
            rename: *rename,
            refuse_more_than_one: false,
        },
        Sharing::Mps { replicas, rename } => NodeSharing::Mps {
            replicas: replicas.value,
            rename: *rename,
            // The control daemon limits every client to one share, so a second one would give nothing. NVIDIA's
            // plugin refuses it as well (k8s-device-plugin v0.20.0, `failRequestsGreaterThanOne` under `mps`).
            refuse_more_than_one: true,
            root: MPS_ROOT.to_owned(),
        },
        Sharing::Mig { strategy, gpus } => NodeSharing::Mig {
            strategy: strategy_word(strategy.value).to_owned(),
            apply: !cluster.cloud.cuts_gpus(pool),
            gpus: gpus
                .iter()
                .map(|gpu| MigGpu {
                    index: gpu.index,
                    slices: gpu
                        .slices
                        .iter()
                        .map(|slice| MigSlice {
                            profile: slice.profile.to_owned(),
                            start: slice.start,
                            size: slice.size,
                        })
                        .collect(),
                })
                .collect(),
        },
    }
}

/// The strategy as NVIDIA's tools write it.
pub(crate) fn strategy_word(strategy: MigStrategy) -> &'static str {
    match strategy {
        MigStrategy::Single => "single",
        MigStrategy::Mixed => "mixed",
    }
}
