//! Impact of changed Helm chart values.

use gpuc_compile::charts::{
    CLUSTER_AUTOSCALER, DCGM_EXPORTER, DRA_DRIVER_NVIDIA_GPU, EFA_DEVICE_PLUGIN, GPU_OPERATOR,
    JOBSET, JUPYTERHUB, KARPENTER, KUBE_PROMETHEUS_STACK, KUBEFLOW_TRAINER, KUEUE, LWS,
    NETWORK_OPERATOR, NODE_FEATURE_DISCOVERY, NVIDIA_DEVICE_PLUGIN,
};
use gpuc_model::plan::Chart;

use super::super::changes::{Delta, EntityChange};
use super::super::impact::Impact;
use super::classification::Classification;
use super::context::DiffContext;
use super::persistent_data;

/// The impact of values below a key.
type ValueImpact = (&'static str, Impact);

/// The impact of a change of each chart, with exceptions for values below a key. The longest matching key wins.
///
/// The templates show which component reads a key: the charts at the versions that [`gpuc_compile::charts`] pins,
/// their values as kept for tests (read 2026-11-22).
static CHARTS: &[(&Chart, Impact, &[ValueImpact])] = &[
    (&EFA_DEVICE_PLUGIN, Impact::DevicePluginRestarted, &[]),
    (&CLUSTER_AUTOSCALER, Impact::ServiceRestarted, &[]),
    (&DCGM_EXPORTER, Impact::ServiceRestarted, &[]),
    (
        &DRA_DRIVER_NVIDIA_GPU,
        Impact::DevicePluginRestarted,
        &[("controller", Impact::ServiceRestarted)],
    ),
    (
        &GPU_OPERATOR,
        Impact::ServiceRestarted,
        &[
            ("driver", Impact::DriverRestarted),
            ("toolkit", Impact::DriverRestarted),
            ("devicePlugin", Impact::DevicePluginRestarted),
            ("cdi", Impact::DevicePluginRestarted),
            ("daemonsets", Impact::DriverRestarted),
            ("gdrcopy", Impact::DriverRestarted),
            ("gds", Impact::DriverRestarted),
            ("mig", Impact::DevicePluginRestarted),
            ("migManager", Impact::DevicePluginRestarted),
            ("migManager.config", Impact::MigReconfigured),
        ],
    ),
    (&JOBSET, Impact::ServiceRestarted, &[]),
    // The hub reads all values, also those of notebooks, and a checksum restarts it (`checksum/secret` in
    // jupyterhub/zero-to-jupyterhub-k8s@48ea50e3 jupyterhub/templates/hub/deployment.yaml, 2026-11-27).
    (&JUPYTERHUB, Impact::ServiceRestarted, &[]),
    (&KARPENTER, Impact::ServiceRestarted, &[]),
    (
        &KUBE_PROMETHEUS_STACK,
        Impact::ServiceRestarted,
        &[
            ("defaultRules", Impact::MonitoringChanged),
            ("additionalPrometheusRulesMap", Impact::MonitoringChanged),
        ],
    ),
    (&KUBEFLOW_TRAINER, Impact::ServiceRestarted, &[]),
    (&KUEUE, Impact::ServiceRestarted, &[]),
    (&LWS, Impact::ServiceRestarted, &[]),
    (&NETWORK_OPERATOR, Impact::ServiceRestarted, &[]),
    (&NODE_FEATURE_DISCOVERY, Impact::ServiceRestarted, &[]),
    // GPU Feature Discovery is a DaemonSet of its own.
    (
        &NVIDIA_DEVICE_PLUGIN,
        Impact::DevicePluginRestarted,
        &[("gfd", Impact::ServiceRestarted)],
    ),
];

pub(super) fn classify(setting: &DiffContext<'_>, delta: &Delta) -> Classification {
    let chart = setting.entity(&delta.key).and_then(|entity| entity.chart);
    let row = CHARTS
        .iter()
        .find(|row| chart.is_some_and(|chart| chart.name == row.0.name));
    let (usual, rows) = row.map_or((Impact::ServiceRestarted, &[][..]), |row| (row.1, row.2));
    let path = delta.path.as_deref();
    match (delta.entity_change(), path) {
        (EntityChange::Added, _) => Classification::without_reason(Impact::Added),
        (EntityChange::Removed, _) if !setting.prunes_removed => Classification::with_reason(
            Impact::Nothing,
            format!(
                "{}: it keeps running until `helm uninstall`",
                setting.retention_reason()
            ),
        ),
        // Deleting CRDs would delete all objects of these kinds.
        (EntityChange::Removed, _) if chart.is_some_and(Chart::installs_crds) => {
            Classification::with_reason(
                Impact::Nothing,
                "a chart that installs CRDs is never removed: it keeps running until `helm uninstall`",
            )
        }
        (EntityChange::Removed, _)
            if chart.is_some_and(|chart| chart.name == JUPYTERHUB.name)
                && setting
                    .entity(&delta.key)
                    .is_some_and(persistent_data::has_database) =>
        {
            persistent_data::classify_removed_hub()
        }
        (EntityChange::Removed, _) => {
            let impact = rows.iter().map(|row| row.1).chain([usual]).min();
            Classification::with_reason(impact.unwrap_or(usual), "its components are removed")
        }
        (EntityChange::Modified, Some(path))
            if let Some(classification) =
                chart.and_then(|chart| persistent_data::classify_metrics(chart, path, delta)) =>
        {
            classification
        }
        (EntityChange::Modified, Some("chart version")) => {
            let impact = rows.iter().map(|row| row.1).chain([usual]).min();
            Classification::with_reason(
                impact.unwrap_or(usual),
                "all components of the chart may restart",
            )
        }
        (EntityChange::Modified, Some("namespace")) => Classification::with_reason(
            usual.min(Impact::ServiceRestarted),
            "a release cannot move: a new one is installed in the other namespace",
        ),
        (EntityChange::Modified, Some("repository")) => {
            Classification::with_reason(Impact::Nothing, "the source of the chart")
        }
        (EntityChange::Modified, Some(path)) => match path.strip_prefix("values.") {
            Some(path) => match impact_of_value(path, usual, rows) {
                impact if delta.to.is_none() && path.ends_with(IMAGE_TAG_SUFFIX) => {
                    Classification::with_reason(impact, "the chart's own tag applies")
                }
                Impact::Nothing => {
                    Classification::with_reason(Impact::Nothing, "applies to new pods")
                }
                impact => Classification::without_reason(impact),
            },
            // Reported once, for the field that identifies the GitOps controller.
            None if setting.loses_controller() && path == CONTROLLER_FIELD => {
                let worst = rows.iter().map(|row| row.1).chain([usual]).min();
                let worst = worst.unwrap_or(usual).min(Impact::WorkloadRestarted);
                Classification::with_reason(worst, setting.pruning_warning())
            }
            None => Classification::with_reason(Impact::Nothing, "how it is deployed"),
        },
        (EntityChange::Modified, None) => Classification::without_reason(usual),
    }
}

/// The field that identifies the GitOps controller of a release.
const CONTROLLER_FIELD: &str = "delivery.apiVersion";

/// The suffix of image tags, for which charts have a default.
const IMAGE_TAG_SUFFIX: &str = "image.tag";

/// The impact of the value at a path, by the longest matching key.
fn impact_of_value(path: &str, usual: Impact, rows: &[ValueImpact]) -> Impact {
    let fits = |key: &str| {
        let rest = path.strip_prefix(key);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
    };
    let rows = rows.iter().filter(|(key, _)| fits(key));
    rows.max_by_key(|(key, _)| key.len())
        .map_or(usual, |(_, impact)| *impact)
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpuc_compile::charts;

    #[test]
    fn every_chart_has_a_row_with_known_keys() {
        let names: Vec<_> = CHARTS.iter().map(|row| row.0.name).collect();
        let mut charts: Vec<_> = charts::CHARTS.iter().map(|chart| chart.name).collect();
        charts.sort_unstable();
        assert_eq!(names, charts);
        for (chart, _, rows) in CHARTS {
            let name = chart.name;
            for (key, _) in *rows {
                let keys = charts::keys::Keys::for_chart(chart.name).unwrap();
                let found = keys.find(&key.split('.').collect::<Vec<_>>());
                assert!(
                    !matches!(found, charts::keys::KeyLookup::Unknown { .. }),
                    "{name} reads {key}"
                );
            }
        }
    }

    #[test]
    fn longest_matching_key_wins() {
        let rows = [("a", Impact::Added), ("a.b", Impact::Deleted)];
        assert_eq!(
            impact_of_value("a.b.c", Impact::Nothing, &rows),
            Impact::Deleted
        );
        assert_eq!(
            impact_of_value("a.bc", Impact::Nothing, &rows),
            Impact::Added
        );
        assert_eq!(
            impact_of_value("ab", Impact::Nothing, &rows),
            Impact::Nothing
        );
    }
}
