//! Tolerations, affinity and selectors: fields that require or exclude each other.

use std::collections::BTreeSet;

use gpuc_syntax::node::Node;

use super::ObjectContext;
use super::field_path::Step;
use super::scalar::{Read, get, items, read, text};

/// The default scheduler of Kubernetes.
///
/// Source: kubernetes `staging/src/k8s.io/api/core/v1/types.go`, `DefaultSchedulerName` (from memory).
pub const DEFAULT_SCHEDULER: &str = "default-scheduler";

pub(super) fn validate(ctx: &mut ObjectContext<'_, '_>) {
    match ctx.name {
        "Toleration" => toleration(ctx),
        "NodeSelectorRequirement" | "LabelSelectorRequirement" => requirement(ctx),
        "NodeSelector" => terms(ctx),
        "NodeSelectorTerm" => matched(ctx),
        "TopologySpreadConstraint" => domains(ctx),
        "PodSpec" => {
            spread(ctx);
            gated(ctx);
        }
        _ => {}
    }
}

/// Source: kubernetes `pkg/apis/core/validation/validation.go`, `ValidateTolerations`.
fn toleration(ctx: &mut ObjectContext<'_, '_>) {
    let field = |key: &str| get(ctx.node, key);
    let is_open = ctx
        .node
        .entries()
        .iter()
        .any(|entry| read(&entry.value) == Read::Open);
    if is_open {
        return;
    }
    let exists = text(ctx.node, "operator") == Some("Exists");
    let value = field("value").filter(|it| it.text() != Some(""));
    let (has_value, has_key) = (value.is_some(), text(ctx.node, "key").is_some());
    let seconds = field("tolerationSeconds").is_some();
    let effect = text(ctx.node, "effect");
    if exists && has_value {
        ctx.refuse(
            [Step::from("value")],
            |path| format!("`{path}` cannot be combined with `operator: Exists`"),
            "remove it, or write `operator: Equal`",
        );
    }
    if !exists && !has_key && ctx.is_whole {
        ctx.refuse(
            [],
            |path| format!("`{path}` has no `key`, which is only allowed with `operator: Exists`"),
            "write its `key`, or `operator: Exists`",
        );
    }
    if seconds && effect != Some("NoExecute") {
        ctx.refuse(
            [Step::from("tolerationSeconds")],
            |path| format!("`{path}` is only allowed with `effect: NoExecute`"),
            "remove it, or write `effect: NoExecute`",
        );
    }
}

/// Sources: kubernetes `pkg/apis/core/validation/validation.go`, `ValidateNodeSelectorRequirement`;
/// `staging/src/k8s.io/apimachinery/pkg/apis/meta/v1/validation/validation.go`, `ValidateLabelSelectorRequirement`.
fn requirement(ctx: &mut ObjectContext<'_, '_>) {
    let Some(operator) = text(ctx.node, "operator") else {
        return;
    };
    let values = get(ctx.node, "values");
    if values.is_some_and(|it| read(it) == Read::Open) {
        return;
    }
    let count = values.map_or(0, |it| it.items().len());
    let (problem, help) = match operator {
        "In" | "NotIn" if count == 0 && ctx.is_whole => {
            ("no `values`", "write its `values`, a list")
        }
        "Exists" | "DoesNotExist" if count > 0 => {
            ("`values`", "remove them, or write `operator: In`")
        }
        "Gt" | "Lt" if count != 1 && ctx.is_whole => (
            "not one value",
            "write exactly one number in `values`, in quotes",
        ),
        _ => return,
    };
    let below = values.map(|_| Step::from("values"));
    ctx.refuse(
        below,
        |path| {
            let path = path.strip_suffix(".values").unwrap_or(path);
            format!("`{path}` has `operator: {operator}` and {problem}")
        },
        help,
    );
}

/// Source: kubernetes `pkg/apis/core/validation/validation.go`, `ValidateNodeSelector`.
fn terms(ctx: &mut ObjectContext<'_, '_>) {
    let terms = get(ctx.node, "nodeSelectorTerms").map(Node::items);
    if ctx.is_whole && terms.is_some_and(<[Node]>::is_empty) {
        ctx.refuse(
            [Step::from("nodeSelectorTerms")],
            |path| format!("`{path}` is empty"),
            "add a term, or remove the empty requirement",
        );
    }
}

/// Source: kubernetes `pkg/apis/core/validation/validation.go`, `ValidateNodeFieldSelectorRequirement`.
fn matched(ctx: &mut ObjectContext<'_, '_>) {
    for (index, field) in items(ctx.node, "matchFields") {
        let mut way = vec![Step::from("matchFields"), Step::from(index)];
        if let Some(key) = text(field, "key").filter(|key| *key != "metadata.name") {
            way.push(Step::from("key"));
            ctx.refuse(
                way,
                |path| format!("`{path}` is `{key}`, but must be `metadata.name`"),
                "write `metadata.name`, or use a label in `matchExpressions`",
            );
        } else if text(field, "operator").is_some_and(|it| !["In", "NotIn"].contains(&it)) {
            way.push(Step::from("operator"));
            ctx.refuse(
                way,
                |path| format!("`{path}` must be `In` or `NotIn`"),
                "write `In` or `NotIn`",
            );
        } else if get(field, "values").is_some_and(|it| it.items().len() > 1) {
            way.push(Step::from("values"));
            ctx.refuse(
                way,
                |path| format!("`{path}` has more than one value, but a node has one name"),
                "write one name, and a separate term for each other name",
            );
        }
    }
}

/// Source: kubernetes `pkg/apis/core/validation/validation.go`, `ValidatePodCreate`.
fn gated(ctx: &mut ObjectContext<'_, '_>) {
    let gates = items(ctx.node, "schedulingGates").count();
    if gates > 0 && get(ctx.node, "nodeName").is_some() {
        ctx.refuse(
            [Step::from("nodeName")],
            |path| format!("`{path}` cannot be combined with `schedulingGates`"),
            "remove one of the two",
        );
    }
}

/// Source: kubernetes `pkg/apis/core/validation/validation.go`, `ValidateSpreadConstraintNotRepeat`.
fn spread(ctx: &mut ObjectContext<'_, '_>) {
    let mut seen = BTreeSet::new();
    for (index, it) in items(ctx.node, "topologySpreadConstraints") {
        let (Some(key), Some(how)) = (text(it, "topologyKey"), text(it, "whenUnsatisfiable"))
        else {
            continue;
        };
        if !seen.insert((key, how)) {
            ctx.refuse(
                [Step::from("topologySpreadConstraints"), Step::from(index)],
                |path| format!("`{path}` has a `topologyKey` and a `whenUnsatisfiable` that are already used"),
                "remove one of the two",
            );
        }
    }
}

/// Source: kubernetes `pkg/apis/core/validation/validation.go`, `validateMinDomains` and
/// `validateTopologySpreadConstraints`.
fn domains(ctx: &mut ObjectContext<'_, '_>) {
    let is_soft = text(ctx.node, "whenUnsatisfiable") == Some("ScheduleAnyway");
    if is_soft && get(ctx.node, "minDomains").is_some() {
        ctx.refuse(
            [Step::from("minDomains")],
            |path| format!("`{path}` is only allowed with `whenUnsatisfiable: DoNotSchedule`"),
            "remove it",
        );
    }
    let keys = get(ctx.node, "matchLabelKeys").map_or(0, |it| it.items().len());
    let has_selector = get(ctx.node, "labelSelector").is_some();
    if keys > 0 && !has_selector && ctx.is_whole && items(ctx.node, "matchLabelKeys").count() > 0 {
        ctx.refuse(
            [Step::from("matchLabelKeys")],
            |path| format!("`{path}` requires a `labelSelector`"),
            "write a `labelSelector`",
        );
    }
}
