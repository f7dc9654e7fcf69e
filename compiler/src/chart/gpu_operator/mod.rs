//! NVIDIA's GPU Operator: one release for every pool whose driver or device plugin comes by it. Its parts choose nodes
//! by labels, which gpuc gives to the pools; pools that it does nothing for have one that keeps it off.

mod driver;
mod exporter;
mod mig;
mod plugin;
#[cfg(test)]
mod tests;

use k8s_openapi::api::core::v1::Toleration;
use serde_json::{Value, json};

use super::{Chart, Crds, NODE_FEATURE_DISCOVERY, PodSecurity};
use crate::check::Checked;
use crate::cloud::Injection;
use crate::lower::{self, inputs};
use crate::model::{Operands, Pool};
use crate::node::{Node, Origin};
use crate::plan::{Object, Release};

use self::GPU_OPERATOR as CHART;

/// The chart.
pub static GPU_OPERATOR: Chart = Chart {
    name: "gpu-operator",
    repository: "https://helm.ngc.nvidia.com/nvidia",
    version: "v26.7.0",
    namespace: "gpu-operator",
    pod_security: PodSecurity::Privileged,
    crds: Crds::Folder,
    groups: &["nvidia.com"],
    after: &[(
        "node-feature-discovery",
        "its labels say which nodes have NVIDIA's cards",
    )],
    releases,
    source: "NVIDIA/gpu-operator@v26.7.0 deployments/gpu-operator/values.yaml, 2026-11-21",
};

pub(crate) use driver::default_version as default_driver_version;

/// The objects that say which driver each pool gets, where no one driver suits them all.
pub(crate) fn objects(cluster: &Checked<'_>) -> Vec<Object> {
    driver::objects(cluster)
}

/// The DaemonSets that the operator runs on a pool's nodes, as namespace and name. Their names are fixed, except for
/// those of drivers that differ by pool.
///
/// Source: NVIDIA/gpu-operator `assets/state-*/*_daemonset.yaml`, read 2026-11-21; the chart's own name for Node
/// Feature Discovery's.
pub(crate) fn daemon_sets(cluster: &Checked<'_>, pool: &Pool) -> Vec<(String, String)> {
    let Some(operands) = Operands::of(cluster.cloud, pool) else {
        return Vec::new();
    };
    let brings_nfd = cluster.written.charts.node_feature_discovery.is_none();
    let parts = [
        (brings_nfd, "gpu-operator-node-feature-discovery-worker"),
        (
            operands.driver && !driver::is_by_pool(cluster),
            "nvidia-driver-daemonset",
        ),
        (operands.toolkit, "nvidia-container-toolkit-daemonset"),
        (operands.plugin, "nvidia-device-plugin-daemonset"),
        (operands.plugin, "gpu-feature-discovery"),
        (operands.mig, "nvidia-mig-manager"),
        (exporter::measures(cluster, pool), "nvidia-dcgm-exporter"),
        (true, "nvidia-operator-validator"),
    ];
    let parts = parts.into_iter().filter(|(runs, _)| *runs);
    parts
        .map(|(_, name)| (GPU_OPERATOR.namespace.to_owned(), name.to_owned()))
        .collect()
}

fn releases(cluster: &Checked<'_>) -> Vec<Release> {
    let pools: Vec<_> = cluster.operator_pools().collect();
    if pools.is_empty() {
        return Vec::new();
    }
    let inputs = pools.iter().flat_map(|(pool, _)| {
        let version = pool.driver_version.as_ref().map(|version| version.span);
        let own = [inputs::placement(pool), inputs::serving(pool)].concat();
        own.into_iter().chain([pool.driver.span]).chain(version)
    });
    let why = "the driver or the device plugin of these pools comes by the GPU Operator";
    let origin = Origin::rule(inputs, why);
    vec![Release {
        name: GPU_OPERATOR.name.to_owned(),
        chart: &GPU_OPERATOR,
        repository: GPU_OPERATOR.repository.to_owned(),
        namespace: GPU_OPERATOR.namespace.to_owned(),
        values: Node::typed(&values(cluster, &pools), origin),
        pools: pools
            .iter()
            .map(|(pool, _)| pool.name.value.clone())
            .collect(),
        // They differ by pool: `daemon_sets`.
        daemon_sets: Vec::new(),
    }]
}

fn values(cluster: &Checked<'_>, pools: &[(&Pool, Operands)]) -> Value {
    let tolerations = tolerations(pools);
    let own_nfd = cluster.written.charts.node_feature_discovery.is_some();
    let advertises = pools.iter().any(|(_, operands)| operands.plugin);
    let mut values = json!({
        "operator": {"runtimeClass": cluster.operator_runtime_class()},
        "daemonsets": {"tolerations": tolerations},
        "cdi": {"enabled": uses_cdi(cluster, pools)},
        "driver": driver::values(cluster),
        "toolkit": toolkit(cluster, pools),
        "devicePlugin": plugin::values(cluster),
        "gfd": {"enabled": advertises},
        "mig": {"strategy": plugin::strategy(cluster)},
        "migManager": mig::values(cluster),
        "dcgmExporter": exporter::values(cluster),
        "nfd": {"enabled": !own_nfd},
        "ccManager": {"enabled": false},
    });
    if !own_nfd {
        values[NODE_FEATURE_DISCOVERY.name] = json!({"worker": {"tolerations": tolerations}});
    }
    if let Some(folder) = driver_dir(cluster, pools) {
        values["hostPaths"] = json!({"driverInstallDir": folder});
    }
    values
}

/// What the operator's parts tolerate: each taint of their pools once. A driver must be there before gpuc-runtime cuts
/// the GPUs, so the taint that waits for that is among them.
fn tolerations(pools: &[(&Pool, Operands)]) -> Vec<Toleration> {
    let mut all = Vec::new();
    let pools = pools.iter().map(|(pool, _)| *pool);
    for toleration in pools.flat_map(lower::early_tolerations) {
        if !all.contains(&toleration) {
            all.push(toleration);
        }
    }
    all
}

/// Whether containers get their GPUs by CDI. Where the image brings the toolkit, with a container runtime that reads a
/// variable, the operator is told to keep to that. Pools that differ in who brings it are refused: GPUC2091.
fn uses_cdi(cluster: &Checked<'_>, pools: &[(&Pool, Operands)]) -> bool {
    pools.iter().all(|(pool, operands)| {
        let access = cluster.access(pool);
        operands.toolkit || access.is_some_and(|access| access.injection == Injection::Cdi)
    })
}

/// The folder of drivers that somebody else installs, where it is not the usual one.
fn driver_dir(cluster: &Checked<'_>, pools: &[(&Pool, Operands)]) -> Option<&'static str> {
    let mut pools = pools.iter().filter(|(_, operands)| !operands.driver);
    pools.find_map(|(pool, _)| cluster.cloud.os(pool.os.value)?.operator.driver_dir)
}

fn toolkit(cluster: &Checked<'_>, pools: &[(&Pool, Operands)]) -> Value {
    if pools.iter().all(|(_, operands)| !operands.toolkit) {
        return json!({"enabled": false});
    }
    let mut values = json!({"enabled": true});
    if let Some(folder) = driver_dir(cluster, pools) {
        values["installDir"] = json!(folder);
    }
    let variables = cluster.cloud.operator_toolkit(&cluster.written);
    let variables = variables.iter();
    let variables: Vec<_> = variables
        .map(|(name, value)| json!({"name": name, "value": value}))
        .collect();
    if !variables.is_empty() {
        values["env"] = json!(variables);
    }
    values
}
