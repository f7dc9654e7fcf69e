//! The versions of the charts that run in a cluster.

use std::collections::BTreeMap;

use gpuc_model::plan::Plan;
use serde_json::{Value as Json, json};

use super::super::entities::{Entities, EntityKey};
use super::super::fields::FieldValue;
use super::LiveState;
use super::notes::LiveNotes;

/// A release of a chart in a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstalledRelease {
    /// The chart and its version as in the label `helm.sh/chart`: `gpu-operator-v26.3.3`. `None` if its objects have no
    /// such label.
    pub chart: Option<String>,
}

impl InstalledRelease {
    /// The releases that own objects.
    ///
    /// Helm sets the annotation `meta.helm.sh/release-name`, and charts set the labels `app.kubernetes.io/instance` and
    /// `helm.sh/chart` (<https://helm.sh/docs/chart_best_practices/labels/>, 2026-11-28). Argo CD renders charts
    /// without Helm's annotation.
    pub fn find_all(objects: &[Json]) -> BTreeMap<String, Self> {
        let mut found: BTreeMap<String, Self> = BTreeMap::new();
        for object in objects {
            let metadata = &object["metadata"];
            let annotated = metadata["annotations"]["meta.helm.sh/release-name"].as_str();
            let labels = &metadata["labels"];
            let instance = labels["app.kubernetes.io/instance"].as_str();
            let Some(name) = annotated.or(instance) else {
                continue;
            };
            let chart = labels["helm.sh/chart"].as_str().map(str::to_owned);
            let release = found.entry(name.to_owned()).or_insert(Self { chart: None });
            release.chart = release.chart.take().or(chart);
        }
        found
    }
}

/// The field of a release with the version of its chart.
const CHART_VERSION: &str = "chart version";

/// Sets the versions of the releases in the cluster. Values of releases are not compared, except by the objects of a
/// GitOps controller.
pub(super) fn set_versions(
    plan: &Plan,
    state: &LiveState,
    before: &mut Entities,
    after: &Entities,
    notes: &mut LiveNotes,
) {
    for release in &plan.releases {
        let key = EntityKey::Release(release.name.clone());
        let Some(installed) = &state.releases else {
            let reason = "the Deployments and DaemonSets of Helm releases cannot be listed";
            notes.add_not_compared(reason, true, release.name.clone());
            continue;
        };
        let Some(installed) = installed.get(&release.name) else {
            before.by_key.remove(&key);
            continue;
        };
        let prefix = format!("{}-", release.chart.name);
        let label = installed.chart.as_deref();
        let Some(version) = label.and_then(|label| label.strip_prefix(&prefix)) else {
            let reason =
                "the version of the chart is not known: its objects have no label `helm.sh/chart`";
            notes.add_not_compared(reason, false, release.name.clone());
            continue;
        };
        if same_version(version, release.chart.version) {
            continue;
        }
        if let Some(entity) = before.by_key.get_mut(&key) {
            let leaf = FieldValue {
                value: json!(version),
                inputs: Vec::new(),
            };
            entity.fields.insert(CHART_VERSION.to_owned(), leaf);
        }
    }
    if after.controller.is_empty() {
        let installed = plan.releases.iter();
        let installed = installed.filter(|it| {
            before
                .by_key
                .contains_key(&EntityKey::Release(it.name.clone()))
        });
        for release in installed {
            let reason = "the values of Helm releases are not compared: run `helm diff upgrade`";
            notes.add_not_compared(reason, false, release.name.clone());
        }
    }
}

/// Whether a label names a version. Labels cannot contain `+`, and some charts write `v` before the version.
fn same_version(label: &str, version: &str) -> bool {
    let plain = |text: &str| text.trim_start_matches('v').replace('+', "_");
    plain(label) == plain(version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_are_found_by_annotation_and_by_label() {
        let objects = [
            json!({"metadata": {
                "annotations": {"meta.helm.sh/release-name": "operator"},
                "labels": {"app.kubernetes.io/instance": "other"},
            }}),
            json!({"metadata": {
                "annotations": {"meta.helm.sh/release-name": "operator"},
                "labels": {"helm.sh/chart": "gpu-operator-v26.3.3"},
            }}),
            json!({"metadata": {"labels": {"app.kubernetes.io/instance": "kueue"}}}),
            json!({"metadata": {"name": "unrelated"}}),
        ];
        let found = InstalledRelease::find_all(&objects);
        let charts: Vec<_> = (found.iter())
            .map(|(name, it)| (name.as_str(), it.chart.as_deref()))
            .collect();
        let expected = [("kueue", None), ("operator", Some("gpu-operator-v26.3.3"))];
        assert_eq!(charts, expected);
    }

    #[test]
    fn versions_are_compared_as_charts_write_them() {
        assert!(same_version("26.3.3", "v26.3.3"));
        assert!(same_version("1.0.0_build", "1.0.0+build"));
        assert!(!same_version("26.3.3", "26.3.30"));
    }
}
