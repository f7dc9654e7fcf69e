//! The Kubernetes Cluster Autoscaler, for clouds that do not run one of their own.

use serde_json::{Map, Value, json};

use gpuc_model::check::Checked;
use gpuc_model::cloud::AUTOSCALER;
use gpuc_model::plan::{Chart, Crds, KubernetesSupport, PodSecurity, Release};
use gpuc_model::{KubernetesVersion, Pool};
use gpuc_syntax::node::{Node, Origin};

/// The chart.
pub static CLUSTER_AUTOSCALER: Chart = Chart {
    name: "cluster-autoscaler",
    repository: "https://kubernetes.github.io/autoscaler",
    version: "9.59.0",
    kubernetes: Some(KubernetesSupport {
        oldest: KubernetesVersion(33),
        newest: Some(NEWEST_IMAGE),
        source: "images v1.33.5, v1.34.4, v1.35.1 and v1.36.0: kubernetes/k8s.io pull request 9676, 2026-07-03; the minor version is the \
                 cluster's: kubernetes/autoscaler cluster-autoscaler/README.md, Releases, @55c37cd5, 2026-08-22",
    }),
    namespace: AUTOSCALER.0,
    pod_security: PodSecurity::Restricted,
    crds: Crds::None,
    api_groups: &[],
    dependencies: &[],
    releases,
    source: "kubernetes/autoscaler@cluster-autoscaler-chart-9.59.0 charts/cluster-autoscaler/values.yaml, 2026-11-21",
};

/// The Kubernetes version that the chart's own image is made for.
const IMAGE_KUBERNETES_VERSION: KubernetesVersion = KubernetesVersion(35);

/// The newest Kubernetes version that an image is made for.
const NEWEST_IMAGE: KubernetesVersion = KubernetesVersion(36);

fn releases(cluster: &Checked<'_>) -> Vec<Release> {
    let release = cluster.cloud.autoscaler_values(cluster);
    let release = release.map(|(cloud, mut inputs)| {
        let pools = super::system_pools(cluster);
        let system_pools = pools.iter().copied();
        inputs.extend(system_pools.flat_map(gpuc_model::derive::origins::placement_spans));
        inputs.push(cluster.kubernetes.expect_resolved().span);
        let reason =
            "the file enables the Cluster Autoscaler, which runs on the nodes of system pods";
        Release {
            name: CLUSTER_AUTOSCALER.name.to_owned(),
            chart: &CLUSTER_AUTOSCALER,
            repository: CLUSTER_AUTOSCALER.repository.to_owned(),
            namespace: CLUSTER_AUTOSCALER.namespace.to_owned(),
            values: Node::from_serializable(
                &values(cluster, &pools, cloud),
                Origin::rule(inputs, reason),
            ),
            pools: Vec::new(),
            daemon_sets: Vec::new(),
        }
    });
    release.into_iter().collect()
}

fn values(cluster: &Checked<'_>, pools: &[&Pool], cloud: Value) -> Map<String, Value> {
    let name = CLUSTER_AUTOSCALER.name;
    let mut values = Map::new();
    values.insert("fullnameOverride".to_owned(), json!(name));
    // The cloud gives this account its rights by name.
    values.insert(
        "rbac".to_owned(),
        json!({"serviceAccount": {"name": AUTOSCALER.1}}),
    );
    if let Some(tag) = image_tag(cluster.kubernetes.expect_resolved().value) {
        values.insert("image".to_owned(), json!({"tag": tag}));
    }
    let arguments = json!({
        // Zones fill evenly.
        "balance-similar-node-groups": true,
        // Of the pools that a pod fits into, the one that leaves the least idle: GPUs before anything else.
        "expander": "least-waste",
        "scale-down-unneeded-time": "10m",
    });
    values.insert("extraArgs".to_owned(), arguments);
    if let Value::Object(cloud) = cloud {
        values.extend(cloud);
    }
    if !pools.is_empty() {
        let pools = || pools.iter().copied();
        values.insert("affinity".to_owned(), super::node_affinity(pools()));
        let tolerations = super::union_of_tolerations(pools());
        if !tolerations.is_empty() {
            values.insert("tolerations".to_owned(), json!(tolerations));
        }
    }
    values
}

/// The autoscaler simulates the scheduler of its own minor version, so that it should be the cluster's. Newer clusters
/// get the newest image, and a finding.
///
/// Source: kubernetes/autoscaler cluster-autoscaler/README.md, Releases, @55c37cd5, 2026-08-22; kubernetes/k8s.io pull
/// requests 8224 (v1.33.0), 8568 (v1.34.0) and 9676 (v1.36.0), which publish the images, read 2026-11-24.
fn image_tag(version: KubernetesVersion) -> Option<String> {
    let version = version.min(NEWEST_IMAGE);
    (version != IMAGE_KUBERNETES_VERSION).then(|| format!("v{version}.0"))
}

#[cfg(test)]
mod tests {
    use gpuc_model::KubernetesVersion;

    use super::image_tag;

    #[test]
    fn image_follows_the_clusters_minor_version() {
        let tag = |minor| image_tag(KubernetesVersion(minor));
        assert_eq!(tag(33).as_deref(), Some("v1.33.0"));
        assert_eq!(tag(35), None);
        assert_eq!(tag(36).as_deref(), Some("v1.36.0"));
        assert_eq!(tag(37).as_deref(), Some("v1.36.0"));
    }
}
