//! User values that override values which gpuc derives from the rest of the file: scheduling, names, and enabled
//! components.

use std::collections::BTreeSet;

use gpuc_model::QUEUE_LABEL;
use gpuc_model::check::Checked;
use gpuc_syntax::diag::Report;
use gpuc_syntax::node::{Entry, Node};
use gpuc_syntax::source::Span;
use serde_json::{Value as Json, json};

use super::codes::CHART_OVERRIDES_DERIVED_VALUE;
use crate::charts::CHARTS;

/// The keys, at any depth, whose values gpuc derives from the rest of the file.
const DERIVED_KEYS: &[&str] = &[
    "affinity",
    "clusterName",
    "controllerManagerConfigYaml",
    "enabled",
    "fullnameOverride",
    QUEUE_LABEL,
    "nodeSelector",
    "runtimeClassName",
    TOLERATIONS,
];

/// The paths of other derived values: the MIG layouts of the pools.
const DERIVED_PATHS: &[&[&str]] = &[&["migManager", "config", "data", "config.yaml"]];

const TOLERATIONS: &str = "tolerations";

/// Compares every value below `charts` with gpuc's own.
pub(super) fn check(cluster: &Checked<'_>, report: &mut Report) {
    // Several releases of a chart have the user's values in common.
    let mut reported: BTreeSet<(Span, String)> = BTreeSet::new();
    for chart in CHARTS {
        let Some(settings) = cluster.config.charts.get(chart.name) else {
            continue;
        };
        let theirs = Node::from_fragment(&settings.values);
        for release in (chart.releases)(cluster) {
            for (span, path, ours) in overridden_values(&release.values, &theirs) {
                if reported.insert((span, path.clone())) {
                    let message =
                        format!("`{path}` overrides a value that gpuc derives from the file");
                    let is_text = ours.as_str().is_some_and(|text| text.contains('\n'));
                    let help = if is_text {
                        "remove it: gpuc writes the whole text, and nothing can be added to it"
                            .to_owned()
                    } else if ours.is_array() {
                        format!("add gpuc's entries to the list: `{ours}`")
                    } else {
                        format!("remove it: gpuc writes `{ours}`")
                    };
                    let builder = report.diagnostic(&CHART_OVERRIDES_DERIVED_VALUE, span, message);
                    builder.help(help).emit();
                }
            }
        }
    }
}

/// The derived values that a user's tree overrides: span, key, and gpuc's value.
pub(super) fn overridden_values(ours: &Node, theirs: &Node) -> Vec<(Span, String, Json)> {
    let mut comparison = OverrideSearch {
        found: Vec::new(),
        path: Vec::new(),
    };
    comparison.compare_mappings(ours, theirs, false);
    comparison.found
}

struct OverrideSearch {
    /// Span, key, and the overridden value.
    found: Vec<(Span, String, Json)>,
    path: Vec<String>,
}

impl OverrideSearch {
    /// `derived` is true below a key of [`DERIVED_KEYS`].
    fn compare_mappings(&mut self, ours: &Node, theirs: &Node, derived: bool) {
        for entry in theirs.entries() {
            let Some(own) = ours.get(&entry.key) else {
                continue;
            };
            self.path.push(entry.key.clone());
            let is_derived_path = || DERIVED_PATHS.iter().any(|path| self.path == *path);
            let derived =
                derived || DERIVED_KEYS.contains(&entry.key.as_str()) || is_derived_path();
            self.compare_value(own, entry, derived);
            self.path.pop();
        }
    }

    fn compare_value(&mut self, own: &Node, entry: &Entry, derived: bool) {
        if !own.entries().is_empty() && !entry.value.entries().is_empty() {
            return self.compare_mappings(own, &entry.value, derived);
        }
        let (ours, theirs) = (json!(own), json!(entry.value));
        let override_ = match entry.key.as_str() {
            TOLERATIONS => missing_tolerations(&ours, &theirs),
            // An empty mapping has no effect: Helm merges it.
            _ if ours.is_object() && theirs.is_object() => None,
            _ if derived => (ours != theirs).then_some(ours),
            // Null, or another type, replaces a whole mapping.
            _ => contains_derived(&ours).then_some(ours),
        };
        if let Some(override_) = override_ {
            let path = self.path.join(".");
            self.found.push((entry.value.span(), path, override_));
        }
    }
}

/// The tolerations of gpuc that no toleration of the user covers.
fn missing_tolerations(ours: &Json, theirs: &Json) -> Option<Json> {
    let theirs = theirs.as_array().map_or(&[][..], Vec::as_slice);
    let covered = |own: &Json| {
        theirs.iter().any(|other| {
            let has_same_value = |key: &str| {
                other
                    .get(key)
                    .is_none_or(|value| own.get(key) == Some(value))
            };
            own == other
                || (other["operator"] == "Exists"
                    && has_same_value("key")
                    && has_same_value("effect"))
        })
    };
    let own = ours.as_array()?.iter();
    let missing: Vec<_> = own.filter(|own| !covered(own)).cloned().collect();
    (!missing.is_empty()).then_some(Json::Array(missing))
}

fn contains_derived(value: &Json) -> bool {
    let Json::Object(entries) = value else {
        return false;
    };
    let mut entries = entries.iter();
    entries.any(|(key, value)| DERIVED_KEYS.contains(&key.as_str()) || contains_derived(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn override_(ours: Json, theirs: Json) -> Vec<String> {
        let mut comparison = OverrideSearch {
            found: Vec::new(),
            path: Vec::new(),
        };
        let [ours, theirs] = [ours, theirs].map(Node::from_json);
        comparison.compare_mappings(&ours, &theirs, false);
        let found = comparison.found.into_iter();
        found
            .map(|(_, path, ours)| format!("{path} {ours}"))
            .collect()
    }

    fn ours() -> Json {
        json!({
            "driver": {"enabled": true, "version": "1"},
            "worker": {"tolerations": [
                {"key": "a", "operator": "Equal", "value": "x", "effect": "NoSchedule"},
                {"key": "b", "operator": "Exists", "effect": "NoExecute"},
            ]},
            "nodeSelector": {"gpuc.dev/pool": "train"},
        })
    }

    #[test]
    fn overrides_are_reported() {
        let theirs = json!({
            "driver": {"enabled": false},
            "worker": {"tolerations": [{"key": "a", "operator": "Exists"}]},
            "nodeSelector": {"gpuc.dev/pool": "other"},
        });
        assert_eq!(
            override_(ours(), theirs),
            [
                "driver.enabled true",
                r#"worker.tolerations [{"key":"b","operator":"Exists","effect":"NoExecute"}]"#,
                r#"nodeSelector.gpuc.dev/pool "train""#,
            ]
        );
        let overridden = override_(ours(), json!({"worker": "", "driver": []}));
        assert_eq!(overridden.len(), 2, "{overridden:?}");
    }

    /// The MIG manager applies only the layouts of this text.
    #[test]
    fn layouts_are_derived() {
        let layouts =
            |text: &str| json!({"migManager": {"config": {"data": {"config.yaml": text}}}});
        let found = override_(layouts("a"), layouts("b"));
        assert_eq!(found, ["migManager.config.data.config.yaml \"a\""]);
        assert_eq!(override_(layouts("a"), layouts("a")), [""; 0]);
    }

    #[test]
    fn additions_and_equal_values_are_accepted() {
        let theirs = json!({
            "driver": {"enabled": true, "version": "2", "manager": "m"},
            "worker": {"tolerations": [{"operator": "Exists"}], "replicas": 2},
            "nodeSelector": {"disk": "ssd"},
            "other": {"enabled": false, "tolerations": []},
        });
        assert_eq!(override_(ours(), theirs), [""; 0]);
        assert_eq!(override_(ours(), json!({"worker": {}})), [""; 0]);
    }
}
