//! Impact of changed Helm chart values.

use gpuc_compile::charts::{
    CLUSTER_AUTOSCALER, DCGM_EXPORTER, DRA_DRIVER_NVIDIA_GPU, EFA_DEVICE_PLUGIN, GPU_OPERATOR,
    JOBSET, JUPYTERHUB, KARPENTER, KUBE_PROMETHEUS_STACK, KUBEFLOW_TRAINER, KUEUE, LWS,
    NETWORK_OPERATOR, NODE_FEATURE_DISCOVERY, NVIDIA_DEVICE_PLUGIN,
};
use gpuc_model::plan::Chart;

use super::super::changes::{Delta, Fate};
use super::super::impact::Impact;
use super::{Setting, Verdict, persistent_data};

/// The impact of values below a key.
type Row = (&'static str, Impact);

/// The impact of a change of each chart, with exceptions for values below a key. The longest matching key wins.
///
/// The templates show which component reads a key: the charts at the versions that [`crate::chart`] pins,
/// their values as kept for tests (read 2026-11-22).
static CHARTS: &[(&Chart, Impact, &[Row])] = &[
    (&EFA_DEVICE_PLUGIN, Impact::PluginRestarted, &[]),
    (&CLUSTER_AUTOSCALER, Impact::ServiceRestarted, &[]),
    (&DCGM_EXPORTER, Impact::ServiceRestarted, &[]),
    (
        &DRA_DRIVER_NVIDIA_GPU,
        Impact::PluginRestarted,
        &[("controller", Impact::ServiceRestarted)],
    ),
    (
        &GPU_OPERATOR,
        Impact::ServiceRestarted,
        &[
            ("driver", Impact::DriverRestarted),
            ("toolkit", Impact::DriverRestarted),
            ("devicePlugin", Impact::PluginRestarted),
            ("cdi", Impact::PluginRestarted),
            ("daemonsets", Impact::DriverRestarted),
            ("mig", Impact::PluginRestarted),
            ("migManager", Impact::PluginRestarted),
            ("migManager.config", Impact::SlicesRecut),
        ],
    ),
    (&JOBSET, Impact::ServiceRestarted, &[]),
    (
        &JUPYTERHUB,
        Impact::ServiceRestarted,
        &[("singleuser", Impact::Nothing)],
    ),
    (&KARPENTER, Impact::ServiceRestarted, &[]),
    (
        &KUBE_PROMETHEUS_STACK,
        Impact::ServiceRestarted,
        &[
            ("defaultRules", Impact::WatchedDifferently),
            ("additionalPrometheusRulesMap", Impact::WatchedDifferently),
        ],
    ),
    (&KUBEFLOW_TRAINER, Impact::ServiceRestarted, &[]),
    (&KUEUE, Impact::ServiceRestarted, &[]),
    (&LWS, Impact::ServiceRestarted, &[]),
    (&NETWORK_OPERATOR, Impact::ServiceRestarted, &[]),
    (&NODE_FEATURE_DISCOVERY, Impact::ServiceRestarted, &[]),
    (&NVIDIA_DEVICE_PLUGIN, Impact::PluginRestarted, &[]),
];

pub(super) fn judge(setting: &Setting<'_>, delta: &Delta) -> Verdict {
    let chart = setting.part(&delta.key).and_then(|part| part.chart);
    let row = CHARTS
        .iter()
        .find(|row| chart.is_some_and(|chart| chart.name == row.0.name));
    let (usual, rows) = row.map_or((Impact::ServiceRestarted, &[][..]), |row| (row.1, row.2));
    let path = delta.path.as_deref();
    match (delta.fate(), path) {
        (Fate::Came, _) => Verdict::plain(Impact::Added),
        (Fate::Went, _) if !setting.prunes => Verdict::because(
            Impact::Nothing,
            format!(
                "{}: it keeps running until `helm uninstall`",
                setting.retention_reason()
            ),
        ),
        // Deleting CRDs would delete all objects of these kinds.
        (Fate::Went, _) if chart.is_some_and(Chart::brings_kinds) => Verdict::because(
            Impact::Nothing,
            "a chart that installs CRDs is never removed: it keeps running until `helm uninstall`",
        ),
        (Fate::Went, _)
            if chart.is_some_and(|chart| chart.name == JUPYTERHUB.name)
                && setting
                    .part(&delta.key)
                    .is_some_and(persistent_data::has_database) =>
        {
            persistent_data::hub_leaves()
        }
        (Fate::Went, _) => {
            let impact = rows.iter().map(|row| row.1).chain([usual]).min();
            Verdict::because(impact.unwrap_or(usual), "its components are removed")
        }
        (Fate::Stayed, Some(path))
            if let Some(verdict) =
                chart.and_then(|chart| persistent_data::judge(chart, path, delta)) =>
        {
            verdict
        }
        (Fate::Stayed, Some("chart version")) => {
            let impact = rows.iter().map(|row| row.1).chain([usual]).min();
            Verdict::because(
                impact.unwrap_or(usual),
                "all components of the chart may restart",
            )
        }
        (Fate::Stayed, Some("namespace")) => Verdict::because(
            usual.min(Impact::ServiceRestarted),
            "a release cannot move: a new one is installed in the other namespace",
        ),
        (Fate::Stayed, Some("repository")) => {
            Verdict::because(Impact::Nothing, "the source of the chart")
        }
        (Fate::Stayed, Some(path)) => match path.strip_prefix("values.") {
            Some(path) => match reached(path, usual, rows) {
                impact if delta.to.is_none() && path.ends_with(TAG) => {
                    Verdict::because(impact, "the chart's own tag applies")
                }
                Impact::Nothing => Verdict::because(Impact::Nothing, "applies to new pods"),
                impact => Verdict::plain(impact),
            },
            // Reported once, for the field that identifies the GitOps controller.
            None if setting.loses_its_tool() && path == TOOL => {
                let worst = rows.iter().map(|row| row.1).chain([usual]).min();
                let worst = worst.unwrap_or(usual).min(Impact::WorkloadRestarted);
                Verdict::because(worst, setting.pruning_warning())
            }
            None => Verdict::because(Impact::Nothing, "how it is deployed"),
        },
        (Fate::Stayed, None) => Verdict::plain(usual),
    }
}

/// The field that identifies the GitOps controller of a release.
const TOOL: &str = "delivery.apiVersion";

/// The suffix of image tags, for which charts have a default.
const TAG: &str = "image.tag";

/// The impact of the value at a path, by the longest matching key.
fn reached(path: &str, usual: Impact, rows: &[Row]) -> Impact {
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
                let keys = charts::keys::Keys::of(chart.name).unwrap();
                let found = keys.find(&key.split('.').collect::<Vec<_>>());
                assert!(
                    !matches!(found, charts::keys::Found::Unknown { .. }),
                    "{name} reads {key}"
                );
            }
        }
    }

    #[test]
    fn longest_matching_key_wins() {
        let rows = [("a", Impact::Added), ("a.b", Impact::Deleted)];
        assert_eq!(reached("a.b.c", Impact::Nothing, &rows), Impact::Deleted);
        assert_eq!(reached("a.bc", Impact::Nothing, &rows), Impact::Added);
        assert_eq!(reached("ab", Impact::Nothing, &rows), Impact::Nothing);
    }
}
