//! What the Network Operator shall do on the nodes of each pool whose network cards do RDMA: a policy for each, bound
//! to its nodes and with its tolerations.
//!
//! NVIDIA advises policies for groups of nodes, instead of one for the cluster, where nothing was installed before:
//! <https://docs.nvidia.com/networking/display/kubernetes2640/customizations/nic-node-policy.html>, read 2026-11-21.

use gpuc_schema::config::{Rdma, RdmaDriver};
use serde_json::{Map, Value, json};

use super::{inputs, tolerations};
use crate::check::Checked;
use crate::model::{Cluster, Pool, RDMA_RESOURCE, RDMA_SHARES};
use crate::node::Origin;
use crate::plan::Object;

/// The folder of the manifests.
const COMPONENT: &str = "network";

/// The registry of what the operator runs on nodes.
const REGISTRY: &str = "nvcr.io/nvidia/mellanox";

/// The tag of the plugin that goes with the operator.
const PLUGIN: &str = "network-operator-v26.4.1";

/// The driver that goes with the operator.
///
/// Source: <https://docs.nvidia.com/networking/display/kubernetes2641/customizations/cr-full-example.html>, read
/// 2026-11-21.
const DRIVER: &str = "doca3.4.1-26.04-1.1.0.0-1";

/// The pools whose network cards do RDMA.
pub(crate) fn pools(cluster: &Cluster) -> impl Iterator<Item = &Pool> {
    let pools = cluster.pools.iter();
    pools.filter(|pool| pool.written.network.rdma.is_some())
}

/// The policy of each pool.
pub(super) fn objects(cluster: &Checked<'_>) -> Vec<Object> {
    let object = |pool: &Pool| {
        let rdma = pool.written.network.rdma.as_ref()?;
        let driver = rdma.value.cards().driver.map(|driver| driver.span);
        let places = inputs::placement(pool).into_iter();
        let origin = Origin::rule(
            places.chain([rdma.span]).chain(driver),
            "the operator offers a pool's cards as its policy says",
        );
        Some(Object::new(COMPONENT, &policy(pool, &rdma.value), origin))
    };
    pools(cluster).filter_map(object).collect()
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
            "config": plugin(rdma),
        },
    });
    let tolerations = tolerations(pool);
    if !tolerations.is_empty() {
        spec["tolerations"] = json!(tolerations);
    }
    if let Some(RdmaDriver::Operator) = rdma.cards().driver.map(|driver| driver.value) {
        spec["ofedDriver"] = json!({
            "image": "doca-driver",
            "repository": REGISTRY,
            "version": DRIVER,
            // One node after the other, and emptied before: a driver in use cannot be replaced.
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

/// The configuration of the plugin, as text: every card of the vendor's that speaks the pool's language.
///
/// Source: Mellanox/k8s-rdma-shared-dev-plugin README.md (selectors), 2026-11-21. The vendor is Mellanox, now NVIDIA.
fn plugin(rdma: &Rdma) -> String {
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
        "rdmaHcaMax": RDMA_SHARES,
        "selectors": {"vendors": ["15b3"], "linkTypes": [link]},
    }]});
    let text = serde_json::to_string_pretty(&config);
    text.expect("texts and numbers are JSON") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::testing::checked;

    fn spec(pool: &str) -> Value {
        checked(pool, |cluster| {
            let objects = objects(&cluster);
            let value = serde_json::to_value(&objects[0].node).expect("an object is JSON");
            value["spec"].clone()
        })
    }

    #[test]
    fn a_policy_keeps_to_its_pool() {
        let network = "network: {rdma: {roce: {}}}";
        let spec = spec(&format!(
            "gpu: {{model: L4, perNode: 2}}, dedicatedTo: research, {network}"
        ));
        assert_eq!(spec["nodeSelector"], json!({"gpuc.dev/pool": "gpu"}));
        assert_eq!(spec["tolerations"][0]["value"], "research");
        assert_eq!(spec["ofedDriver"], Value::Null);
        let config = spec["rdmaSharedDevicePlugin"]["config"].as_str();
        let config: Value = serde_json::from_str(config.expect("a text")).expect("it is JSON");
        let cards = &config["configList"][0];
        assert_eq!(cards["resourceName"], "hca_shared_devices_a");
        assert_eq!(cards["selectors"]["linkTypes"], json!(["ether"]));
    }

    #[test]
    fn a_driver_is_brought_where_it_is_asked_for() {
        let network = "network: {rdma: {infiniband: {driver: operator}}}";
        let spec = spec(&format!("gpu: {{model: L4, perNode: 2}}, {network}"));
        assert_eq!(spec["ofedDriver"]["image"], "doca-driver");
        assert_eq!(spec["tolerations"], Value::Null);
    }
}
