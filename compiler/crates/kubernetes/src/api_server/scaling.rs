//! Horizontal pod autoscalers and pod disruption budgets.

use super::ObjectContext;
use super::field_path::Step;
use super::ranges::parse_percent;
use super::scalar::{ParsedValue, get_integer, get_non_null, get_text, indexed_items, parse_value};

pub(super) fn validate(ctx: &mut ObjectContext<'_, '_>) {
    match ctx.type_name {
        "HorizontalPodAutoscalerSpec" | "v1.HorizontalPodAutoscalerSpec" => {
            check_replica_range(ctx);
            check_scale_to_zero(ctx);
        }
        "MetricSpec" => check_metric_source(ctx),
        "MetricTarget" => check_metric_target(ctx),
        "PodDisruptionBudgetSpec" => check_disruption_budget(ctx),
        _ => {}
    }
}

/// Source: kubernetes `pkg/apis/autoscaling/validation/validation.go`, `validateHorizontalPodAutoscalerSpec`.
fn check_replica_range(ctx: &mut ObjectContext<'_, '_>) {
    let (min, max) = (
        get_integer(ctx.node, "minReplicas"),
        get_integer(ctx.node, "maxReplicas"),
    );
    if let Some((min, max)) = min.zip(max).filter(|(min, max)| min > max)
        && max > 0
    {
        ctx.report(
            [Step::from("maxReplicas")],
            |path| format!("`{path}` is {max}, and `minReplicas` is {min}"),
            format!("write {min} or more, or a lower `minReplicas`"),
        );
    }
}

/// Scaling to zero requires a metric that is not measured on the pods.
///
/// Source: kubernetes `pkg/apis/autoscaling/validation/validation.go`, `validateMetrics`.
fn check_scale_to_zero(ctx: &mut ObjectContext<'_, '_>) {
    let mut metrics = indexed_items(ctx.node, "metrics");
    let external_types = ["Object", "External"];
    let has_external_metric =
        metrics.any(|(_, metric)| match metric.get("type").map(parse_value) {
            Some(ParsedValue::Text(kind)) => external_types.contains(&kind),
            Some(ParsedValue::Templated) => true,
            _ => false,
        });
    if get_integer(ctx.node, "minReplicas") == Some(0) && !has_external_metric {
        ctx.report(
            [Step::from("minReplicas")],
            |path| format!("`{path}` is 0, but there is no metric of type `Object` or `External`"),
            "write 1 or more",
        );
    }
}

/// The metric types, each with the key of its source.
const METRIC_SOURCES: &[(&str, &str)] = &[
    ("ContainerResource", "containerResource"),
    ("External", "external"),
    ("Object", "object"),
    ("Pods", "pods"),
    ("Resource", "resource"),
];

/// Source: kubernetes `pkg/apis/autoscaling/validation/validation.go`, `validateMetricSpec`.
fn check_metric_source(ctx: &mut ObjectContext<'_, '_>) {
    let kind = get_text(ctx.node, "type");
    let Some((kind, own)) = METRIC_SOURCES.iter().find(|it| Some(it.0) == kind) else {
        return;
    };
    if ctx.is_complete && get_non_null(ctx.node, own).is_none() {
        ctx.report(
            [Step::from("type")],
            |path| format!("`{path}` is `{kind}`, but `{own}` is not set"),
            format!("write `{own}`, or change the type"),
        );
    }
    for (_, other) in METRIC_SOURCES.iter().filter(|it| it.1 != *own) {
        if get_non_null(ctx.node, other).is_some() {
            ctx.report(
                [Step::from(*other)],
                |path| format!("`{path}` cannot be combined with `type: {kind}`"),
                "remove it, or make it a separate metric",
            );
        }
    }
}

/// Source: kubernetes `pkg/apis/autoscaling/validation/validation.go`, `validateResourceSource`,
/// `validateContainerResourceSource`, `validatePodsSource`, `validateObjectSource` and `validateExternalSource`.
fn check_metric_target(ctx: &mut ObjectContext<'_, '_>) {
    let has = |key: &str| get_non_null(ctx.node, key).is_some();
    let parent = ctx.ancestors.last().map_or("", |(name, _)| *name);
    let metric_type = parent.trim_end_matches("MetricSource");
    let allowed: &[&str] = match metric_type {
        "Resource" | "ContainerResource" => &["averageUtilization", "averageValue"],
        "Pods" => &["averageValue"],
        "Object" | "External" => &["value", "averageValue"],
        _ => return,
    };
    let present: Vec<_> = allowed.iter().filter(|key| has(key)).collect();
    if present.is_empty() && ctx.is_complete {
        let all = gpuc_syntax::diag::phrases::quoted_conjunction(allowed, "or");
        ctx.report(
            [],
            |path| format!("`{path}` has no {all}"),
            format!("write {all}"),
        );
    }
    if present.len() > 1 && metric_type != "Object" {
        ctx.report(
            [Step::from("averageValue")],
            |path| format!("`{path}` cannot be combined with `{}`", allowed[0]),
            "remove one of the two",
        );
    }
}

const BUDGET_FIELDS: [&str; 2] = ["minAvailable", "maxUnavailable"];

/// Source: kubernetes `pkg/apis/policy/validation/validation.go`, `ValidatePodDisruptionBudgetSpec`.
fn check_disruption_budget(ctx: &mut ObjectContext<'_, '_>) {
    if BUDGET_FIELDS
        .iter()
        .all(|key| get_non_null(ctx.node, key).is_some())
    {
        ctx.report(
            [Step::from("maxUnavailable")],
            |path| format!("`{path}` cannot be combined with `minAvailable`"),
            "remove one of the two",
        );
    }
    for key in BUDGET_FIELDS {
        let problem = match get_non_null(ctx.node, key).map(parse_value) {
            Some(ParsedValue::Integer(number)) if number < 0 => number.to_string(),
            Some(ParsedValue::Text(percentage))
                if parse_percent(percentage).is_none_or(|it| it > 100) =>
            {
                percentage.to_owned()
            }
            _ => continue,
        };
        // A quoted number is a string, and strings are percentages.
        let is_number = problem.parse::<u32>().is_ok();
        ctx.report(
            [Step::from(key)],
            |path| format!("`{path}` is `{problem}`, but must be a number or a percentage of pods"),
            if is_number {
                format!("write `{problem}`, without quotes, or `{problem}%`")
            } else {
                "write a number such as 1, or a percentage such as 25%".to_owned()
            },
        );
    }
}
