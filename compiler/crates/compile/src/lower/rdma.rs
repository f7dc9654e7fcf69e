//! The configuration of NVIDIA's Network Operator for each pool with RDMA: a NicNodePolicy with the pool's node
//! selector and tolerations.
//!
//! NVIDIA recommends policies for groups of nodes, instead of one for the cluster, for new installations:
//! <https://docs.nvidia.com/networking/display/kubernetes2640/customizations/nic-node-policy.html>, read 2026-11-21.

use gpuc_schema::config::{Rdma, RdmaDriver};
use serde_json::{Map, Value, json};

use gpuc_model::check::Checked;
use gpuc_model::derive::{origins, tolerations};
use gpuc_model::plan::Object;
use gpuc_model::{Cluster, Pool, RDMA_REPLICAS, RDMA_RESOURCE};
use gpuc_syntax::node::Origin;

/// The folder of the manifests.
const COMPONENT: &str = "network";

/// The registry of the images that the operator runs on nodes.
const REGISTRY: &str = "nvcr.io/nvidia/mellanox";

/// The tag of the device plugin of this operator version.
const PLUGIN: &str = "network-operator-v26.4.1";

/// The driver version of this operator version.
///
/// Source: <https://docs.nvidia.com/networking/display/kubernetes2641/customizations/cr-full-example.html>, read
/// 2026-11-21.
const DRIVER: &str = "doca3.4.1-26.04-1.1.0.0-1";

/// The pools with RDMA.
pub(crate) fn rdma_pools(cluster: &Cluster) -> impl Iterator<Item = &Pool> {
    let pools = cluster.pools.iter();
    pools.filter(|pool| pool.settings.network.rdma.is_some())
}

/// The policy of each pool.
pub(super) fn objects(cluster: &Checked<'_>) -> Vec<Object> {
    let object = |pool: &Pool| {
        let rdma = pool.settings.network.rdma.as_ref()?;
        let driver = rdma.value.adapters().driver.map(|driver| driver.span);
        let spans = origins::placement_spans(pool).into_iter();
        let origin = Origin::rule(
            spans.chain([rdma.span]).chain(driver),
            "the operator advertises the RDMA devices of a pool as its policy configures",
        );
        Some(Object::new(COMPONENT, &policy(pool, &rdma.value), origin))
    };
    rdma_pools(cluster).filter_map(object).collect()
}

fn policy(pool: &Pool, rdma: &Rdma) -> Value {
    let labels = pool.selector.iter();
    let selector: Map<String, Value> = labels
        .map(|label| (label.key.clone(), json!(label.value)))
        .collect();
    let mut spec = json!({
        "nodeSelector": selector,
        "rdmaSharedDevicePlugin": {
            "image": "k8s-rdma-shared-dev-plugin",
            "repository": REGISTRY,
            "version": PLUGIN,
            "config": plugin_config(rdma),
        },
    });
    let tolerations = tolerations(pool);
    if !tolerations.is_empty() {
        spec["tolerations"] = json!(tolerations);
    }
    if let Some(RdmaDriver::Operator) = rdma.adapters().driver.map(|driver| driver.value) {
        spec["ofedDriver"] = json!({
            "image": "doca-driver",
            "repository": REGISTRY,
            "version": DRIVER,
            // One node at a time, drained first: a driver in use cannot be replaced.
            "upgradePolicy": {
                "autoUpgrade": true,
                "maxParallelUpgrades": 1,
                "drain": {"enable": true, "deleteEmptyDir": true, "force": false, "timeoutSeconds": 300},
            },
        });
    }
    json!({
        "apiVersion": "mellanox.com/v1alpha1",
        "kind": "NicNodePolicy",
        "metadata": {
            "name": pool.name.value,
            "labels": {"app.kubernetes.io/managed-by": "gpuc"},
        },
        "spec": spec,
    })
}

/// The configuration of the device plugin, as text: it selects every NIC of the vendor with the pool's link type.
///
/// Source: Mellanox/k8s-rdma-shared-dev-plugin README.md (selectors), 2026-11-21. The vendor is Mellanox, now NVIDIA.
fn plugin_config(rdma: &Rdma) -> String {
    let link = match rdma {
        Rdma::Infiniband(_) => "infiniband",
        Rdma::Roce(_) => "ether",
    };
    let (prefix, name) = RDMA_RESOURCE
        .split_once('/')
        .unwrap_or_else(|| unreachable!("{RDMA_RESOURCE} has a prefix"));
    let config = json!({"configList": [{
        "resourcePrefix": prefix,
        "resourceName": name,
        "rdmaHcaMax": RDMA_REPLICAS,
        "selectors": {"vendors": ["15b3"], "linkTypes": [link]},
    }]});
    let text = serde_json::to_string_pretty(&config);
    text.expect("strings and numbers are JSON") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::charts::testing::with_checked_pool;

    fn spec(pool: &str) -> Value {
        with_checked_pool(pool, |cluster| {
            let objects = objects(&cluster);
            let value = serde_json::to_value(&objects[0].node).expect("an object is JSON");
            value["spec"].clone()
        })
    }

    #[test]
    fn policies_select_their_pool() {
        let network = "network: {rdma: {roce: {}}}";
        let spec = spec(&format!(
            "gpu: {{model: L4, perNode: 2}}, dedicatedTo: research, {network}"
        ));
        assert_eq!(spec["nodeSelector"], json!({"gpuc.dev/pool": "gpu"}));
        assert_eq!(spec["tolerations"][0]["value"], "research");
        assert_eq!(spec["ofedDriver"], Value::Null);
        let config = spec["rdmaSharedDevicePlugin"]["config"].as_str();
        let config: Value = serde_json::from_str(config.expect("a text")).expect("it is JSON");
        let adapters = &config["configList"][0];
        assert_eq!(adapters["resourceName"], "hca_shared_devices_a");
        assert_eq!(adapters["selectors"]["linkTypes"], json!(["ether"]));
    }

    #[test]
    fn driver_is_installed_if_requested() {
        let network = "network: {rdma: {infiniband: {driver: operator}}}";
        let spec = spec(&format!("gpu: {{model: L4, perNode: 2}}, {network}"));
        assert_eq!(spec["ofedDriver"]["image"], "doca-driver");
        assert_eq!(spec["tolerations"], Value::Null);
    }
}
