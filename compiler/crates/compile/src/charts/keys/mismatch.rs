//! Values that a chart does not read, or whose type it does not accept.

use gpuc_syntax::diag::phrases;
use gpuc_syntax::node::{Node, Scalar, Value};
use gpuc_syntax::source::Span;
use gpuc_syntax::yaml::core_schema::CoreValue;

use super::{KeyLookup, Keys, Kind, ObsoleteKey};

/// A value that the chart does not accept.
#[derive(Debug)]
pub struct ValueMismatch {
    /// The path.
    pub path: Vec<String>,
    /// The span of its key or value; empty if gpuc wrote both.
    pub span: Span,
    /// The problem.
    pub kind: MismatchKind,
    keys: &'static Keys,
}

/// A problem with a value.
#[derive(Debug, PartialEq, Eq)]
pub enum MismatchKind {
    /// The chart reads no such key, and Helm drops it silently.
    Unknown {
        /// Paths that were probably intended.
        suggestions: Vec<Vec<String>>,
    },
    /// The chart reads no such key, but its replacement is known.
    Obsolete(&'static ObsoleteKey),
    /// The chart wants something else there.
    WrongType {
        /// The expected type, with its article.
        expected: &'static str,
        /// The actual type, with its article.
        found: &'static str,
    },
    /// A string such as `"false"`, which templates treat as true because it is not empty.
    Truthy,
}

/// The maximum number of suggestions for a misplaced key.
const MAX_SUGGESTIONS: usize = 3;

impl ValueMismatch {
    /// The message of the diagnostic.
    pub fn message(&self) -> String {
        let (path, chart) = (dotted_notation(&self.path), self.keys.chart);
        match &self.kind {
            MismatchKind::Unknown { .. } => {
                format!("chart `{chart}` {} has no key `{path}`", self.keys.version)
            }
            MismatchKind::Obsolete(obsolete) => {
                let version = self.keys.version;
                format!(
                    "chart `{chart}` {version} does not read `{path}`: {}",
                    obsolete.reason
                )
            }
            MismatchKind::WrongType {
                expected: wanted,
                found,
            } => {
                format!("chart `{chart}` expects {wanted} at `{path}`, not {found}")
            }
            MismatchKind::Truthy => {
                format!("chart `{chart}` expects true or false at `{path}`, not text")
            }
        }
    }

    /// The help, if a fix is known.
    pub fn help(&self) -> Option<String> {
        let paths: Vec<String> = match &self.kind {
            MismatchKind::Unknown {
                suggestions: instead,
            } => instead.iter().map(|path| dotted_notation(path)).collect(),
            MismatchKind::Obsolete(obsolete) if obsolete.replacements.is_empty() => {
                return Some("remove it".to_owned());
            }
            MismatchKind::Obsolete(obsolete) => obsolete
                .replacements
                .iter()
                .map(|it| dotted_path(it))
                .collect(),
            MismatchKind::WrongType {
                expected: "text", ..
            } => {
                return Some("write it as a block scalar: add `|` after the colon".to_owned());
            }
            MismatchKind::WrongType { .. } => return None,
            MismatchKind::Truthy => {
                return Some("write it without quotes: `true` or `false`".to_owned());
            }
        };
        (!paths.is_empty()).then(|| format!("write {}", phrases::quoted_conjunction(&paths, "or")))
    }
}

/// Everything in a release's values that the chart does not accept.
pub fn unknown_keys(keys: &'static Keys, values: &Node) -> Vec<ValueMismatch> {
    let mut found = Vec::new();
    if let Some(wrong) = type_mismatch(Kind::Map, values) {
        found.push(ValueMismatch {
            path: Vec::new(),
            span: values.span(),
            kind: wrong,
            keys,
        });
    }
    collect_mismatches(keys, values, &mut Vec::new(), &mut found);
    found
}

fn collect_mismatches<'n>(
    keys: &'static Keys,
    values: &'n Node,
    path: &mut Vec<&'n str>,
    misfits: &mut Vec<ValueMismatch>,
) {
    for entry in values.entries() {
        path.push(&entry.key);
        let found = keys.find(path);
        let wrong = match found {
            KeyLookup::Free => None,
            KeyLookup::Known(kind) => type_mismatch(kind, &entry.value),
            KeyLookup::Unknown {
                obsolete: Some(obsolete),
                ..
            } => Some(MismatchKind::Obsolete(obsolete)),
            KeyLookup::Unknown {
                parent,
                closest: nearest,
                ..
            } => Some(MismatchKind::Unknown {
                suggestions: suggestions(keys, path, parent, nearest),
            }),
        };
        match wrong {
            Some(wrong) => {
                let is_of_value =
                    matches!(wrong, MismatchKind::WrongType { .. } | MismatchKind::Truthy);
                let (first, second) = if is_of_value {
                    (entry.value.span(), entry.key_span)
                } else {
                    (entry.key_span, entry.value.span())
                };
                misfits.push(ValueMismatch {
                    path: path.iter().map(|part| (*part).to_owned()).collect(),
                    span: if first.is_written() { first } else { second },
                    kind: wrong,
                    keys,
                });
            }
            None if matches!(found, KeyLookup::Known(_)) => {
                collect_mismatches(keys, &entry.value, path, misfits);
            }
            None => {}
        }
        path.pop();
    }
}

/// Suggestions for a path that the chart does not have.
fn suggestions(
    keys: &Keys,
    path: &[&str],
    parent: usize,
    nearest: Option<&'static str>,
) -> Vec<Vec<String>> {
    let owned = |parts: &[&str]| parts.iter().map(|part| (*part).to_owned()).collect();
    if let Some(nearest) = nearest {
        let mut path = path[..=parent].to_vec();
        path[parent] = nearest;
        return vec![owned(&path)];
    }
    let mut paths = keys.paths_ending_with(path[parent]);
    if paths.len() > MAX_SUGGESTIONS {
        paths.clear();
    }
    paths.iter().map(|path| owned(path)).collect()
}

/// The problem with the type of a value. `null` is always valid: it removes the default. Templates accept numbers as
/// text and text as numbers.
fn type_mismatch(kind: Kind, node: &Node) -> Option<MismatchKind> {
    let wanted = match kind {
        Kind::Any => return None,
        Kind::Map | Kind::Free | Kind::Texts | Kind::Chart(_) | Kind::Subchart => "a mapping",
        Kind::List => "a list",
        Kind::Text => "text",
        Kind::Number => "a number",
        Kind::Bool => "true or false",
    };
    let found = match &node.value {
        Value::Mapping(_) => "a mapping",
        Value::Sequence(_) => "a list",
        Value::Scalar(scalar) => return scalar_mismatch(kind, wanted, scalar),
    };
    (wanted != found).then_some(MismatchKind::WrongType {
        expected: wanted,
        found,
    })
}

fn scalar_mismatch(kind: Kind, wanted: &'static str, scalar: &Scalar) -> Option<MismatchKind> {
    let found = match scalar.core_value() {
        CoreValue::Null => return None,
        CoreValue::Bool(_) => "true or false",
        CoreValue::Integer(_) | CoreValue::Float(_) => "a number",
        CoreValue::Text(text) => {
            let says_no = ["false", "no", "off", "true", "yes", "on"];
            if kind == Kind::Bool && says_no.contains(&text.to_lowercase().as_str()) {
                return Some(MismatchKind::Truthy);
            }
            "text"
        }
    };
    matches!(wanted, "a mapping" | "a list").then_some(MismatchKind::WrongType {
        expected: wanted,
        found,
    })
}

/// A path in dotted notation; parts that contain dots are quoted.
fn dotted_notation(path: &[impl AsRef<str>]) -> String {
    let parts = path.iter().map(|part| match part.as_ref() {
        part if part.contains('.') => format!("\"{part}\""),
        part => part.to_owned(),
    });
    parts.collect::<Vec<_>>().join(".")
}

fn dotted_path(path: &str) -> String {
    dotted_notation(&path.split('/').collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use gpuc_syntax::node::Origin;

    /// Each misfit's message and help.
    fn misfits(chart: &str, values: &serde_json::Value) -> Vec<(String, String)> {
        let values = Node::from_serializable(values, Origin::default());
        let found = unknown_keys(Keys::for_chart(chart).unwrap(), &values);
        let texts = found.iter();
        texts
            .map(|it| (it.message(), it.help().unwrap_or_default()))
            .collect()
    }

    fn one(chart: &str, values: &serde_json::Value) -> (String, String) {
        let [one] = misfits(chart, values).try_into().unwrap();
        one
    }

    #[test]
    fn keys_that_the_chart_reads_are_accepted() {
        for (chart, values) in [
            (
                "nvidia-device-plugin",
                json!({
                    "config": {"map": {"a": "version: v1"}, "default": "a"},
                    "nfd": {"enabled": true, "worker": {"tolerations": [{"operator": "Exists"}]}},
                    "tolerations": [], "affinity": {"podAffinity": {"x": 1}}, "migStrategy": "mixed",
                    "image": {"tag": 5}, "nodeSelector": {"a.b/c": "d"},
                }),
            ),
            (
                "dcgm-exporter",
                json!({"customMetrics": "DCGM_FI_DEV_SM_CLOCK, gauge, x", "serviceMonitor": {"enabled": false}}),
            ),
            (
                "gpu-operator",
                json!({
                    "daemonsets": {"tolerations": [], "rollingUpdate": {"maxUnavailable": 2}},
                    "nfd": {"enabled": false}, "node-feature-discovery": {"worker": {"tolerations": []}},
                    "migManager": {"config": {"create": true, "name": "a", "data": {"config.yaml": "version: v1"}}},
                    "dcgmExporter": {"config": {"create": true, "name": "a", "data": "x"}},
                }),
            ),
            (
                "jupyterhub",
                json!({"singleuser": {"extraTolerations": [], "extraResource": {"limits": {"nvidia.com/gpu": "1"}},
                    "memory": {"limit": "8G"}}, "hub": {"config": {"Anything": {"x": 1}}}, "custom": {"a": 1}}),
            ),
            (
                "kube-prometheus-stack",
                json!({"prometheus": {"prometheusSpec": {"additionalScrapeConfigs": "- job_name: x"}},
                    "grafana": {"persistence": {"enabled": true}}, "kubeStateMetrics": {"enabled": false}}),
            ),
        ] {
            assert_eq!(misfits(chart, &values), [], "{chart}");
        }
    }

    #[test]
    fn mapping_instead_of_text_is_reported() {
        let values = json!({"config": {"map": {"a": {"version": "v1"}}}});
        let (message, help) = one("nvidia-device-plugin", &values);
        let wanted = "chart `nvidia-device-plugin` expects text at `config.map.a`, not a mapping";
        assert_eq!(message, wanted);
        assert_eq!(help, "write it as a block scalar: add `|` after the colon");
        let values =
            json!({"managerConfig": {"controllerManagerConfigYaml": {"kind": "Configuration"}}});
        let (message, _) = one("kueue", &values);
        assert!(message.contains("expects text at"), "{message}");
    }

    #[test]
    fn value_types_are_distinguished() {
        let (message, _) = one("dcgm-exporter", &json!({"tolerations": {"key": "a"}}));
        assert!(
            message.ends_with("expects a list at `tolerations`, not a mapping"),
            "{message}"
        );
        let (message, _) = one("dcgm-exporter", &json!({"nodeSelector": ["a"]}));
        assert!(
            message.ends_with("expects a mapping at `nodeSelector`, not a list"),
            "{message}"
        );
        let (message, help) = one("gpu-operator", &json!({"driver": {"enabled": "false"}}));
        assert!(
            message.ends_with("expects true or false at `driver.enabled`, not text"),
            "{message}"
        );
        assert_eq!(help, "write it without quotes: `true` or `false`");
        let (message, _) = one("gpu-operator", &json!({"driver": true}));
        assert!(
            message.ends_with("expects a mapping at `driver`, not true or false"),
            "{message}"
        );
    }

    #[test]
    fn obsolete_keys_are_explained() {
        let (message, help) = one(
            "gpu-operator",
            &json!({"devicePlugin": {"config": {"map": {"a": "x"}}}}),
        );
        let wanted = "chart `gpu-operator` v26.7.0 does not read `devicePlugin.config.map`: `map` is the key of the \
                      device plugin's own chart; the operator's is `data`";
        assert_eq!(message, wanted);
        assert_eq!(help, "write `devicePlugin.config.data`");
        let (_, help) = one("gpu-operator", &json!({"tolerations": []}));
        assert_eq!(
            help,
            "write `daemonsets.tolerations` or `operator.tolerations`"
        );
        let (_, help) = one("gpu-operator", &json!({"psp": {"enabled": true}}));
        assert_eq!(help, "write `psa.enabled`");
        let (_, help) = one(
            "gpu-operator",
            &json!({"operator": {"defaultRuntime": "containerd"}}),
        );
        assert_eq!(help, "remove it");
        let (_, help) = one("jupyterhub", &json!({"singleuser": {"tolerations": []}}));
        assert_eq!(help, "write `singleuser.extraTolerations`");
    }

    #[test]
    fn misspelled_and_misplaced_keys_get_suggestions() {
        let (message, help) = one("nvidia-device-plugin", &json!({"tolerationz": []}));
        assert_eq!(
            message,
            "chart `nvidia-device-plugin` 0.20.0 has no key `tolerationz`"
        );
        assert_eq!(help, "write `tolerations`");
        let (_, help) = one("kueue", &json!({"logLevel": 3}));
        assert_eq!(help, "write `controllerManager.manager.logLevel`");
        let (_, help) = one("gpu-operator", &json!({"operator": {"zzz": 1}}));
        assert_eq!(help, "");
        let (_, help) = one(
            "nvidia-device-plugin",
            &json!({"nfd": {"worker": {"nodeSelektor": {}}}}),
        );
        assert_eq!(help, "write `nfd.worker.nodeSelector`");
    }

    #[test]
    fn finding_points_to_the_key() {
        let mut sources = gpuc_syntax::source::Sources::default();
        let text = "serviceMonitor:\n  enable: true\ntolerations: {}\n";
        let file = sources.add("values.yaml", text);
        let mut report = gpuc_syntax::diag::Report::default();
        let documents = gpuc_syntax::yaml::parse(&sources, file, &mut report);
        let found = unknown_keys(
            Keys::for_chart("dcgm-exporter").unwrap(),
            &documents[0].root,
        );
        let texts: Vec<_> = found.iter().map(|it| sources.text(it.span)).collect();
        assert_eq!(texts, ["enable", "{}"]);
    }
}
