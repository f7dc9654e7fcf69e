//! The driver that the operator installs: one for all its pools if they can share it, otherwise one for each pool.

use std::collections::BTreeSet;

use gpuc_model::check::Checked;
use gpuc_model::derive::origins;
use gpuc_model::plan::Object;
use gpuc_model::{Pool, PoolGpus};
use gpuc_schema::config::{DriverOwner, Extra};
use gpuc_schema::gpu::cuda::DriverVersion;
use gpuc_syntax::node::Origin;
use serde_json::{Map, Value, json};

use super::CHART;
use crate::lower::driver_upgrades::operator_policy;

/// The chart's default version, in the branch for all architectures from Turing on.
///
/// Source: NVIDIA/gpu-operator@v26.7.0 deployments/gpu-operator/values.yaml, `driver.version`.
const NEWEST_VERSION: &str = "595.91.07";

/// The version of the last branch for Pascal and Volta.
///
/// Source: NVIDIA/gpu-driver-container `.github/image-matrix.json` @7f9a9e3f, read 2026-11-21.
const LEGACY_VERSION: &str = "580.178.04";

/// The kernel modules that the operator builds next to the driver, in containers of the same pod: the component of
/// `extras`, the key of the chart's values and of an NVIDIADriver, the image and its version.
///
/// Source: NVIDIA/gpu-operator@10ee5b36 (v26.7.0) `controllers/object_controls.go` (`transformGDRCopyContainer`,
/// `transformGDSContainer`), `api/nvidia/v1alpha1/nvidiadriver_types.go`, `deployments/gpu-operator/values.yaml`, read
/// 2026-11-26. They need no `driver.rdma`, which is for network adapters only.
const MODULES: &[(Extra, &str, &str, &str)] = &[
    (Extra::Gdrcopy, "gdrcopy", "gdrdrv", "v2.6"),
    (Extra::Gds, "gds", "nvidia-fs", "2.29.4"),
];

/// The folder of the objects.
const COMPONENT: &str = "nvidia-drivers";

/// The properties of a driver container. Pools that differ in them cannot share one.
///
/// A driver container is built for one operating system, and the one that all nodes have in common takes that of the
/// first node (cloud-native-docs, gpu-operator/gpu-driver-configuration.rst, read 2026-11-21).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct DriverContainer {
    version: String,
    modules: &'static str,
    family: String,
    /// The components of [`MODULES`] whose kernel modules it builds.
    components: BTreeSet<Extra>,
}

/// The pools whose driver the operator installs, each with its GPUs.
pub(crate) fn driver_pools<'c>(
    cluster: &'c Checked<'_>,
) -> impl Iterator<Item = (&'c Pool, &'c PoolGpus)> {
    let pools = cluster.operator_pools();
    pools
        .filter(|(_, operands)| operands.driver)
        .map(|(pool, _)| {
            let gpus = pool.gpus.expect_resolved().as_ref();
            let gpus = gpus.unwrap_or_else(|| unreachable!("operator pools have GPUs"));
            (pool, gpus)
        })
}

fn driver_container(pool: &Pool, gpus: &PoolGpus) -> DriverContainer {
    DriverContainer {
        version: driver_version(pool, gpus),
        modules: gpus.model.kernel_modules(),
        family: format!("{:?}", pool.os.value),
        components: (pool.extras.iter().map(|extra| extra.value))
            .filter(|extra| MODULES.iter().any(|(component, ..)| component == extra))
            .collect(),
    }
}

/// The version that the user set, or the newest that supports the GPU model.
fn driver_version(pool: &Pool, gpus: &PoolGpus) -> String {
    let written = pool.driver_version.as_ref();
    written.map_or_else(|| newest_version(gpus), |written| written.value.clone())
}

/// The version that the operator installs in a pool if the user sets none; `None` if it installs no driver there.
pub fn default_version(pool: &Pool) -> Option<String> {
    let is_by_operator = pool.driver.value == DriverOwner::Operator;
    let gpus = pool.gpus.get()?.as_ref().filter(|_| is_by_operator)?;
    Some(newest_version(gpus))
}

fn newest_version(gpus: &PoolGpus) -> String {
    let newest = DriverVersion::parse(NEWEST_VERSION).map(|version| version.branch);
    let is_supported = gpus
        .model
        .max_driver_branch
        .is_none_or(|last| Some(last) >= newest);
    if is_supported {
        NEWEST_VERSION
    } else {
        LEGACY_VERSION
    }
    .to_owned()
}

/// The driver that all pools share, if they can share one.
fn shared_driver(cluster: &Checked<'_>) -> Option<DriverContainer> {
    let drivers: BTreeSet<_> = driver_pools(cluster)
        .map(|(pool, gpus)| driver_container(pool, gpus))
        .collect();
    let mut drivers = drivers.into_iter();
    drivers.next().filter(|_| drivers.next().is_none())
}

/// The section of the values.
pub(super) fn values(cluster: &Checked<'_>) -> Value {
    if driver_pools(cluster).next().is_none() {
        return json!({"enabled": false});
    }
    match shared_driver(cluster) {
        Some(driver) => json!({
            "enabled": true,
            "version": driver.version,
            "kernelModuleType": driver.modules,
            "upgradePolicy": operator_policy("gpuPodDeletion"),
        }),
        None => json!({
            "enabled": true,
            // Unused: each pool's NVIDIADriver has its own.
            "version": driver_pools(cluster).map(|(pool, gpus)| driver_version(pool, gpus)).max(),
            "nvidiaDriverCRD": {"enabled": true, "deployDefaultCR": false},
            "upgradePolicy": operator_policy("gpuPodDeletion"),
        }),
    }
}

/// The sections of the values that build kernel modules next to the driver that all pools share.
pub(super) fn module_values(cluster: &Checked<'_>) -> impl Iterator<Item = (&'static str, Value)> {
    let components = shared_driver(cluster).map(|driver| driver.components);
    MODULES
        .iter()
        .filter(move |(component, ..)| {
            components
                .as_ref()
                .is_some_and(|components| components.contains(component))
        })
        .map(|(_, key, ..)| (*key, json!({"enabled": true})))
}

/// Whether each pool has its own NVIDIADriver.
pub(super) fn has_driver_per_pool(cluster: &Checked<'_>) -> bool {
    driver_pools(cluster).next().is_some() && shared_driver(cluster).is_none()
}

/// An NVIDIADriver for each pool, if the pools cannot share one driver.
pub(super) fn objects(cluster: &Checked<'_>) -> Vec<Object> {
    if !has_driver_per_pool(cluster) {
        return Vec::new();
    }
    driver_pools(cluster)
        .map(|(pool, gpus)| nvidia_driver_object(pool, gpus))
        .collect()
}

fn nvidia_driver_object(pool: &Pool, gpus: &PoolGpus) -> Object {
    let driver = driver_container(pool, gpus);
    let selector: Map<String, Value> = (pool.selector.iter())
        .map(|label| (label.key.clone(), json!(label.value)))
        .collect();
    let mut object = json!({
        "apiVersion": "nvidia.com/v1alpha1",
        "kind": "NVIDIADriver",
        "metadata": {
            "name": pool.name.value,
            "labels": {"app.kubernetes.io/managed-by": "gpuc"},
        },
        "spec": {
            "default": false,
            "driverType": "gpu",
            "repository": "nvcr.io/nvidia",
            "image": "driver",
            "version": driver.version,
            "kernelModuleType": driver.modules,
            "nodeSelector": selector,
            "tolerations": gpuc_model::derive::early_tolerations(pool),
            "upgradePolicy": operator_policy("podDeletion"),
            "manager": {
                "repository": "nvcr.io/nvidia/cloud-native",
                "image": "k8s-driver-manager",
                "version": "v0.12.0",
            },
            // The chart's values for the driver that all nodes share.
            "startupProbe": {
                "initialDelaySeconds": 60,
                "periodSeconds": 10,
                "timeoutSeconds": 60,
                "failureThreshold": 120,
            },
        },
    });
    for (component, key, image, version) in MODULES {
        if driver.components.contains(component) {
            object["spec"][*key] = json!({
                "enabled": true,
                "repository": "nvcr.io/nvidia/cloud-native",
                "image": image,
                "version": version,
            });
        }
    }
    let version = pool.driver_version.as_ref().map(|version| version.span);
    let extras = pool.extras.iter().map(|extra| extra.span);
    let inputs = [pool.driver.span, pool.os.span, gpus.span]
        .into_iter()
        .chain(version)
        .chain(extras)
        .chain(origins::placement_spans(pool));
    let reason = "the pools whose driver the GPU Operator installs need different drivers";
    Object::new(
        COMPONENT,
        &object,
        Origin::fact(inputs, reason, CHART.source),
    )
}
