//! NVIDIA's GPU Operator: one release for all pools whose driver or device plugin it installs. Its operands select
//! nodes by labels, which gpuc sets on the pools. A label on all other pools excludes the operator.

mod driver;
mod exporter;
mod mig;
mod plugin;
#[cfg(test)]
mod tests;

use gpuc_model::check::Checked;
use gpuc_model::cloud::{Injection, KUBELET_DIR};
use gpuc_model::derive::origins;
use gpuc_model::plan::{Chart, Crds, KubernetesSupport, Object, PodSecurity, Release};
use gpuc_model::{KubernetesVersion, Operands, Pool};
use gpuc_syntax::node::{Node, Origin};
use k8s_openapi::api::core::v1::Toleration;
use serde_json::{Map, Value, json};

use super::NODE_FEATURE_DISCOVERY;

use crate::charts::gpu_operator::GPU_OPERATOR as CHART;

/// The chart.
pub static GPU_OPERATOR: Chart = Chart {
    name: "gpu-operator",
    repository: "https://helm.ngc.nvidia.com/nvidia",
    version: "v26.7.0",
    kubernetes: Some(KubernetesSupport {
        oldest: KubernetesVersion(32),
        newest: Some(KubernetesVersion(36)),
        source: "NVIDIA/cloud-native-docs@52dcb7b8 gpu-operator/platform-support.rst, 2026-08-21: all platforms of its tables together",
    }),
    namespace: "gpu-operator",
    pod_security: PodSecurity::Privileged,
    crds: Crds::Folder,
    api_groups: &["nvidia.com"],
    dependencies: &[(
        "node-feature-discovery",
        "its labels identify the nodes with NVIDIA GPUs",
    )],
    releases,
    source: "NVIDIA/gpu-operator@v26.7.0 deployments/gpu-operator/values.yaml, 2026-11-21",
};

pub use driver::default_version as default_driver_version;
pub(crate) use driver::driver_pools;

/// The NVIDIADriver objects of the pools, if they cannot share one driver.
pub(crate) fn objects(cluster: &Checked<'_>) -> Vec<Object> {
    driver::objects(cluster)
}

/// The DaemonSets that the operator runs on a pool's nodes, as namespace and name. Their names are fixed, except for
/// those of drivers that differ by pool.
///
/// Source: NVIDIA/gpu-operator `assets/state-*/*_daemonset.yaml`, read 2026-11-21; the chart's own name for Node
/// Feature Discovery's.
pub(crate) fn daemon_sets(cluster: &Checked<'_>, pool: &Pool) -> Vec<(String, String)> {
    let Some(operands) = Operands::for_pool(cluster.cloud, pool) else {
        return Vec::new();
    };
    let deploys_nfd = cluster.config.charts.node_feature_discovery.is_none();
    let daemon_sets = [
        (deploys_nfd, "gpu-operator-node-feature-discovery-worker"),
        (
            operands.driver && !driver::has_driver_per_pool(cluster),
            "nvidia-driver-daemonset",
        ),
        (operands.toolkit, "nvidia-container-toolkit-daemonset"),
        (operands.plugin, "nvidia-device-plugin-daemonset"),
        (operands.plugin, "gpu-feature-discovery"),
        (operands.mig, "nvidia-mig-manager"),
        (
            exporter::measures_pool(cluster, pool),
            "nvidia-dcgm-exporter",
        ),
        (true, "nvidia-operator-validator"),
    ];
    let deployed = daemon_sets.into_iter().filter(|(runs, _)| *runs);
    deployed
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
        let spans = [origins::placement_spans(pool), origins::serving_spans(pool)].concat();
        spans.into_iter().chain([pool.driver.span]).chain(version)
    });
    let reason = "the GPU Operator installs the driver or the device plugin of these pools";
    let origin = Origin::rule(inputs, reason);
    vec![Release {
        name: GPU_OPERATOR.name.to_owned(),
        chart: &GPU_OPERATOR,
        repository: GPU_OPERATOR.repository.to_owned(),
        namespace: GPU_OPERATOR.namespace.to_owned(),
        values: Node::from_serializable(&values(cluster, &pools), origin),
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
    let own_nfd = cluster.config.charts.node_feature_discovery.is_some();
    let advertises = pools.iter().any(|(_, operands)| operands.plugin);
    let mut values = json!({
        "operator": {"runtimeClass": cluster.operator_runtime_class()},
        "daemonsets": {"tolerations": tolerations},
        "cdi": {"enabled": uses_cdi(cluster, pools)},
        "driver": driver::values(cluster),
        "toolkit": toolkit(cluster, pools),
        "devicePlugin": plugin::values(cluster),
        "gfd": {"enabled": advertises},
        "mig": {"strategy": plugin::mig_strategy(cluster)},
        "migManager": mig::values(cluster),
        "dcgmExporter": exporter::values(cluster),
        "nfd": {"enabled": !own_nfd},
        "ccManager": {"enabled": false},
    });
    for (key, section) in driver::module_values(cluster) {
        values[key] = section;
    }
    if !own_nfd {
        values[NODE_FEATURE_DISCOVERY.name] = json!({"worker": {"tolerations": tolerations}});
    }
    let mut host_paths = Map::new();
    if let Some(folder) = driver_dir(cluster, pools) {
        host_paths.insert("driverInstallDir".to_owned(), json!(folder));
    }
    let kubelet = cluster.cloud.facts().kubelet_dir;
    if kubelet != KUBELET_DIR {
        host_paths.insert("kubeletRootDir".to_owned(), json!(kubelet));
    }
    if !host_paths.is_empty() {
        values["hostPaths"] = Value::Object(host_paths);
    }
    values
}

/// The tolerations of the operands: each taint of their pools once. The driver must be installed before gpuc-runtime
/// partitions the GPUs, so they include the startup taint.
fn tolerations(pools: &[(&Pool, Operands)]) -> Vec<Toleration> {
    let mut all = Vec::new();
    let pools = pools.iter().map(|(pool, _)| *pool);
    for toleration in pools.flat_map(gpuc_model::derive::early_tolerations) {
        if !all.contains(&toleration) {
            all.push(toleration);
        }
    }
    all
}

/// Whether containers get their GPUs through CDI. If the node image contains the toolkit, with a container runtime
/// that reads an environment variable, the operator must use that. GPUC2091 rejects pools that differ in the
/// toolkit's origin.
fn uses_cdi(cluster: &Checked<'_>, pools: &[(&Pool, Operands)]) -> bool {
    pools.iter().all(|(pool, operands)| {
        let access = cluster.driver_access(pool);
        operands.toolkit || access.is_some_and(|access| access.injection == Injection::Cdi)
    })
}

/// The folder of drivers that the operator does not install, if it is not the default.
fn driver_dir(cluster: &Checked<'_>, pools: &[(&Pool, Operands)]) -> Option<&'static str> {
    let mut pools = pools.iter().filter(|(_, operands)| !operands.driver);
    pools.find_map(|(pool, _)| cluster.cloud.os(pool.os.value)?.operator_support.driver_dir)
}

fn toolkit(cluster: &Checked<'_>, pools: &[(&Pool, Operands)]) -> Value {
    if pools.iter().all(|(_, operands)| !operands.toolkit) {
        return json!({"enabled": false});
    }
    let mut values = json!({"enabled": true});
    if let Some(folder) = driver_dir(cluster, pools) {
        values["installDir"] = json!(folder);
    }
    let variables: Vec<_> = (cluster.cloud.operator_toolkit(&cluster.config).iter())
        .map(|(name, value)| json!({"name": name, "value": value}))
        .collect();
    if !variables.is_empty() {
        values["env"] = json!(variables);
    }
    values
}
