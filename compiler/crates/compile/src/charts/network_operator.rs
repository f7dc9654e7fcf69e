//! NVIDIA's Network Operator, for pools with RDMA network adapters, or if the file enables the chart.
//!
//! A policy of each pool, which is one of the tree's objects, configures the operator on its nodes.

use gpuc_model::check::Checked;
use gpuc_model::derive::origins;
use gpuc_model::plan::{Chart, Crds, KubernetesSupport, PodSecurity, Release};
use gpuc_model::{KubernetesVersion, Pool};
use gpuc_schema::config::{DevicePlugin, DriverOwner};
use gpuc_syntax::node::Origin;
use serde_json::{Map, Value, json};

use super::{single_release, union_of_tolerations};
use crate::lower::rdma;

/// The chart.
pub static NETWORK_OPERATOR: Chart = Chart {
    name: "network-operator",
    repository: "https://helm.ngc.nvidia.com/nvidia",
    version: "26.4.1",
    kubernetes: Some(KubernetesSupport {
        oldest: KubernetesVersion(21),
        newest: None,
        source: "Mellanox/network-operator@v26.4.1 deployment/network-operator/Chart.yaml (kubeVersion), 2026-07-24",
    }),
    namespace: "nvidia-network-operator",
    pod_security: PodSecurity::Privileged,
    crds: Crds::Folder,
    api_groups: &["mellanox.com"],
    dependencies: &[
        (
            "node-feature-discovery",
            "it labels the nodes that have the NICs",
        ),
        (
            "gpu-operator",
            "its Node Feature Discovery labels the nodes that have the NICs",
        ),
    ],
    releases,
    source: "Mellanox/network-operator@v26.4.1 deployment/network-operator/values.yaml; \
             docs.nvidia.com/networking/display/kubernetes2641 (images); 2026-11-21",
};

fn releases(cluster: &Checked<'_>) -> Vec<Release> {
    let pools: Vec<_> = rdma::rdma_pools(cluster).collect();
    let named = cluster.config.charts.network_operator.as_ref();
    let written = pools
        .iter()
        .filter_map(|pool| pool.settings.network.rdma.as_ref());
    let required_by = written.map(|it| it.span).next().or(named.map(|it| it.span));
    let mut releases = single_release(&NETWORK_OPERATOR, required_by, &values(cluster, &pools));
    let spans = pools.iter().flat_map(|pool| {
        let rdma = pool.settings.network.rdma.as_ref().map(|it| it.span);
        origins::placement_spans(pool).into_iter().chain(rdma)
    });
    let reason = "the operator advertises the RDMA devices of pools";
    let origin = Origin::rule(spans, reason);
    if let (Some(release), false) = (releases.first_mut(), pools.is_empty()) {
        release.values.origin = origin;
    }
    releases
}

fn values(cluster: &Checked<'_>, pools: &[&Pool]) -> Value {
    let mut values = Map::new();
    let elsewhere = has_feature_discovery(cluster);
    values.insert("nfd".to_owned(), json!({"enabled": !elsewhere}));
    if !elsewhere {
        let worker = json!({"tolerations": union_of_tolerations(pools.iter().copied())});
        values.insert(
            "node-feature-discovery".to_owned(),
            json!({"worker": worker}),
        );
    }
    Value::Object(values)
}

/// Whether another release labels nodes with what is in them: two would fight over the same labels.
fn has_feature_discovery(cluster: &Checked<'_>) -> bool {
    let by_gpu_operator = cluster.gpu_pools().any(|(pool, _)| {
        pool.driver.value == DriverOwner::Operator || pool.is_advertised_by(DevicePlugin::Operator)
    });
    cluster.config.charts.node_feature_discovery.is_some() || by_gpu_operator
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::charts::testing::with_checked_pool;

    fn values_for(pool: &str) -> Vec<Value> {
        with_checked_pool(pool, |cluster| {
            let releases = releases(&cluster).into_iter();
            let value = |it: Release| serde_json::to_value(&it.values).expect("values are JSON");
            releases.map(value).collect()
        })
    }

    #[test]
    fn feature_discovery_tolerates_gpu_node_taints() {
        let pool = "gpu: {model: L4, perNode: 2}, dedicatedTo: research";
        assert_eq!(values_for(pool), Vec::<Value>::new());
        let values = values_for(&format!("{pool}, network: {{rdma: {{infiniband: {{}}}}}}"));
        let toleration = json!({
            "key": "gpuc.dev/dedicated-to", "operator": "Equal", "value": "research", "effect": "NoSchedule",
        });
        let expected = json!({
            "nfd": {"enabled": true},
            "node-feature-discovery": {"worker": {"tolerations": [toleration]}},
        });
        assert_eq!(values, [expected]);
    }
}
