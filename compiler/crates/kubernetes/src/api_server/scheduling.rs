//! Tolerations, affinity and selectors: fields that require or exclude each other.

use std::collections::BTreeSet;

use gpuc_syntax::node::Node;

use super::ObjectContext;
use super::field_path::Step;
use super::scalar::{ParsedValue, get_non_null, get_text, indexed_items, parse_value};

/// The default scheduler of Kubernetes.
///
/// Source: kubernetes `staging/src/k8s.io/api/core/v1/types.go`, `DefaultSchedulerName` (from memory).
pub const DEFAULT_SCHEDULER: &str = "default-scheduler";

pub(super) fn validate(ctx: &mut ObjectContext<'_, '_>) {
    match ctx.type_name {
        "Toleration" => check_toleration(ctx),
        "NodeSelectorRequirement" | "LabelSelectorRequirement" => check_requirement(ctx),
        "NodeSelector" => check_node_selector_terms(ctx),
        "NodeSelectorTerm" => check_match_fields(ctx),
        "TopologySpreadConstraint" => check_spread_fields(ctx),
        "PodSpec" => {
            check_unique_spread_constraints(ctx);
            check_scheduling_gates(ctx);
        }
        _ => {}
    }
}

/// Source: kubernetes `pkg/apis/core/validation/validation.go`, `ValidateTolerations`.
fn check_toleration(ctx: &mut ObjectContext<'_, '_>) {
    let field = |key: &str| get_non_null(ctx.node, key);
    let is_open = ctx
        .node
        .entries()
        .iter()
        .any(|entry| parse_value(&entry.value) == ParsedValue::Templated);
    if is_open {
        return;
    }
    let exists = get_text(ctx.node, "operator") == Some("Exists");
    let value = field("value").filter(|it| it.text() != Some(""));
    let (has_value, has_key) = (value.is_some(), get_text(ctx.node, "key").is_some());
    let seconds = field("tolerationSeconds").is_some();
    let effect = get_text(ctx.node, "effect");
    if exists && has_value {
        ctx.report(
            [Step::from("value")],
            |path| format!("`{path}` cannot be combined with `operator: Exists`"),
            "remove it, or write `operator: Equal`",
        );
    }
    if !exists && !has_key && ctx.is_complete {
        ctx.report(
            [],
            |path| format!("`{path}` has no `key`, which is only allowed with `operator: Exists`"),
            "write its `key`, or `operator: Exists`",
        );
    }
    if seconds && effect != Some("NoExecute") {
        ctx.report(
            [Step::from("tolerationSeconds")],
            |path| format!("`{path}` is only allowed with `effect: NoExecute`"),
            "remove it, or write `effect: NoExecute`",
        );
    }
}

/// Sources: kubernetes `pkg/apis/core/validation/validation.go`, `ValidateNodeSelectorRequirement`;
/// `staging/src/k8s.io/apimachinery/pkg/apis/meta/v1/validation/validation.go`, `ValidateLabelSelectorRequirement`.
fn check_requirement(ctx: &mut ObjectContext<'_, '_>) {
    let Some(operator) = get_text(ctx.node, "operator") else {
        return;
    };
    let values = get_non_null(ctx.node, "values");
    if values.is_some_and(|it| parse_value(it) == ParsedValue::Templated) {
        return;
    }
    let count = values.map_or(0, |it| it.items().len());
    let (problem, help) = match operator {
        "In" | "NotIn" if count == 0 && ctx.is_complete => {
            ("no `values`", "write its `values`, a list")
        }
        "Exists" | "DoesNotExist" if count > 0 => {
            ("`values`", "remove them, or write `operator: In`")
        }
        "Gt" | "Lt" if count != 1 && ctx.is_complete => (
            "not one value",
            "write exactly one number in `values`, in quotes",
        ),
        _ => return,
    };
    let below = values.map(|_| Step::from("values"));
    ctx.report(
        below,
        |path| {
            let path = path.strip_suffix(".values").unwrap_or(path);
            format!("`{path}` has `operator: {operator}` and {problem}")
        },
        help,
    );
}

/// Source: kubernetes `pkg/apis/core/validation/validation.go`, `ValidateNodeSelector`.
fn check_node_selector_terms(ctx: &mut ObjectContext<'_, '_>) {
    let terms = get_non_null(ctx.node, "nodeSelectorTerms").map(Node::items);
    if ctx.is_complete && terms.is_some_and(<[Node]>::is_empty) {
        ctx.report(
            [Step::from("nodeSelectorTerms")],
            |path| format!("`{path}` is empty"),
            "add a term, or remove the empty requirement",
        );
    }
}

/// Source: kubernetes `pkg/apis/core/validation/validation.go`, `ValidateNodeFieldSelectorRequirement`.
fn check_match_fields(ctx: &mut ObjectContext<'_, '_>) {
    for (index, field) in indexed_items(ctx.node, "matchFields") {
        let mut key_path = vec![Step::from("matchFields"), Step::from(index)];
        if let Some(key) = get_text(field, "key").filter(|key| *key != "metadata.name") {
            key_path.push(Step::from("key"));
            ctx.report(
                key_path,
                |path| format!("`{path}` is `{key}`, but must be `metadata.name`"),
                "write `metadata.name`, or use a label in `matchExpressions`",
            );
        } else if get_text(field, "operator").is_some_and(|it| !["In", "NotIn"].contains(&it)) {
            key_path.push(Step::from("operator"));
            ctx.report(
                key_path,
                |path| format!("`{path}` must be `In` or `NotIn`"),
                "write `In` or `NotIn`",
            );
        } else if get_non_null(field, "values").is_some_and(|it| it.items().len() > 1) {
            key_path.push(Step::from("values"));
            ctx.report(
                key_path,
                |path| format!("`{path}` has more than one value, but a node has one name"),
                "write one name, and a separate term for each other name",
            );
        }
    }
}

/// Source: kubernetes `pkg/apis/core/validation/validation.go`, `ValidatePodCreate`.
fn check_scheduling_gates(ctx: &mut ObjectContext<'_, '_>) {
    let gates = indexed_items(ctx.node, "schedulingGates").count();
    if gates > 0 && get_non_null(ctx.node, "nodeName").is_some() {
        ctx.report(
            [Step::from("nodeName")],
            |path| format!("`{path}` cannot be combined with `schedulingGates`"),
            "remove one of the two",
        );
    }
}

/// Source: kubernetes `pkg/apis/core/validation/validation.go`, `ValidateSpreadConstraintNotRepeat`.
fn check_unique_spread_constraints(ctx: &mut ObjectContext<'_, '_>) {
    let mut seen = BTreeSet::new();
    for (index, it) in indexed_items(ctx.node, "topologySpreadConstraints") {
        let (Some(key), Some(when_unsatisfiable)) = (
            get_text(it, "topologyKey"),
            get_text(it, "whenUnsatisfiable"),
        ) else {
            continue;
        };
        if !seen.insert((key, when_unsatisfiable)) {
            ctx.report(
                [Step::from("topologySpreadConstraints"), Step::from(index)],
                |path| format!("`{path}` has a `topologyKey` and a `whenUnsatisfiable` that are already used"),
                "remove one of the two",
            );
        }
    }
}

/// Source: kubernetes `pkg/apis/core/validation/validation.go`, `validateMinDomains` and
/// `validateTopologySpreadConstraints`.
fn check_spread_fields(ctx: &mut ObjectContext<'_, '_>) {
    let is_soft = get_text(ctx.node, "whenUnsatisfiable") == Some("ScheduleAnyway");
    if is_soft && get_non_null(ctx.node, "minDomains").is_some() {
        ctx.report(
            [Step::from("minDomains")],
            |path| format!("`{path}` is only allowed with `whenUnsatisfiable: DoNotSchedule`"),
            "remove it",
        );
    }
    let keys = get_non_null(ctx.node, "matchLabelKeys").map_or(0, |it| it.items().len());
    let has_selector = get_non_null(ctx.node, "labelSelector").is_some();
    if keys > 0
        && !has_selector
        && ctx.is_complete
        && indexed_items(ctx.node, "matchLabelKeys").count() > 0
    {
        ctx.report(
            [Step::from("matchLabelKeys")],
            |path| format!("`{path}` requires a `labelSelector`"),
            "add a `labelSelector`",
        );
    }
}
