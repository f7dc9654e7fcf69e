//! What lets pods that serve GPU nodes be as important on GKE as they are.
//!
//! GKE admits pods of the priority classes `system-node-critical` and `system-cluster-critical` outside kube-system
//! only where a `ResourceQuota` counts them (cloud-native-docs, gpu-operator/google-gke.rst, read 2026-11-21).

use std::collections::BTreeMap;

use gpuc_schema::config::DevicePlugin;
use k8s_openapi::api::core::v1::{
    ResourceQuota, ResourceQuotaSpec, ScopeSelector, ScopedResourceSelectorRequirement,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::check::Checked;
use crate::lower::claims;
use crate::node::Origin;
use crate::plan::Object;

/// A quota in each namespace whose pods are critical: gpuc-runtime's, that of the driver for claims, and those of the
/// charts that serve GPU nodes.
pub(super) fn objects(cluster: Checked<'_>) -> Vec<Object> {
    let by = |plugin| {
        let pools = cluster.pools_advertised_by(plugin);
        pools.map(|pool| pool.plugin.span).collect::<Vec<_>>()
    };
    let operator = cluster.operator_pools().map(|(pool, _)| pool);
    let operator = operator.flat_map(|pool| [pool.driver.span, pool.plugin.span]);
    let claimed = cluster.pools_claimed().map(|pool| pool.allocation.span);
    // A chart's namespace stands with those of other charts, and is there before the chart.
    let namespaces = [
        ("gpuc-runtime", "gpuc-system", by(DevicePlugin::Gpuc)),
        (claims::COMPONENT, claims::NAMESPACE, claimed.collect()),
        ("namespaces", "gpu-operator", operator.collect()),
        (
            "namespaces",
            "nvidia-device-plugin",
            by(DevicePlugin::Nvidia),
        ),
    ];
    let used = namespaces
        .into_iter()
        .filter(|(_, _, spans)| !spans.is_empty());
    used.map(|(component, namespace, spans)| {
        let origin = Origin::fact(
            spans,
            "GKE admits critical pods outside kube-system only where a quota counts them",
            "cloud-native-docs, gpu-operator/google-gke.rst (2026-11-21)",
        );
        Object::new(component, &quota(namespace), origin)
    })
    .collect()
}

fn quota(namespace: &str) -> ResourceQuota {
    let classes = ["system-node-critical", "system-cluster-critical"];
    // More pods than there can be: it admits them, and never holds one back.
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
