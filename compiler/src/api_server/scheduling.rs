//! Tolerations, affinity and selectors: words that need others beside them, or bear none.

use std::collections::BTreeSet;

use super::Here;
use super::place::Step;
use super::read::{Read, get, items, read, text};
use crate::node::Node;

pub(super) fn look(here: &mut Here<'_, '_>) {
    match here.name {
        "Toleration" => toleration(here),
        "NodeSelectorRequirement" | "LabelSelectorRequirement" => requirement(here),
        "NodeSelector" => terms(here),
        "NodeSelectorTerm" => matched(here),
        "TopologySpreadConstraint" => domains(here),
        "PodSpec" => {
            spread(here);
            gated(here);
        }
        _ => {}
    }
}

/// Source: kubernetes `pkg/apis/core/validation/validation.go`, `ValidateTolerations`.
fn toleration(here: &mut Here<'_, '_>) {
    let of = |key: &str| get(here.node, key);
    let is_open = here
        .node
        .entries()
        .iter()
        .any(|entry| read(&entry.value) == Read::Open);
    if is_open {
        return;
    }
    let exists = text(here.node, "operator") == Some("Exists");
    let value = of("value").filter(|it| it.text() != Some(""));
    let (has_value, has_key) = (value.is_some(), text(here.node, "key").is_some());
    let seconds = of("tolerationSeconds").is_some();
    let effect = text(here.node, "effect");
    if exists && has_value {
        here.refuse(
            [Step::from("value")],
            |path| format!("`{path}` cannot be with `operator: Exists`"),
            "remove it, or write `operator: Equal`",
        );
    }
    if !exists && !has_key && here.is_whole {
        here.refuse(
            [],
            |path| {
                format!("`{path}` has no `key`, which only one with `operator: Exists` may lack")
            },
            "write its `key`, or `operator: Exists`",
        );
    }
    if seconds && effect != Some("NoExecute") {
        here.refuse(
            [Step::from("tolerationSeconds")],
            |path| format!("`{path}` is for `effect: NoExecute` alone"),
            "remove it, or write `effect: NoExecute`",
        );
    }
}

/// Sources: kubernetes `pkg/apis/core/validation/validation.go`, `ValidateNodeSelectorRequirement`;
/// `staging/src/k8s.io/apimachinery/pkg/apis/meta/v1/validation/validation.go`, `ValidateLabelSelectorRequirement`.
fn requirement(here: &mut Here<'_, '_>) {
    let Some(operator) = text(here.node, "operator") else {
        return;
    };
    let values = get(here.node, "values");
    if values.is_some_and(|it| read(it) == Read::Open) {
        return;
    }
    let count = values.map_or(0, |it| it.items().len());
    let (problem, help) = match operator {
        "In" | "NotIn" if count == 0 && here.is_whole => {
            ("no `values`", "write its `values`, a list")
        }
        "Exists" | "DoesNotExist" if count > 0 => {
            ("`values`", "remove them, or write `operator: In`")
        }
        "Gt" | "Lt" if count != 1 && here.is_whole => {
            ("not one value", "write one number into `values`, in quotes")
        }
        _ => return,
    };
    let below = values.map(|_| Step::from("values"));
    here.refuse(
        below,
        |path| {
            let path = path.strip_suffix(".values").unwrap_or(path);
            format!("`{path}` has `operator: {operator}` and {problem}")
        },
        help,
    );
}

/// Source: kubernetes `pkg/apis/core/validation/validation.go`, `ValidateNodeSelector`.
fn terms(here: &mut Here<'_, '_>) {
    let terms = get(here.node, "nodeSelectorTerms").map(Node::items);
    if here.is_whole && terms.is_some_and(<[Node]>::is_empty) {
        here.refuse(
            [Step::from("nodeSelectorTerms")],
            |path| format!("`{path}` is empty"),
            "write a term, or remove what requires it",
        );
    }
}

/// Source: kubernetes `pkg/apis/core/validation/validation.go`, `ValidateNodeFieldSelectorRequirement`.
fn matched(here: &mut Here<'_, '_>) {
    for (index, field) in items(here.node, "matchFields") {
        let mut way = vec![Step::from("matchFields"), Step::from(index)];
        if let Some(key) = text(field, "key").filter(|key| *key != "metadata.name") {
            way.push(Step::from("key"));
            here.refuse(
                way,
                |path| format!("`{path}` is `{key}`, and has to be `metadata.name`"),
                "write `metadata.name`, or a label into `matchExpressions`",
            );
        } else if text(field, "operator").is_some_and(|it| !["In", "NotIn"].contains(&it)) {
            way.push(Step::from("operator"));
            here.refuse(
                way,
                |path| format!("`{path}` has to be `In` or `NotIn`"),
                "write `In` or `NotIn`",
            );
        } else if get(field, "values").is_some_and(|it| it.items().len() > 1) {
            way.push(Step::from("values"));
            here.refuse(
                way,
                |path| format!("`{path}` has more than one, and a node has one name"),
                "write one name, and a term for each other",
            );
        }
    }
}

/// Source: kubernetes `pkg/apis/core/validation/validation.go`, `ValidatePodCreate`.
fn gated(here: &mut Here<'_, '_>) {
    let gates = items(here.node, "schedulingGates").count();
    if gates > 0 && get(here.node, "nodeName").is_some() {
        here.refuse(
            [Step::from("nodeName")],
            |path| format!("`{path}` cannot be with `schedulingGates`"),
            "remove one of the two",
        );
    }
}

/// Source: kubernetes `pkg/apis/core/validation/validation.go`, `ValidateSpreadConstraintNotRepeat`.
fn spread(here: &mut Here<'_, '_>) {
    let mut seen = BTreeSet::new();
    for (index, it) in items(here.node, "topologySpreadConstraints") {
        let (Some(key), Some(how)) = (text(it, "topologyKey"), text(it, "whenUnsatisfiable"))
        else {
            continue;
        };
        if !seen.insert((key, how)) {
            here.refuse(
                [Step::from("topologySpreadConstraints"), Step::from(index)],
                |path| format!("`{path}` has a `topologyKey` and a `whenUnsatisfiable` that are there already"),
                "remove one of the two",
            );
        }
    }
}

/// Source: kubernetes `pkg/apis/core/validation/validation.go`, `validateMinDomains` and
/// `validateTopologySpreadConstraints`.
fn domains(here: &mut Here<'_, '_>) {
    let is_soft = text(here.node, "whenUnsatisfiable") == Some("ScheduleAnyway");
    if is_soft && get(here.node, "minDomains").is_some() {
        here.refuse(
            [Step::from("minDomains")],
            |path| format!("`{path}` is for `whenUnsatisfiable: DoNotSchedule` alone"),
            "remove it",
        );
    }
    let keys = get(here.node, "matchLabelKeys").map_or(0, |it| it.items().len());
    let has_selector = get(here.node, "labelSelector").is_some();
    if keys > 0 && !has_selector && here.is_whole && items(here.node, "matchLabelKeys").count() > 0
    {
        here.refuse(
            [Step::from("matchLabelKeys")],
            |path| format!("`{path}` is nothing without a `labelSelector` beside it"),
            "write a `labelSelector`",
        );
    }
}
