//! Grafana's dashboards, as ConfigMaps that its sidecar picks up: of the fleet, of a pool, of a node, of a namespace.

mod fleet;
mod model;
mod namespace;
mod node;
mod parts;
mod pool;

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::{COMPONENT, NAMESPACE, labels};
use crate::check::Checked;
use crate::node::Origin;
use crate::plan::Object;
use model::Dashboard;

/// The label that Grafana's sidecar looks for, as kube-prometheus-stack sets it up.
const PICKED_BY: (&str, &str) = ("grafana_dashboard", "1");

/// Flux would put nothing in place of `${datasource}`.
///
/// Source: <https://fluxcd.io/flux/components/kustomize/kustomizations/#post-build-variable-substitution>.
const NOT_SUBSTITUTED: (&str, &str) = ("kustomize.toolkit.fluxcd.io/substitute", "disabled");

fn all() -> [Dashboard; 4] {
    [
        fleet::dashboard(),
        pool::dashboard(),
        node::dashboard(),
        namespace::dashboard(),
    ]
}

/// The dashboards.
pub(super) fn objects(cluster: &Checked<'_>) -> Vec<Object> {
    let monitoring = cluster.written.monitoring.as_ref();
    let asked = monitoring.map(|monitoring| monitoring.dashboards.span);
    let origin = Origin::rule(asked, "`monitoring.dashboards` asks for dashboards");
    let object = |dashboard: &Dashboard| {
        let json = serde_json::to_string_pretty(&dashboard.json());
        let json = json.expect("a dashboard is JSON") + "\n";
        let (key, value) = PICKED_BY;
        let mut all = labels();
        all.insert(key.to_owned(), value.to_owned());
        let (key, value) = NOT_SUBSTITUTED;
        let object = ConfigMap {
            metadata: ObjectMeta {
                name: Some(format!("dashboard-{}", dashboard.uid)),
                namespace: Some(NAMESPACE.to_owned()),
                labels: Some(all),
                annotations: Some(BTreeMap::from([(key.to_owned(), value.to_owned())])),
                ..ObjectMeta::default()
            },
            data: Some(BTreeMap::from([(format!("{}.json", dashboard.uid), json)])),
            ..ConfigMap::default()
        };
        Object::new(COMPONENT, &object, origin.clone())
    };
    all().iter().map(object).collect()
}

/// The names of everything that dashboards read.
pub(super) fn reads() -> BTreeSet<&'static str> {
    all().iter().flat_map(Dashboard::reads).collect()
}
