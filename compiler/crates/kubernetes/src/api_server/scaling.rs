//! Horizontal pod autoscalers and pod disruption budgets.

use super::ObjectContext;
use super::counts::percent;
use super::field_path::Step;
use super::scalar::{Read, get, items, read, text, whole};

pub(super) fn validate(ctx: &mut ObjectContext<'_, '_>) {
    match ctx.name {
        "HorizontalPodAutoscalerSpec" | "v1.HorizontalPodAutoscalerSpec" => {
            range(ctx);
            zero(ctx);
        }
        "MetricSpec" => source(ctx),
        "MetricTarget" => target(ctx),
        "PodDisruptionBudgetSpec" => budget(ctx),
        _ => {}
    }
}

/// Source: kubernetes `pkg/apis/autoscaling/validation/validation.go`, `validateHorizontalPodAutoscalerSpec`.
fn range(ctx: &mut ObjectContext<'_, '_>) {
    let (least, most) = (
        whole(ctx.node, "minReplicas"),
        whole(ctx.node, "maxReplicas"),
    );
    if let Some((least, most)) = least.zip(most).filter(|(least, most)| least > most)
        && most > 0
    {
        ctx.refuse(
            [Step::from("maxReplicas")],
            |path| format!("`{path}` is {most}, and `minReplicas` is {least}"),
            format!("write {least} or more, or a lower `minReplicas`"),
        );
    }
}

/// Scaling to zero requires a metric that is not measured on the pods.
///
/// Source: kubernetes `pkg/apis/autoscaling/validation/validation.go`, `validateMetrics`.
fn zero(ctx: &mut ObjectContext<'_, '_>) {
    let mut metrics = items(ctx.node, "metrics");
    let elsewhere = ["Object", "External"];
    let is_elsewhere = metrics.any(|(_, metric)| match metric.get("type").map(read) {
        Some(Read::Text(kind)) => elsewhere.contains(&kind),
        Some(Read::Open) => true,
        _ => false,
    });
    if whole(ctx.node, "minReplicas") == Some(0) && !is_elsewhere {
        ctx.refuse(
            [Step::from("minReplicas")],
            |path| format!("`{path}` is 0, but there is no metric of type `Object` or `External`"),
            "write 1 or more",
        );
    }
}

/// The metric types, each with the key of its source.
const SOURCES: &[(&str, &str)] = &[
    ("ContainerResource", "containerResource"),
    ("External", "external"),
    ("Object", "object"),
    ("Pods", "pods"),
    ("Resource", "resource"),
];

/// Source: kubernetes `pkg/apis/autoscaling/validation/validation.go`, `validateMetricSpec`.
fn source(ctx: &mut ObjectContext<'_, '_>) {
    let kind = text(ctx.node, "type");
    let Some((kind, own)) = SOURCES.iter().find(|it| Some(it.0) == kind) else {
        return;
    };
    if ctx.is_whole && get(ctx.node, own).is_none() {
        ctx.refuse(
            [Step::from("type")],
            |path| format!("`{path}` is `{kind}`, but `{own}` is not set"),
            format!("write `{own}`, or change the type"),
        );
    }
    for (_, other) in SOURCES.iter().filter(|it| it.1 != *own) {
        if get(ctx.node, other).is_some() {
            ctx.refuse(
                [Step::from(*other)],
                |path| format!("`{path}` cannot be combined with `type: {kind}`"),
                "remove it, or make it a separate metric",
            );
        }
    }
}

/// Source: kubernetes `pkg/apis/autoscaling/validation/validation.go`, `validateResourceSource`,
/// `validateContainerResourceSource`, `validatePodsSource`, `validateObjectSource` and `validateExternalSource`.
fn target(ctx: &mut ObjectContext<'_, '_>) {
    let has = |key: &str| get(ctx.node, key).is_some();
    let parent = ctx.above.last().map_or("", |(name, _)| *name);
    let metric_type = parent.trim_end_matches("MetricSource");
    let allowed: &[&str] = match metric_type {
        "Resource" | "ContainerResource" => &["averageUtilization", "averageValue"],
        "Pods" => &["averageValue"],
        "Object" | "External" => &["value", "averageValue"],
        _ => return,
    };
    let present: Vec<_> = allowed.iter().filter(|key| has(key)).collect();
    if present.is_empty() && ctx.is_whole {
        let all = gpuc_syntax::diag::words::all(allowed, "or");
        ctx.refuse(
            [],
            |path| format!("`{path}` has no {all}"),
            format!("write {all}"),
        );
    }
    if present.len() > 1 && metric_type != "Object" {
        ctx.refuse(
            [Step::from("averageValue")],
            |path| format!("`{path}` cannot be combined with `{}`", allowed[0]),
            "remove one of the two",
        );
    }
}

const BOTH: [&str; 2] = ["minAvailable", "maxUnavailable"];

/// Source: kubernetes `pkg/apis/policy/validation/validation.go`, `ValidatePodDisruptionBudgetSpec`.
fn budget(ctx: &mut ObjectContext<'_, '_>) {
    if BOTH.iter().all(|key| get(ctx.node, key).is_some()) {
        ctx.refuse(
            [Step::from("maxUnavailable")],
            |path| format!("`{path}` cannot be combined with `minAvailable`"),
            "remove one of the two",
        );
    }
    for key in BOTH {
        let problem = match get(ctx.node, key).map(read) {
            Some(Read::Whole(number)) if number < 0 => number.to_string(),
            Some(Read::Text(share)) if percent(share).is_none_or(|it| it > 100) => share.to_owned(),
            _ => continue,
        };
        // A quoted number is a string, and strings are percentages.
        let is_number = problem.parse::<u32>().is_ok();
        ctx.refuse(
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
