//! NVIDIA's driver for Dynamic Resource Allocation, for the pools whose GPUs pods claim.
//!
//! There is one release of it, whatever the pools: the chart has DeviceClasses, which no two releases can own, and on a
//! node the kubelet knows one driver of a name. A node affinity keeps it on the pools that ask for it, so that it never
//! meets a device plugin, and it tolerates the taints of those pools.

use serde_json::{Value, json};

use super::{Chart, Crds, PodSecurity, affinity, tolerations};
use crate::check::Checked;
use crate::lower::{claims, inputs};
use crate::model::{Pool, Sharing};
use crate::node::{Node, Origin};
use crate::plan::Release;

/// The chart.
pub static DRA_DRIVER_NVIDIA_GPU: Chart = Chart {
    name: "dra-driver-nvidia-gpu",
    repository: "oci://registry.k8s.io/dra-driver-nvidia/charts",
    version: "0.4.0",
    namespace: claims::NAMESPACE,
    pod_security: PodSecurity::Privileged,
    crds: Crds::Folder,
    groups: &["resource.nvidia.com"],
    after: &[(
        "gpu-operator",
        "the driver is there before its GPUs are described",
    )],
    releases,
    source: "NVIDIA/k8s-dra-driver-gpu@v0.4.0 deployments/helm/dra-driver-nvidia-gpu/values.yaml, 2026-11-21",
};

/// The DaemonSet that the chart makes, whose name follows from the chart's.
const DAEMON_SET: &str = "dra-driver-nvidia-gpu-kubelet-plugin";

fn releases(cluster: &Checked<'_>) -> Vec<Release> {
    let pools: Vec<_> = cluster.pools_claimed().collect();
    if pools.is_empty() {
        return Vec::new();
    }
    let places = pools.iter().flat_map(|pool| {
        let placement = inputs::placement(pool).into_iter();
        placement.chain(inputs::serving(pool))
    });
    let origin = Origin::rule(
        places,
        "one driver serves every pool whose GPUs are claimed, and runs on no other node",
    );
    vec![Release {
        name: DRA_DRIVER_NVIDIA_GPU.name.to_owned(),
        chart: &DRA_DRIVER_NVIDIA_GPU,
        repository: DRA_DRIVER_NVIDIA_GPU.repository.to_owned(),
        namespace: DRA_DRIVER_NVIDIA_GPU.namespace.to_owned(),
        values: Node::typed(&values(cluster, &pools), origin),
        pools: pools.iter().map(|pool| pool.name.value.clone()).collect(),
        daemon_sets: vec![DAEMON_SET.to_owned()],
    }]
}

fn values(cluster: &Checked<'_>, pools: &[&Pool]) -> Value {
    // GPUC2116 rejects pools that have it in different places.
    let root = cluster.cloud.driver_root(pools[0]);
    let root =
        root.unwrap_or_else(|| unreachable!("GPUC2010 rejects images a cloud does not have"));
    let mut cards = pools.iter().filter_map(|pool| pool.gpus.sure().as_ref());
    // The driver's ComputeDomains hand out NVLink between nodes.
    let domains = cards.any(|gpus| gpus.model.links_nodes());
    let is_mps = |pool: &&Pool| matches!(pool.sharing.sure(), Sharing::Mps { .. });
    let mut values = json!({
        // The chart asks to hear twice that no device plugin is on these nodes, which `allocation` sees to.
        "gpuResourcesEnabledOverride": true,
        "resources": {"gpus": {"enabled": true}, "computeDomains": {"enabled": domains}},
        "nvidiaDriverRoot": root,
        "resourceApiVersion": claims::API_VERSION,
        "kubeletPlugin": {
            "affinity": affinity(pools.iter().copied()),
            "tolerations": tolerations(pools.iter().copied()),
        },
    });
    if let Some(affinity) = controllers_affinity(cluster) {
        values["controller"] = json!({"affinity": affinity});
    }
    if pools.iter().any(is_mps) {
        // The driver refuses a class that asks for the Multi-Process Service while this is off, as it is by default.
        values["featureGates"] = json!({"MPSSupport": true});
    }
    values
}

/// The controller belongs on nodes without GPUs, where there are some. It tolerates no pool's taints.
fn controllers_affinity(cluster: &Checked<'_>) -> Option<Value> {
    let system: Vec<_> = (cluster.pools.iter())
        .filter(|pool| !pool.has_gpus())
        .collect();
    let wanted = affinity(system.iter().copied());
    let terms = wanted.pointer(
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
    use crate::chart::testing::checked;

    fn values_for(pool: &str) -> Value {
        checked(pool, |cluster| {
            let releases = releases(&cluster);
            serde_json::to_value(&releases[0].values).expect("values are JSON")
        })
    }

    #[test]
    fn the_driver_runs_on_claimed_pools_alone() {
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
    fn what_a_card_or_a_way_of_sharing_needs_is_on() {
        let values = values_for("gpu: {model: GB200, perNode: 4}");
        assert_eq!(values["resources"]["computeDomains"]["enabled"], true);
        let values = values_for("gpu: {model: A30, perNode: 2}, sharing: {mps: {replicas: 4}}");
        assert_eq!(values["featureGates"], json!({"MPSSupport": true}));
    }
}
