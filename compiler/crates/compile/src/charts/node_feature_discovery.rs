//! Node Feature Discovery: labels that say what a node's hardware is. It runs on every node, whatever its taints.

use gpuc_model::KubernetesVersion;
use gpuc_model::check::Checked;
use gpuc_model::plan::{Chart, Crds, KubernetesSupport, PodSecurity, Release};
use serde_json::json;

use super::{single_release, union_of_tolerations};

/// The chart.
pub static NODE_FEATURE_DISCOVERY: Chart = Chart {
    name: "node-feature-discovery",
    repository: "oci://registry.k8s.io/nfd/charts",
    version: "0.19.0",
    kubernetes: Some(KubernetesSupport {
        oldest: KubernetesVersion(24),
        newest: None,
        source: "kubernetes-sigs/node-feature-discovery@v0.19.0 docs/reference/versions.md, 2026-07-10",
    }),
    namespace: "node-feature-discovery",
    pod_security: PodSecurity::Privileged,
    crds: Crds::Folder,
    api_groups: &["nfd.k8s-sigs.io"],
    dependencies: &[],
    releases,
    source: "kubernetes-sigs/node-feature-discovery@v0.19.0 deployment/helm/node-feature-discovery/values.yaml, 2026-11-21",
};

fn releases(cluster: &Checked<'_>) -> Vec<Release> {
    let settings = cluster.config.charts.node_feature_discovery.as_ref();
    let mut values = json!({"worker": {
        "tolerations": union_of_tolerations(&cluster.pools),
        // Labels by vendor only, which the selectors of NVIDIA's operators expect: `pci-10de.present`.
        "config": {"sources": {"pci": {
            "deviceClassWhitelist": ["02", "03", "12"],
            "deviceLabelFields": ["vendor"],
        }}},
    }});
    let mut pools = cluster.pools.iter();
    let by_plugin = pools.any(|pool| cluster.has_feature_discovery(pool));
    if by_plugin || cluster.operator_pools().next().is_some() {
        // As NVIDIA's charts have it, for the labels that GPU Feature Discovery writes through this one.
        values["master"] = json!({"config": {"extraLabelNs": ["nvidia.com"]}});
    }
    let mut releases = single_release(&NODE_FEATURE_DISCOVERY, settings.map(|it| it.span), &values);
    for release in &mut releases {
        let pools = cluster.pools.iter();
        release.pools = pools.map(|pool| pool.name.value.clone()).collect();
        release.daemon_sets = vec!["node-feature-discovery-worker".to_owned()];
    }
    releases
}
