//! How many pods there may be: autoscalers, and budgets of how many may be missing.

use super::Here;
use super::counts::percent;
use super::place::Step;
use super::read::{Read, get, items, read, text, whole};

pub(super) fn look(here: &mut Here<'_, '_>) {
    match here.name {
        "HorizontalPodAutoscalerSpec" | "v1.HorizontalPodAutoscalerSpec" => {
            range(here);
            zero(here);
        }
        "MetricSpec" => source(here),
        "MetricTarget" => target(here),
        "PodDisruptionBudgetSpec" => budget(here),
        _ => {}
    }
}

/// Source: kubernetes `pkg/apis/autoscaling/validation/validation.go`, `validateHorizontalPodAutoscalerSpec`.
fn range(here: &mut Here<'_, '_>) {
    let (least, most) = (
        whole(here.node, "minReplicas"),
        whole(here.node, "maxReplicas"),
    );
    if let Some((least, most)) = least.zip(most).filter(|(least, most)| least > most)
        && most > 0
    {
        here.refuse(
            [Step::from("maxReplicas")],
            |path| format!("`{path}` is {most}, and `minReplicas` is {least}"),
            format!("write {least} or more, or a lower `minReplicas`"),
        );
    }
}

/// No pods at all can only be told apart from many by what is measured elsewhere.
///
/// Source: kubernetes `pkg/apis/autoscaling/validation/validation.go`, `validateMetrics`.
fn zero(here: &mut Here<'_, '_>) {
    let mut metrics = items(here.node, "metrics");
    let elsewhere = ["Object", "External"];
    let is_elsewhere = metrics.any(|(_, metric)| match metric.get("type").map(read) {
        Some(Read::Text(kind)) => elsewhere.contains(&kind),
        Some(Read::Open) => true,
        _ => false,
    });
    if whole(here.node, "minReplicas") == Some(0) && !is_elsewhere {
        here.refuse(
            [Step::from("minReplicas")],
            |path| format!("`{path}` is 0, and no metric of type `Object` or `External` is there"),
            "write 1 or more",
        );
    }
}

/// The kinds of metrics, each with the key that says which one.
const SOURCES: &[(&str, &str)] = &[
    ("ContainerResource", "containerResource"),
    ("External", "external"),
    ("Object", "object"),
    ("Pods", "pods"),
    ("Resource", "resource"),
];

/// Source: kubernetes `pkg/apis/autoscaling/validation/validation.go`, `validateMetricSpec`.
fn source(here: &mut Here<'_, '_>) {
    let kind = text(here.node, "type");
    let Some((kind, own)) = SOURCES.iter().find(|it| Some(it.0) == kind) else {
        return;
    };
    if here.is_whole && get(here.node, own).is_none() {
        here.refuse(
            [Step::from("type")],
            |path| format!("`{path}` is `{kind}`, and no `{own}` is beside it"),
            format!("write `{own}`, or the type of what is there"),
        );
    }
    for (_, other) in SOURCES.iter().filter(|it| it.1 != *own) {
        if get(here.node, other).is_some() {
            here.refuse(
                [Step::from(*other)],
                |path| format!("`{path}` cannot be with `type: {kind}`"),
                "remove it, or make it a metric of its own",
            );
        }
    }
}

/// Source: kubernetes `pkg/apis/autoscaling/validation/validation.go`, `validateResourceSource`,
/// `validateContainerResourceSource`, `validatePodsSource`, `validateObjectSource` and `validateExternalSource`.
fn target(here: &mut Here<'_, '_>) {
    let has = |key: &str| get(here.node, key).is_some();
    let of = here.above.last().map_or("", |it| it.0);
    let of = of.trim_end_matches("MetricSource");
    let may_be: &[&str] = match of {
        "Resource" | "ContainerResource" => &["averageUtilization", "averageValue"],
        "Pods" => &["averageValue"],
        "Object" | "External" => &["value", "averageValue"],
        _ => return,
    };
    let there: Vec<_> = may_be.iter().filter(|key| has(key)).collect();
    if there.is_empty() && here.is_whole {
        let all = crate::diag::words::all(may_be, "or");
        here.refuse(
            [],
            |path| format!("`{path}` has no {all}"),
            format!("write {all}"),
        );
    }
    if there.len() > 1 && of != "Object" {
        here.refuse(
            [Step::from("averageValue")],
            |path| format!("`{path}` cannot be with `{}`", may_be[0]),
            "remove one of the two",
        );
    }
}

const BOTH: [&str; 2] = ["minAvailable", "maxUnavailable"];

/// Source: kubernetes `pkg/apis/policy/validation/validation.go`, `ValidatePodDisruptionBudgetSpec`.
fn budget(here: &mut Here<'_, '_>) {
    if BOTH.iter().all(|key| get(here.node, key).is_some()) {
        here.refuse(
            [Step::from("maxUnavailable")],
            |path| format!("`{path}` cannot be with `minAvailable`"),
            "remove one of the two",
        );
    }
    for key in BOTH {
        let problem = match get(here.node, key).map(read) {
            Some(Read::Whole(number)) if number < 0 => number.to_string(),
            Some(Read::Text(share)) if percent(share).is_none_or(|it| it > 100) => share.to_owned(),
            _ => continue,
        };
        // A number in quotes is text, and text is a part.
        let is_number = problem.parse::<u32>().is_ok();
        here.refuse(
            [Step::from(key)],
            |path| {
                format!("`{path}` is `{problem}`, and has to be a number of pods or a part of them")
            },
            if is_number {
                format!("write `{problem}`, without quotes, or `{problem}%`")
            } else {
                "write a number such as 1, or a part such as 25%".to_owned()
            },
        );
    }
}
