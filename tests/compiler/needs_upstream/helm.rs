//! The pinned charts read every Helm value. Helm itself ignores unknown keys.

use std::collections::BTreeMap;

use gpuc_model::{KubernetesVersion, SUPPORTED};
use serde_json::{Value, json};

use super::assert_none;
use super::helm_keys::CHARTS;
use crate::corpus::cases;
use crate::external_data::{self, UPSTREAM};

/// Mappings with defaults that a chart's template prints completely, so that they may contain any key of Kubernetes or
/// of the program.
///
/// Sources: NVIDIA/dcgm-exporter@4.5.3-4.8.2 `deployment/templates/daemonset.yaml`, `toYaml .Values.securityContext`.
/// jupyterhub/zero-to-jupyterhub-k8s@4.4.0 `jupyterhub/values.schema.yaml`, `hub.config`: JupyterHub's own settings.
const VERBATIM_MAPPINGS: &[(&str, &str)] = &[
    ("dcgm-exporter", "securityContext"),
    ("jupyterhub", "hub/config"),
];

/// The paths of a chart's values and the type of each default, from its `values-paths.tsv`.
struct ValuePaths(BTreeMap<String, String>);

impl ValuePaths {
    fn read_paths(chart: &str) -> Self {
        let file = format!("charts/{}/values-paths.tsv", folder(chart));
        let text = external_data::text(UPSTREAM, &file);
        let rows = text.lines().filter(|line| !line.starts_with('#'));
        let rows = rows.filter_map(|line| line.split_once('\t'));
        let mut paths: BTreeMap<String, String> = rows
            .map(|(path, kind)| (path.into(), kind.into()))
            .collect();
        for (_, path) in VERBATIM_MAPPINGS.iter().filter(|(name, _)| *name == chart) {
            assert_eq!(paths.get(*path).map(String::as_str), Some("map"), "{chart}");
            paths.insert((*path).to_owned(), "map-open".to_owned());
        }
        Self(paths)
    }

    /// The paths in a value that the chart does not have.
    fn unknown_paths(&self, value: &Value, path: &str) -> Vec<String> {
        let kind = if path.is_empty() {
            Some("map")
        } else {
            self.0.get(path).map(String::as_str)
        };
        let Some(kind) = kind else {
            // The values of a subchart are not checked.
            let mut above = path.match_indices('/').map(|(end, _)| &path[..end]);
            let is_inside = above.any(|above| self.0.contains_key(&format!("{above}/**")));
            return if is_inside {
                Vec::new()
            } else {
                vec![path.to_owned()]
            };
        };
        // The chart passes a list, an open mapping, or a value without a default to Kubernetes or the program
        // unchanged.
        let Value::Object(fields) = value else {
            return Vec::new();
        };
        if kind != "map" || self.is_leaf(path) || OPEN_MAPPINGS.contains(&path) {
            return Vec::new();
        }
        let child = |key: &str| match path {
            "" => key.to_owned(),
            path => format!("{path}/{key}"),
        };
        let fields = fields.iter();
        fields
            .flat_map(|(key, value)| self.unknown_paths(value, &child(key)))
            .collect()
    }

    /// Whether the chart has no keys below this path.
    fn is_leaf(&self, path: &str) -> bool {
        let below = format!("{path}/");
        !path.is_empty() && !self.0.keys().any(|path| path.starts_with(&below))
    }
}

/// Charts whose version in Git is a placeholder, which the release replaces.
const WITHOUT_VERSION: &[&str] = &[
    "gpu-operator",
    "jupyterhub",
    "karpenter",
    "lws",
    "node-feature-discovery",
];

/// The folder of a chart, which may have an older name of the chart.
fn folder(chart: &str) -> &'static str {
    let found = CHARTS.iter().find(|(name, ..)| *name == chart);
    let (_, folder, _) = found.unwrap_or_else(|| panic!("{chart} has no folder"));
    folder
}
/// Mappings that accept any key although the chart has defaults in them: the arguments of the Cluster Autoscaler.
const OPEN_MAPPINGS: &[&str] = &["extraArgs"];

#[test]
#[ignore = "needs GPUC_UPSTREAM"]
fn charts_know_every_key() {
    let (mut wrong, mut seen) = (Vec::new(), 0);
    for case in cases() {
        for release in &case.plan().releases {
            seen += 1;
            let paths = ValuePaths::read_paths(release.chart.name);
            let mut values = serde_json::to_value(&release.values).unwrap();
            for path in paths.unknown_paths(&values, "") {
                wrong.push(format!("{}: {}: no {path}", case.name, release.chart.name));
            }
            values["tolerationz"] = json!([]);
            assert_eq!(paths.unknown_paths(&values, ""), ["tolerationz"]);
        }
    }
    assert!(seen > 3, "only {seen} releases were checked");
    assert_none(&wrong);
    let mistake = json!({"config": {"default2": "a"}});
    let found = ValuePaths::read_paths("nvidia-device-plugin").unknown_paths(&mistake, "");
    assert_eq!(found, ["config/default2"]);
}

#[test]
#[ignore = "needs GPUC_UPSTREAM"]
fn charts_are_pinned_to_the_verified_version() {
    for chart in gpuc_compile::charts::CHARTS {
        let file = format!("charts/{}/Chart.yaml", folder(chart.name));
        let text = external_data::text(UPSTREAM, &file);
        let description: Value = serde_yaml::from_str(&text).unwrap();
        assert_eq!(description["name"], chart.name);
        if !WITHOUT_VERSION.contains(&chart.name) {
            assert_eq!(description["version"], chart.version, "{}", chart.name);
        }
    }
}

/// Helm refuses to install a chart whose `kubeVersion` excludes the cluster's version, so every supported version must
/// be included. Rows of the table that cite `kubeVersion` repeat it.
#[test]
#[ignore = "needs GPUC_UPSTREAM"]
fn helm_installs_every_chart_on_every_kubernetes_version() {
    let mut constrained = 0;
    for chart in gpuc_compile::charts::CHARTS {
        let file = format!("charts/{}/Chart.yaml", folder(chart.name));
        let text = external_data::text(UPSTREAM, &file);
        let description: Value = serde_yaml::from_str(&text).unwrap();
        let Some(constraint) = description["kubeVersion"].as_str() else {
            continue;
        };
        constrained += 1;
        let minimum = constraint
            .strip_prefix(">=")
            .and_then(|rest| rest.trim().strip_suffix(".0-0"))
            .and_then(KubernetesVersion::parse)
            .unwrap_or_else(|| panic!("{}: {constraint} is not a minimum", chart.name));
        assert!(minimum <= *SUPPORTED.start(), "{}", chart.name);
        let support = chart.kubernetes.expect("a row");
        assert!(minimum <= support.oldest, "{}", chart.name);
        if support.source.contains("kubeVersion") {
            assert_eq!(minimum, support.oldest, "{}", chart.name);
        }
    }
    assert!(constrained > 5, "only {constrained} charts have a minimum");
}

/// The keys that NVIDIA's device plugin reads from its configuration file, with `*` for list items. It silently ignores
/// all others. Source: NVIDIA/k8s-device-plugin `api/config/v1/{config,flags,replicas,sharing}.go` @v0.20.0.
const PLUGIN_KEYS: &[&str] = &[
    "flags/migStrategy",
    "flags/plugin/deviceListStrategy",
    "imex/channelIDs/*",
    "imex/required",
    "sharing/mps/failRequestsGreaterThanOne",
    "sharing/mps/renameByDefault",
    "sharing/mps/resources/*/name",
    "sharing/mps/resources/*/replicas",
    "sharing/timeSlicing/failRequestsGreaterThanOne",
    "sharing/timeSlicing/renameByDefault",
    "sharing/timeSlicing/resources/*/name",
    "sharing/timeSlicing/resources/*/replicas",
    "version",
];

#[test]
fn plugin_reads_every_configuration_key() {
    let (mut wrong, mut seen) = (Vec::new(), 0);
    for case in cases() {
        let releases = case.plan().releases.iter();
        for release in releases.filter(|it| it.chart.name == "nvidia-device-plugin") {
            let values = serde_json::to_value(&release.values).unwrap();
            let configs = values["config"]["map"].as_object();
            for (name, text) in configs.into_iter().flatten() {
                seen += 1;
                let config: Value = serde_yaml::from_str(text.as_str().unwrap()).unwrap();
                for path in leaf_paths(&config, "") {
                    if !PLUGIN_KEYS.contains(&path.as_str()) {
                        wrong.push(format!("{}: {name}: {path}", case.name));
                    }
                }
                // config.go rejects a sharing method without a list of resources, or with fewer than two replicas.
                let sharing = config["sharing"].as_object();
                assert!(
                    sharing.is_none_or(|it| it.len() == 1),
                    "{}: {name}",
                    case.name
                );
                // imex.go accepts no other channel.
                let channels = &config["imex"]["channelIDs"];
                assert!(
                    channels.is_null() || *channels == json!([0]),
                    "{}",
                    case.name
                );
                for way in sharing.into_iter().flat_map(|ways| ways.values()) {
                    let resources = way["resources"].as_array().unwrap();
                    assert!(!resources.is_empty(), "{}: {name}", case.name);
                    let replicas = resources.iter().map(|it| it["replicas"].as_u64());
                    assert!(
                        replicas.into_iter().all(|it| it >= Some(2)),
                        "{}",
                        case.name
                    );
                }
            }
        }
    }
    assert!(seen > 3, "only {seen} configurations were checked");
    assert_none(&wrong);
    let mistake = json!({"sharing": {"mig": {"strategy": "mixed"}}});
    assert_eq!(leaf_paths(&mistake, ""), ["sharing/mig/strategy"]);
    assert!(!PLUGIN_KEYS.contains(&"sharing/mig/strategy"));
}

/// The paths of all values that are neither a mapping nor a list.
fn leaf_paths(value: &Value, path: &str) -> Vec<String> {
    let child = |key: &str| match path {
        "" => key.to_owned(),
        path => format!("{path}/{key}"),
    };
    match value {
        Value::Object(fields) => fields
            .iter()
            .flat_map(|(key, value)| leaf_paths(value, &child(key)))
            .collect(),
        Value::Array(items) => items
            .iter()
            .flat_map(|item| leaf_paths(item, &child("*")))
            .collect(),
        _ => vec![path.to_owned()],
    }
}
