//! What lets gpuc's own pods be as important on GKE as they are.
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
use crate::source::Span;

/// The quota, where gpuc-runtime runs and where the driver for claims does.
pub(super) fn objects(cluster: Checked<'_>) -> Vec<Object> {
    let advertised = cluster.pools_advertised_by(DevicePlugin::Gpuc);
    let advertised: Vec<_> = advertised.map(|pool| pool.plugin.span).collect();
    let claimed = cluster.pools_claimed();
    let claimed: Vec<_> = claimed.map(|pool| pool.allocation.span).collect();
    let of_runtime = object("gpuc-runtime", "gpuc-system", advertised);
    let of_driver = object(claims::COMPONENT, claims::NAMESPACE, claimed);
    of_runtime.into_iter().chain(of_driver).collect()
}

/// The quota of a namespace, because of these places, if there are any.
fn object(component: &str, namespace: &str, spans: Vec<Span>) -> Option<Object> {
    let needed = !spans.is_empty();
    let origin = Origin::fact(
        spans,
        "GKE admits critical pods outside kube-system only where a quota counts them",
        "cloud-native-docs, gpu-operator/google-gke.rst (2026-11-21)",
    );
    needed.then(|| Object::new(component, &quota(namespace), origin))
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
