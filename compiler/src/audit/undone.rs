//! Values of a user's that undo what gpuc derives from the rest of the file: where pods may run, what they are called,
//! and what is switched on.

use std::collections::BTreeSet;

use serde_json::{Value as Json, json};

use super::codes::CHART_VALUE_UNDONE;
use crate::chart::CHARTS;
use crate::check::Checked;
use crate::diag::Report;
use crate::model::QUEUE_LABEL;
use crate::node::{Entry, Node};
use crate::source::Span;

/// The keys, at any depth, that the rest of the file decides wherever gpuc writes them itself.
const DERIVED: &[&str] = &[
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

const TOLERATIONS: &str = "tolerations";

/// Looks at every value that was written below `charts`, beside gpuc's own.
pub(super) fn look(cluster: &Checked<'_>, report: &mut Report) {
    // Several releases of a chart have the user's values in common.
    let mut said: BTreeSet<(Span, String)> = BTreeSet::new();
    for chart in CHARTS {
        let Some(settings) = cluster.written.charts.get(chart.name) else {
            continue;
        };
        let theirs = Node::passed(&settings.values);
        for release in (chart.releases)(cluster) {
            for (span, path, ours) in of(&release.values, &theirs) {
                if said.insert((span, path.clone())) {
                    let message = format!("`{path}` undoes what the rest of the file asks for");
                    let whole = ours.as_str().is_some_and(|text| text.contains('\n'));
                    let help = if whole {
                        "remove it: gpuc writes all of it, and no part of it can be added"
                            .to_owned()
                    } else if ours.is_array() {
                        format!("add to the list what gpuc writes: `{ours}`")
                    } else {
                        format!("remove it: gpuc writes `{ours}`")
                    };
                    let draft = report.draft(&CHART_VALUE_UNDONE, span, message);
                    draft.help(help).emit();
                }
            }
        }
    }
}

/// What a tree undoes that is laid over ours: where, at which key, and what ours is there.
pub(super) fn of(ours: &Node, theirs: &Node) -> Vec<(Span, String, Json)> {
    let mut look = Look {
        found: Vec::new(),
        path: Vec::new(),
    };
    look.mapping(ours, theirs, false);
    look.found
}

struct Look {
    /// Where, at which key, and what is undone.
    found: Vec<(Span, String, Json)>,
    path: Vec<String>,
}

impl Look {
    /// `derived` is set below a key that the rest of the file decides.
    fn mapping(&mut self, ours: &Node, theirs: &Node, derived: bool) {
        for entry in theirs.entries() {
            let Some(own) = ours.get(&entry.key) else {
                continue;
            };
            self.path.push(entry.key.clone());
            let derived = derived || DERIVED.contains(&entry.key.as_str());
            self.value(own, entry, derived);
            self.path.pop();
        }
    }

    fn value(&mut self, own: &Node, entry: &Entry, derived: bool) {
        if !own.entries().is_empty() && !entry.value.entries().is_empty() {
            return self.mapping(own, &entry.value, derived);
        }
        let (ours, theirs) = (json!(own), json!(entry.value));
        let undone = match entry.key.as_str() {
            TOLERATIONS => left_out(&ours, &theirs),
            // An empty mapping changes nothing: Helm merges it.
            _ if ours.is_object() && theirs.is_object() => None,
            _ if derived => (ours != theirs).then_some(ours),
            // Nothing, or something else, in the place of a mapping takes away all that is in it.
            _ => holds_derived(&ours).then_some(ours),
        };
        if let Some(undone) = undone {
            let path = self.path.join(".");
            self.found.push((entry.value.span(), path, undone));
        }
    }
}

/// The tolerations of ours that no toleration of theirs stands for.
fn left_out(ours: &Json, theirs: &Json) -> Option<Json> {
    let theirs = theirs.as_array().map_or(&[][..], Vec::as_slice);
    let covered = |own: &Json| {
        theirs.iter().any(|other| {
            let same = |key: &str| {
                other
                    .get(key)
                    .is_none_or(|value| own.get(key) == Some(value))
            };
            own == other || (other["operator"] == "Exists" && same("key") && same("effect"))
        })
    };
    let own = ours.as_array()?.iter();
    let left: Vec<_> = own.filter(|own| !covered(own)).cloned().collect();
    (!left.is_empty()).then_some(Json::Array(left))
}

fn holds_derived(value: &Json) -> bool {
    let Json::Object(entries) = value else {
        return false;
    };
    let mut entries = entries.iter();
    entries.any(|(key, value)| DERIVED.contains(&key.as_str()) || holds_derived(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn undone(ours: Json, theirs: Json) -> Vec<String> {
        let mut look = Look {
            found: Vec::new(),
            path: Vec::new(),
        };
        let [ours, theirs] = [ours, theirs].map(Node::from_json);
        look.mapping(&ours, &theirs, false);
        let found = look.found.into_iter();
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
    fn what_is_taken_away_is_named() {
        let theirs = json!({
            "driver": {"enabled": false},
            "worker": {"tolerations": [{"key": "a", "operator": "Exists"}]},
            "nodeSelector": {"gpuc.dev/pool": "other"},
        });
        assert_eq!(
            undone(ours(), theirs),
            [
                "driver.enabled true",
                r#"worker.tolerations [{"key":"b","operator":"Exists","effect":"NoExecute"}]"#,
                r#"nodeSelector.gpuc.dev/pool "train""#,
            ]
        );
        let gone = undone(ours(), json!({"worker": "", "driver": []}));
        assert_eq!(gone.len(), 2, "{gone:?}");
    }

    #[test]
    fn what_joins_or_says_the_same_is_fine() {
        let theirs = json!({
            "driver": {"enabled": true, "version": "2", "manager": "m"},
            "worker": {"tolerations": [{"operator": "Exists"}], "replicas": 2},
            "nodeSelector": {"disk": "ssd"},
            "other": {"enabled": false, "tolerations": []},
        });
        assert_eq!(undone(ours(), theirs), [""; 0]);
        assert_eq!(undone(ours(), json!({"worker": {}})), [""; 0]);
    }
}
