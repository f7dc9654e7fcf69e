//! Grafana dashboards for the fleet, a pool, a node and a namespace, as ConfigMaps that Grafana's sidecar loads.

mod fleet;
mod model;
mod namespace;
mod node;
mod parts;
mod pool;

use std::collections::{BTreeMap, BTreeSet};

use gpuc_model::check::Checked;
use gpuc_model::plan::Object;
use gpuc_syntax::node::Origin;
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::{COMPONENT, NAMESPACE, labels};
use model::Dashboard;

/// The label by which Grafana's sidecar selects ConfigMaps, as configured in kube-prometheus-stack.
const SIDECAR_LABEL: (&str, &str) = ("grafana_dashboard", "1");

/// Keeps Flux from replacing `${datasource}` with an empty string.
///
/// Source: <https://fluxcd.io/flux/components/kustomize/kustomizations/#post-build-variable-substitution>.
const NO_SUBSTITUTION: (&str, &str) = ("kustomize.toolkit.fluxcd.io/substitute", "disabled");

fn dashboards() -> [Dashboard; 4] {
    [
        fleet::dashboard(),
        pool::dashboard(),
        node::dashboard(),
        namespace::dashboard(),
    ]
}

/// The dashboards.
pub(super) fn objects(cluster: &Checked<'_>) -> Vec<Object> {
    let monitoring = cluster.config.monitoring.as_ref();
    let span = monitoring.map(|monitoring| monitoring.dashboards.span);
    let origin = Origin::rule(span, "`monitoring.dashboards` enables dashboards");
    let object = |dashboard: &Dashboard| {
        let json = serde_json::to_string_pretty(&dashboard.to_json());
        let json = json.expect("a dashboard is JSON") + "\n";
        let (key, value) = SIDECAR_LABEL;
        let mut all = labels();
        all.insert(key.to_owned(), value.to_owned());
        let (key, value) = NO_SUBSTITUTION;
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
    dashboards().iter().map(object).collect()
}

/// The names of the series that dashboards query.
pub(super) fn queried_series() -> BTreeSet<&'static str> {
    dashboards()
        .iter()
        .flat_map(Dashboard::queried_series)
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::dashboards;

    /// Collects the titles and descriptions in a dashboard.
    fn texts<'v>(value: &'v Value, found: &mut Vec<&'v str>) {
        match value {
            Value::Object(fields) => {
                for (key, value) in fields {
                    match value.as_str() {
                        Some(text) if key == "title" || key == "description" => found.push(text),
                        _ => texts(value, found),
                    }
                }
            }
            Value::Array(items) => items.iter().for_each(|item| texts(item, found)),
            _ => {}
        }
    }

    #[test]
    fn titles_and_descriptions_contain_no_identifiers() {
        for dashboard in dashboards() {
            let json = dashboard.to_json();
            let mut found = Vec::new();
            texts(&json, &mut found);
            assert!(found.len() > 5, "{}", dashboard.uid);
            for text in found {
                assert!(!text.contains('_'), "{}: {text}", dashboard.uid);
            }
        }
    }
}
