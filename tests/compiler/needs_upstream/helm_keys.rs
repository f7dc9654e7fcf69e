//! The lists of the charts' keys match the keys derived from the charts' own files.

use std::collections::BTreeMap;
use std::fmt::Write;

use gpuc_compile::charts::keys::KeyLookup;
use serde_json::Value;

use super::assert_none;
use crate::external_data::{self, UPSTREAM};
use crate::support::{repository, updates_expectations};

/// A chart: its name, its folder in `GPUC_UPSTREAM`, and its version in the chart repository. For some charts, Git has
/// a placeholder version, which the release replaces.
pub(super) const CHARTS: &[(&str, &str, &str)] = &[
    (
        "aws-efa-k8s-device-plugin",
        "aws-efa-k8s-device-plugin",
        "v0.5.30",
    ),
    ("cluster-autoscaler", "cluster-autoscaler", "9.59.0"),
    ("dcgm-exporter", "dcgm-exporter", "4.8.2"),
    ("dra-driver-nvidia-gpu", "nvidia-dra-driver-gpu", "0.4.0"),
    ("gpu-operator", "gpu-operator", "v26.7.0"),
    ("jobset", "jobset", "0.12.0"),
    ("jupyterhub", "jupyterhub", "4.4.0"),
    ("karpenter", "karpenter", "1.14.1"),
    ("kube-prometheus-stack", "kube-prometheus-stack", "88.5.3"),
    ("kubeflow-trainer", "kubeflow-trainer", "2.3.0"),
    ("kueue", "kueue", "0.19.2"),
    ("lws", "lws", "0.10.0"),
    ("network-operator", "network-operator", "26.4.1"),
    ("node-feature-discovery", "node-feature-discovery", "0.19.0"),
    ("nvidia-device-plugin", "nvidia-device-plugin", "0.20.0"),
];

/// Keys that cannot be derived from the defaults: the chart, the path, the type, and its source.
const MANUAL_KEYS: &[(&str, &str, &str, &str)] = &[
    (
        "aws-efa-k8s-device-plugin",
        "supportedInstanceLabels",
        "",
        "values.yaml: `keys` and `values`",
    ),
    (
        "cluster-autoscaler",
        "expanderPriorities",
        "any",
        "README.md of the chart: text or a mapping",
    ),
    (
        "cluster-autoscaler",
        "extraArgs",
        "free",
        "values.yaml: any flag of the program",
    ),
    (
        "gpu-operator",
        "dcgmExporter/config/data",
        "text",
        "templates: the file of metrics, CSV",
    ),
    (
        "gpu-operator",
        "devicePlugin/config/data",
        "texts",
        "values.yaml: the data of a ConfigMap",
    ),
    (
        "gpu-operator",
        "migManager/config/data",
        "texts",
        "values.yaml: the data of a ConfigMap",
    ),
    (
        "kube-prometheus-stack",
        "alertmanager/config",
        "free",
        "values.yaml: Alertmanager's own file",
    ),
    (
        "kube-prometheus-stack",
        "alertmanager/route",
        "free",
        "values.yaml: routes by name",
    ),
    (
        "kube-prometheus-stack",
        "alertmanager/routePerReplica",
        "free",
        "values.yaml: routes by name",
    ),
    (
        "kube-prometheus-stack",
        "prometheus/routePerReplica",
        "free",
        "values.yaml: routes by name",
    ),
    (
        "kube-prometheus-stack",
        "prometheus/route",
        "free",
        "values.yaml: routes by name",
    ),
    (
        "kube-prometheus-stack",
        "thanosRuler/route",
        "free",
        "values.yaml: routes by name",
    ),
    (
        "kube-prometheus-stack",
        "prometheusOperator/env",
        "free",
        "values.yaml: variables by name",
    ),
    (
        "kube-prometheus-stack",
        "alertmanager/verticalPodAutoscaler/updatePolicy",
        "free",
        "values.yaml: a field of the VerticalPodAutoscaler",
    ),
    (
        "kube-prometheus-stack",
        "prometheus/verticalPodAutoscaler/updatePolicy",
        "free",
        "values.yaml: a field of the VerticalPodAutoscaler",
    ),
    (
        "kube-prometheus-stack",
        "prometheusOperator/verticalPodAutoscaler/updatePolicy",
        "free",
        "values.yaml: a field of the VerticalPodAutoscaler",
    ),
    (
        "kube-prometheus-stack",
        "prometheus/prometheusSpec/tsdb",
        "free",
        "values.yaml: a field of the Prometheus resource",
    ),
    (
        "kube-prometheus-stack",
        "prometheus/prometheusSpec/additionalScrapeConfigs",
        "any",
        "values.yaml: a list, or a template as text",
    ),
    (
        "nvidia-device-plugin",
        "config/map",
        "texts",
        "values.yaml: the data of a ConfigMap",
    ),
    (
        "nvidia-device-plugin",
        "namespace",
        REJECTED_WORD,
        "templates: the chart fails where it is set",
    ),
];

/// The type of keys that a chart mentions only to reject them.
const REJECTED_WORD: &str = "refused";

/// Suffixes of keys whose values charts pass to Kubernetes unchanged, so that the default does not show the possible
/// content.
const PASSTHROUGH_SUFFIXES: &[&str] = &[
    "affinity",
    "annotations",
    "disruptionbudget",
    "labels",
    "probe",
    "resources",
    "securitycontext",
    "selector",
    "strategy",
    "tlsconfig",
];

/// A key: its type, and its nested keys. An empty type is a mapping with only the nested keys.
#[derive(Default)]
struct Key {
    word: String,
    below: BTreeMap<String, Key>,
}

type Keys = BTreeMap<String, Key>;

#[test]
#[ignore = "needs GPUC_UPSTREAM"]
fn lists_match_the_charts() {
    let mut wrong = Vec::new();
    for (chart, folder, version) in CHARTS {
        let expected = render_keys(chart, folder, version);
        let path = repository().join(format!(
            "compiler/crates/compile/src/charts/keys/{chart}.keys"
        ));
        if updates_expectations() {
            std::fs::write(&path, &expected).unwrap();
        } else if std::fs::read_to_string(&path).unwrap_or_default() != expected {
            wrong.push(format!("{} is stale", path.display()));
        }
    }
    let help = "UPDATE_EXPECT=1 regenerates them: \
        UPDATE_EXPECT=1 cargo test -p gpuc --test compiler -- --ignored needs_upstream::helm_keys";
    if !wrong.is_empty() {
        wrong.push(help.to_owned());
    }
    assert_none(&wrong);
    let mut embedded: Vec<_> = gpuc_compile::charts::keys::Keys::charts().collect();
    embedded.sort_unstable();
    let listed: Vec<_> = CHARTS.iter().map(|(name, ..)| *name).collect();
    assert_eq!(embedded, listed);
}

/// The committed lists contain every path of the defaults and every property of the schemas.
#[test]
#[ignore = "needs GPUC_UPSTREAM"]
fn lists_contain_every_path_and_property() {
    let mut wrong = Vec::new();
    for (chart, folder, _) in CHARTS {
        let mut paths: Vec<String> = match *chart {
            "jupyterhub" => properties(&read(folder, "values.schema.yaml"), ""),
            "node-feature-discovery" => properties(&read(folder, "values.schema.json"), ""),
            _ => Vec::new(),
        };
        // For this chart, the schema rejects keys that only templates mention.
        if *chart != "jupyterhub" {
            paths.extend(rows(folder).into_iter().map(|(path, _)| path));
        }
        assert!(paths.len() > 20, "{chart}");
        let refused = |path: &str| {
            let mut known = MANUAL_KEYS.iter();
            known.any(|(of, at, word, _)| of == chart && *at == path && *word == REJECTED_WORD)
        };
        let keys = gpuc_compile::charts::keys::Keys::for_chart(chart).unwrap();
        for path in paths {
            let parts: Vec<_> = path.split('/').collect();
            let is_unknown = matches!(keys.find(&parts), KeyLookup::Unknown { .. });
            if is_unknown != refused(&path) {
                wrong.push(format!("{chart}: {path}"));
            }
        }
    }
    assert_none(&wrong);
}

/// The paths of every property of a schema.
fn properties(schema: &Value, path: &str) -> Vec<String> {
    let named = schema["properties"].as_object();
    let below = named.into_iter().flatten().map(|(name, property)| {
        let path = if path.is_empty() {
            name.clone()
        } else {
            format!("{path}/{name}")
        };
        let mut all = properties(property, &path);
        all.push(path);
        all
    });
    below.flatten().collect()
}

/// The file for a chart.
fn render_keys(chart: &str, folder: &str, version: &str) -> String {
    let source = external_data::text(UPSTREAM, &format!("charts/{folder}/SOURCE"));
    let field = |name: &str| {
        let mut lines = source.lines().filter_map(|line| line.split_once(": "));
        lines.find(|(key, _)| *key == name).unwrap().1
    };
    let repository = field("repo").trim_start_matches("https://github.com/");
    let (revision, commit) = (field("ref"), field("commit"));
    let revision = if revision == "HEAD" { commit } else { revision };
    let date = field("commit_date");
    let mut text = format!(
        "chart: {chart}\nversion: {version}\nrepository: {repository}\nrevision: {revision}\ndate: {date}\n\n"
    );
    print_keys(&derive_keys(chart, folder), 0, &mut text);
    text
}

fn print_keys(keys: &Keys, depth: usize, text: &mut String) {
    for (name, key) in keys {
        let space = if key.word.is_empty() { "" } else { " " };
        writeln!(text, "{:depth$}{name}{space}{}", "", key.word).unwrap();
        print_keys(&key.below, depth + 1, text);
    }
}

fn derive_keys(chart: &str, folder: &str) -> Keys {
    let mut keys = Keys::new();
    match chart {
        // The schema rejects unknown keys, so that it is complete.
        "jupyterhub" => apply_schema(&mut keys, &read(folder, "values.schema.yaml")),
        "node-feature-discovery" => {
            apply_defaults(&mut keys, folder);
            apply_schema(&mut keys, &read(folder, "values.schema.json"));
        }
        _ => apply_defaults(&mut keys, folder),
    }
    keys.entry("global".into()).or_default().word = "free".into();
    let description = read(folder, "Chart.yaml");
    let inside = description["dependencies"].as_array();
    for inside in inside.into_iter().flatten() {
        let text = |key: &str| inside[key].as_str().unwrap_or_default();
        for condition in text("condition").split(',').filter(|it| !it.is_empty()) {
            key_at(&mut keys, &condition.replace('.', "/")).word = "bool".into();
        }
    }
    // The schema rejects unknown keys, so that no inference is required.
    if chart != "jupyterhub" {
        for (name, key) in &mut keys {
            infer_from_names(name, key);
        }
    }
    for inside in inside.into_iter().flatten() {
        let text = |key: &str| inside[key].as_str().unwrap_or_default();
        let name = inside["alias"].as_str().unwrap_or(text("name"));
        let key = keys.entry(name.to_owned()).or_default();
        let known = CHARTS
            .iter()
            .any(|(chart, _, version)| *chart == text("name") && *version == text("version"));
        if known {
            key.word = format!("chart {}", text("name"));
            let switches = text("condition").split(',');
            let switches: Vec<_> = switches.filter_map(|it| it.strip_prefix(name)).collect();
            key.below
                .retain(|below, _| switches.contains(&format!(".{below}").as_str()));
        } else {
            key.word = "subchart".into();
        }
    }
    for (of, path, word, _) in MANUAL_KEYS.iter().filter(|(of, ..)| *of == chart) {
        let key = key_at(&mut keys, path);
        assert!(
            !key.word.is_empty() || !key.below.is_empty(),
            "{of} has no {path}"
        );
        if *word == REJECTED_WORD {
            keys.remove(*path);
            continue;
        }
        (*word).clone_into(&mut key.word);
        key.below.clear();
        if word.is_empty() {
            let rows = rows(folder);
            let below = rows.iter().filter_map(|(row, word)| {
                Some((
                    row.strip_prefix(path)?.strip_prefix('/')?.to_owned(),
                    word.clone(),
                ))
            });
            for (name, word) in below.collect::<Vec<_>>() {
                key.below.entry(name).or_default().word = word;
            }
        }
    }
    keys
}

/// A YAML file of a chart.
pub(super) fn read(folder: &str, file: &str) -> Value {
    serde_yaml::from_str(&external_data::text(
        UPSTREAM,
        &format!("charts/{folder}/{file}"),
    ))
    .unwrap()
}

/// The paths and types of the defaults, and the keys that only templates mention.
fn rows(folder: &str) -> Vec<(String, String)> {
    let text = external_data::text(UPSTREAM, &format!("charts/{folder}/values-paths.tsv"));
    let rows = text.lines().filter(|line| !line.starts_with('#'));
    let rows = rows.filter_map(|line| line.split_once('\t'));
    let rows = rows.filter(|(path, _)| !path.ends_with("/**"));
    rows.map(|(path, kind)| {
        let word = match kind {
            "map" => "",
            "map-open" => "free",
            "string" => "text",
            "null" | "template-only" => "any",
            "dependency-condition" => "bool",
            "list" | "number" | "bool" => kind,
            other => panic!("{path} is {other}"),
        };
        (path.to_owned(), word.to_owned())
    })
    .collect()
}

fn apply_defaults(keys: &mut Keys, folder: &str) {
    for (path, word) in rows(folder) {
        key_at(keys, &path).word = word;
    }
}

/// The key at a path. A key that contains a slash is only in values that are passed unchanged, whose nested keys are
/// omitted.
fn key_at<'k>(keys: &'k mut Keys, path: &str) -> &'k mut Key {
    match path.split_once('/') {
        Some((first, rest)) => key_at(&mut keys.entry(first.to_owned()).or_default().below, rest),
        None => keys.entry(path.to_owned()).or_default(),
    }
}

/// Adds the types and keys of a schema to those of the defaults.
fn apply_schema(keys: &mut Keys, object: &Value) {
    for (name, property) in object["properties"].as_object().unwrap() {
        let is_new = !keys.contains_key(name);
        let key = keys.entry(name.clone()).or_default();
        let word = property_type(property);
        if is_new || key.word == "any" {
            word.clone_into(&mut key.word);
        }
        if word.is_empty() && key.word.is_empty() {
            apply_schema(&mut key.below, property);
        }
    }
}

/// The type of a property in a schema.
fn property_type(property: &Value) -> &'static str {
    let types: Vec<&str> = match &property["type"] {
        Value::String(one) => vec![one],
        Value::Array(all) => all.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    let types: Vec<_> = types.into_iter().filter(|it| *it != "null").collect();
    let names_all = property["properties"].is_object()
        && property["additionalProperties"] != true
        && property["patternProperties"].is_null();
    match types.as_slice() {
        ["object"] if names_all => "",
        ["object"] => "free",
        ["array"] => "list",
        ["string"] => "text",
        ["boolean"] => "bool",
        ["integer" | "number"] => "number",
        _ => "any",
    }
}

/// Infers types from key names and from nested keys.
fn infer_from_names(name: &str, key: &mut Key) {
    if key.word == "any" && !key.below.is_empty() {
        key.word.clear();
    }
    let lower = name.to_lowercase();
    let is_passthrough = PASSTHROUGH_SUFFIXES.iter().any(|end| lower.ends_with(end));
    let is_mapping = key.word.is_empty() || key.word == "free";
    if is_mapping && (is_passthrough || key.word == "free") {
        key.word = "free".into();
        key.below.clear();
    }
    for (name, key) in &mut key.below {
        infer_from_names(name, key);
    }
}
