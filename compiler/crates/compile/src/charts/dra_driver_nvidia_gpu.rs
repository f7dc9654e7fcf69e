//! NVIDIA's driver for Dynamic Resource Allocation, for the pools whose GPUs are allocated through ResourceClaims, and
//! for those whose nodes are connected in ComputeDomains.
//!
//! There is one release for all pools: the chart has DeviceClasses, which two releases cannot own, and the kubelet of a
//! node accepts one driver per name. A node affinity restricts it to these pools, and it tolerates their taints. It
//! allocates GPUs only if no device plugin runs on its nodes: the rule `compute-domains-mixed` ensures that all of its
//! pools agree.

use gpuc_model::check::Checked;
use gpuc_model::cloud::KUBELET_DIR;
use gpuc_model::derive::origins;
use gpuc_model::plan::{Chart, Crds, KubernetesSupport, PodSecurity, Release};
use gpuc_model::{KubernetesVersion, Pool, Sharing};
use gpuc_syntax::node::{Node, Origin};
use serde_json::{Value, json};

use super::{node_affinity, union_of_tolerations};
use crate::lower::claims;

/// The chart.
pub static DRA_DRIVER_NVIDIA_GPU: Chart = Chart {
    name: "dra-driver-nvidia-gpu",
    repository: "oci://registry.k8s.io/dra-driver-nvidia/charts",
    version: "0.4.0",
    kubernetes: Some(KubernetesSupport {
        oldest: KubernetesVersion(32),
        newest: None,
        source: "NVIDIA/k8s-dra-driver-gpu@v0.4.0 deployments/helm/dra-driver-nvidia-gpu/Chart.yaml (kubeVersion), 2026-05-15",
    }),
    namespace: claims::NAMESPACE,
    pod_security: PodSecurity::Privileged,
    crds: Crds::Folder,
    api_groups: &["resource.nvidia.com"],
    dependencies: &[(
        "gpu-operator",
        "it installs the driver that the DRA driver uses",
    )],
    releases,
    source: "NVIDIA/k8s-dra-driver-gpu@v0.4.0 deployments/helm/dra-driver-nvidia-gpu/values.yaml, 2026-11-21",
};

/// The DaemonSet of the chart, whose name derives from the chart's.
const DAEMON_SET: &str = "dra-driver-nvidia-gpu-kubelet-plugin";

fn releases(cluster: &Checked<'_>) -> Vec<Release> {
    let pools: Vec<_> = cluster.dra_driver_pools().collect();
    if pools.is_empty() {
        return Vec::new();
    }
    let domains = cluster.compute_domain_pools().map(|(_, span)| span);
    let inputs = pools.iter().flat_map(|pool| {
        let placement = origins::placement_spans(pool).into_iter();
        placement.chain(origins::serving_spans(pool))
    });
    let origin = Origin::rule(
        inputs.chain(domains),
        "one DRA driver serves every pool with allocation `dra` or `computeDomains`, and runs on no other node",
    );
    vec![Release {
        name: DRA_DRIVER_NVIDIA_GPU.name.to_owned(),
        chart: &DRA_DRIVER_NVIDIA_GPU,
        repository: DRA_DRIVER_NVIDIA_GPU.repository.to_owned(),
        namespace: DRA_DRIVER_NVIDIA_GPU.namespace.to_owned(),
        values: Node::from_serializable(&values(cluster, &pools), origin),
        pools: pools.iter().map(|pool| pool.name.value.clone()).collect(),
        daemon_sets: vec![DAEMON_SET.to_owned()],
    }]
}

fn values(cluster: &Checked<'_>, pools: &[&Pool]) -> Value {
    // GPUC2116 rejects pools with different driver roots.
    let root = cluster.cloud.driver_root(pools[0]);
    let root =
        root.unwrap_or_else(|| unreachable!("GPUC2010 rejects images a cloud does not have"));
    let mut gpus = pools
        .iter()
        .filter_map(|pool| pool.gpus.expect_resolved().as_ref());
    let allocates_gpus = cluster.dra_pools().next().is_some();
    // The driver's ComputeDomains allocate NVLink between nodes.
    let domains = gpus.any(|gpus| gpus.model.has_multi_node_nvlink());
    let is_mps = |pool: &&Pool| matches!(pool.sharing.expect_resolved(), Sharing::Mps { .. });
    let mut values = json!({
        "resources": {"gpus": {"enabled": allocates_gpus}, "computeDomains": {"enabled": domains}},
        "nvidiaDriverRoot": root,
        "resourceApiVersion": claims::API_VERSION,
        "kubeletPlugin": {
            "affinity": node_affinity(pools.iter().copied()),
            "tolerations": union_of_tolerations(pools.iter().copied()),
        },
    });
    let kubelet = cluster.cloud.facts().kubelet_dir;
    if kubelet != KUBELET_DIR {
        values["kubeletPlugin"]["kubeletRegistrarDirectoryPath"] =
            json!(format!("{kubelet}/plugins_registry"));
        values["kubeletPlugin"]["kubeletPluginsDirectoryPath"] =
            json!(format!("{kubelet}/plugins"));
    }
    if allocates_gpus {
        // The chart requires a confirmation that no device plugin runs on these nodes, which `allocation` ensures.
        values["gpuResourcesEnabledOverride"] = json!(true);
    }
    if let Some(affinity) = controllers_affinity(cluster) {
        values["controller"] = json!({"affinity": affinity});
    }
    if pools.iter().any(is_mps) {
        // Without this gate, which is off by default, the driver rejects a DeviceClass with MPS sharing.
        values["featureGates"] = json!({"MPSSupport": true});
    }
    values
}

/// The affinity of the controller, which prefers nodes without GPUs, if there are any. It tolerates no pool's taints.
fn controllers_affinity(cluster: &Checked<'_>) -> Option<Value> {
    let system: Vec<_> = (cluster.pools.iter())
        .filter(|pool| !pool.has_gpus())
        .collect();
    let required = node_affinity(system.iter().copied());
    let terms = required.pointer(
        "/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms",
    )?;
    let terms = terms.as_array().filter(|terms| !terms.is_empty())?;
    let preferred = |term: &Value| json!({"weight": 100, "preference": term});
    let preferred: Vec<_> = terms.iter().map(preferred).collect();
    Some(json!({"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}}))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::charts::testing::with_checked_pool;

    fn values_for(pool: &str) -> Value {
        with_checked_pool(pool, |cluster| {
            let releases = releases(&cluster);
            serde_json::to_value(&releases[0].values).expect("values are JSON")
        })
    }

    #[test]
    fn driver_runs_on_dra_pools_only() {
        let values = values_for("gpu: {model: A30, perNode: 2}, dedicatedTo: research");
        let terms = "/kubeletPlugin/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms";
        let pool = json!({"key": "gpuc.dev/pool", "operator": "In", "values": ["gpu"]});
        assert_eq!(
            values.pointer(terms),
            Some(&json!([{"matchExpressions": [pool]}]))
        );
        let toleration = json!({
            "key": "gpuc.dev/dedicated-to", "operator": "Equal", "value": "research", "effect": "NoSchedule",
        });
        assert_eq!(values["kubeletPlugin"]["tolerations"], json!([toleration]));
        assert_eq!(values["nvidiaDriverRoot"], "/");
        assert_eq!(values["gpuResourcesEnabledOverride"], true);
        assert_eq!(values["resources"]["computeDomains"]["enabled"], false);
        assert_eq!(values["featureGates"], Value::Null);
    }

    #[test]
    fn gpu_model_and_sharing_enable_features() {
        let values = values_for("gpu: {model: GB200, perNode: 4}");
        assert_eq!(values["resources"]["computeDomains"]["enabled"], true);
        let values = values_for("gpu: {model: A30, perNode: 2}, sharing: {mps: {replicas: 4}}");
        assert_eq!(values["featureGates"], json!({"MPSSupport": true}));
    }
}
