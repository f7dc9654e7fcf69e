//! ResourceQuotas that admit pods with critical priority classes on GKE.
//!
//! GKE admits pods of the priority classes `system-node-critical` and `system-cluster-critical` outside kube-system
//! only if a `ResourceQuota` covers them (cloud-native-docs, gpu-operator/google-gke.rst, read 2026-11-21).

use std::collections::BTreeMap;

use gpuc_schema::config::DevicePlugin;
use k8s_openapi::api::core::v1::{
    ResourceQuota, ResourceQuotaSpec, ScopeSelector, ScopedResourceSelectorRequirement,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use gpuc_model::check::Checked;
use gpuc_model::derive::components::DRA_DRIVER_NAMESPACE;
use gpuc_model::plan::Object;
use gpuc_syntax::node::Origin;

/// A quota in each namespace with critical pods: the namespaces of gpuc-runtime, of the DRA driver, and of the charts
/// for GPU nodes.
pub(super) fn objects(cluster: Checked<'_>) -> Vec<Object> {
    let plugin_spans = |plugin| {
        let pools = cluster.pools_advertised_by(plugin);
        pools.map(|pool| pool.plugin.span).collect::<Vec<_>>()
    };
    let operator = cluster
        .operator_pools()
        .map(|(pool, _)| pool)
        .flat_map(|pool| [pool.driver.span, pool.plugin.span]);
    let claimed = cluster.dra_pools().map(|pool| pool.allocation.span);
    let domains = cluster.compute_domain_pools().map(|(_, span)| span);
    let claimed = claimed.chain(domains);
    // Namespaces of charts belong to the component `namespaces`, which is installed before the charts.
    let namespaces = [
        (
            "gpuc-runtime",
            "gpuc-system",
            plugin_spans(DevicePlugin::Gpuc),
        ),
        ("namespaces", DRA_DRIVER_NAMESPACE, claimed.collect()),
        ("namespaces", "gpu-operator", operator.collect()),
        (
            "namespaces",
            "nvidia-device-plugin",
            plugin_spans(DevicePlugin::Nvidia),
        ),
    ];
    let used = namespaces
        .into_iter()
        .filter(|(_, _, spans)| !spans.is_empty());
    used.map(|(component, namespace, spans)| {
        let origin = Origin::fact(
            spans,
            "GKE admits critical pods outside kube-system only if a ResourceQuota covers them",
            "cloud-native-docs, gpu-operator/google-gke.rst (2026-11-21)",
        );
        Object::new(component, &critical_pods_quota(namespace), origin)
    })
    .collect()
}

fn critical_pods_quota(namespace: &str) -> ResourceQuota {
    let classes = ["system-node-critical", "system-cluster-critical"];
    // Higher than any number of pods: the quota admits pods and never limits them.
    let pods = BTreeMap::from([("pods".to_owned(), Quantity("1G".to_owned()))]);
    ResourceQuota {
        metadata: ObjectMeta {
            name: Some("gpuc-critical-pods".to_owned()),
            namespace: Some(namespace.to_owned()),
            ..ObjectMeta::default()
        },
        spec: Some(ResourceQuotaSpec {
            hard: Some(pods),
            scope_selector: Some(ScopeSelector {
                match_expressions: Some(vec![ScopedResourceSelectorRequirement {
                    operator: "In".to_owned(),
                    scope_name: "PriorityClass".to_owned(),
                    values: Some(classes.map(str::to_owned).to_vec()),
                }]),
            }),
            ..ResourceQuotaSpec::default()
        }),
        ..ResourceQuota::default()
    }
}
