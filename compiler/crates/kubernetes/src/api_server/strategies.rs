//! Update strategies and selectors of workloads.

use gpuc_syntax::node::Node;

use super::ObjectContext;
use super::field_path::Step;
use super::ranges::{int_or_percent, parse_percent};
use super::scalar::{ParsedValue, get_integer, get_non_null, get_text, parse_value};
use crate::cron::{closest_time_zone, is_time_zone, schedule_problem};

pub(super) fn validate(ctx: &mut ObjectContext<'_, '_>) {
    match ctx.type_name {
        "RollingUpdateDeployment" | "RollingUpdateDaemonSet" => {
            check_int_or_percent(ctx);
            check_rolling_update_progress(ctx);
        }
        "DeploymentStrategy" => check_strategy_type(ctx, "Recreate"),
        "StatefulSetUpdateStrategy" => check_strategy_type(ctx, "OnDelete"),
        "DeploymentSpec" => {
            check_selector_matches_template(ctx);
            check_progress_deadline(ctx);
        }
        "StatefulSetSpec" | "DaemonSetSpec" | "ReplicaSetSpec" => {
            check_selector_matches_template(ctx);
        }
        "CronJobSpec" => check_schedule(ctx),
        _ => {}
    }
}

const ROLLING_UPDATE_FIELDS: [&str; 2] = ["maxSurge", "maxUnavailable"];

/// Source: kubernetes `pkg/apis/apps/validation/validation.go`, `ValidatePositiveIntOrPercent` and
/// `IsNotMoreThan100Percent`.
fn check_int_or_percent(ctx: &mut ObjectContext<'_, '_>) {
    for key in ROLLING_UPDATE_FIELDS {
        let problem = match get_non_null(ctx.node, key).map(parse_value) {
            Some(ParsedValue::Integer(number)) if number < 0 => number.to_string(),
            Some(ParsedValue::Text(percentage)) => match parse_percent(percentage) {
                None => percentage.to_owned(),
                Some(percent) if percent > 100 && key == "maxUnavailable" => percentage.to_owned(),
                Some(_) => continue,
            },
            _ => continue,
        };
        ctx.report(
            [Step::from(key)],
            |path| format!("`{path}` is `{problem}`, but must be a number or a percentage of pods"),
            "write a number such as 1, or a percentage such as 25%",
        );
    }
}

/// Without surge and unavailability, no pod can be replaced.
///
/// Source: kubernetes `pkg/apis/apps/validation/validation.go`, `ValidateRollingUpdateDeployment` and
/// `ValidateRollingUpdateDaemonSet`.
fn check_rolling_update_progress(ctx: &mut ObjectContext<'_, '_>) {
    let [surge, unavailable] = ROLLING_UPDATE_FIELDS.map(|key| int_or_percent(ctx.node, key));
    let is_daemon = ctx.type_name == "RollingUpdateDaemonSet";
    let surge = surge.or(is_daemon
        .then_some(0)
        .filter(|_| get_non_null(ctx.node, "maxSurge").is_none()));
    if surge == Some(0) && unavailable == Some(0) {
        ctx.report(
            [Step::from("maxUnavailable")],
            |path| format!("`{path}` and `maxSurge` are both 0, so no pod can be replaced"),
            "write 1 or more for one of the two",
        );
    }
    let is_positive = |amount: Option<i128>| amount.is_some_and(|amount| amount > 0);
    if is_daemon
        && is_positive(surge)
        && (is_positive(unavailable) || get_non_null(ctx.node, "maxUnavailable").is_none())
    {
        ctx.report(
            [Step::from("maxSurge")],
            |path| format!("`{path}` and `maxUnavailable` are both more than 0"),
            "set `maxUnavailable: 0`",
        );
    }
}

/// Source: kubernetes `pkg/apis/apps/validation/validation.go`, `ValidateDeploymentStrategy` and
/// `ValidateStatefulSetSpec`.
fn check_strategy_type(ctx: &mut ObjectContext<'_, '_>, other: &str) {
    if get_text(ctx.node, "type") == Some(other)
        && get_non_null(ctx.node, "rollingUpdate").is_some()
    {
        ctx.report(
            [Step::from("rollingUpdate")],
            |path| format!("`{path}` cannot be combined with `type: {other}`"),
            "remove it, or write `type: RollingUpdate`",
        );
    }
}

/// Sources: kubernetes `pkg/apis/apps/validation/validation.go`, `ValidateDeploymentSpec`;
/// `pkg/apis/apps/v1/defaults.go`, `SetDefaults_Deployment`.
fn check_progress_deadline(ctx: &mut ObjectContext<'_, '_>) {
    const DEADLINE: i128 = 600;
    let own = get_non_null(ctx.node, "progressDeadlineSeconds");
    let deadline = get_integer(ctx.node, "progressDeadlineSeconds");
    let ready = get_integer(ctx.node, "minReadySeconds").unwrap_or(0);
    if own.is_none() && ready >= DEADLINE && ctx.is_complete {
        ctx.report(
            [Step::from("minReadySeconds")],
            |path| format!("`{path}` is {ready}, but must be less than `progressDeadlineSeconds`, which is {DEADLINE}"),
            format!("set `progressDeadlineSeconds` to more than {ready}"),
        );
    }
    if let Some(deadline) = deadline.filter(|it| *it >= 0 && *it <= ready) {
        ctx.report(
            [Step::from("progressDeadlineSeconds")],
            |path| format!("`{path}` is {deadline}, but must be more than `minReadySeconds`"),
            format!("write more than {ready}"),
        );
    }
}

/// Source: kubernetes `pkg/apis/batch/validation/validation.go`, `validateScheduleFormat` and `validateTimeZone`. What
/// never comes is taken, and does nothing.
fn check_schedule(ctx: &mut ObjectContext<'_, '_>) {
    if let Some((problem, help)) = get_text(ctx.node, "schedule").and_then(schedule_problem) {
        ctx.report(
            [Step::from("schedule")],
            |path| format!("`{path}`: {problem}"),
            help,
        );
    }
    let zone = get_text(ctx.node, "timeZone");
    if let Some(zone) = zone.filter(|zone| !is_time_zone(zone)) {
        ctx.report(
            [Step::from("timeZone")],
            |path| format!("`{path}` is `{zone}`, which is not a valid time zone"),
            closest_time_zone(zone).map_or_else(
                || "write a name such as `Europe/Berlin`".to_owned(),
                |meant| format!("did you mean `{meant}`?"),
            ),
        );
        ctx.suggest(closest_time_zone(zone));
    }
}

/// The API server rejects a workload whose selector does not match its pod template.
///
/// Source: kubernetes `pkg/apis/apps/validation/validation.go`, `ValidateDeploymentSpec` and its like.
pub(super) fn check_selector_matches_template(ctx: &mut ObjectContext<'_, '_>) {
    let Some(selector) = get_non_null(ctx.node, "selector") else {
        return;
    };
    let template = ctx.node.get("template");
    if template.is_none() {
        return;
    }
    let labels = template
        .and_then(|it| it.get("metadata"))
        .and_then(|it| it.get("labels"));
    // Labels that are filled in later or added by a kustomization are unknown.
    let entries = labels.map_or(&[][..], Node::entries);
    let is_open = |node: &Node| parse_value(node) == ParsedValue::Templated;
    if entries
        .iter()
        .any(|it| is_open(&it.value) || it.key.contains("{{"))
        || is_open(selector)
    {
        return;
    }
    let label_value = |key: &str| {
        labels
            .and_then(|labels| labels.get(key))
            .and_then(Node::text)
    };
    let equal = selector.get("matchLabels").map_or(&[][..], Node::entries);
    let mismatch = equal.iter().find(|entry| {
        !is_open(&entry.value)
            && !entry.key.contains("{{")
            && entry.value.text() != label_value(&entry.key)
    });
    let terms = selector
        .get("matchExpressions")
        .map_or(&[][..], Node::items);
    let term = terms
        .iter()
        .position(|term| !is_term_satisfied(term, label_value));
    let below = |rest: Vec<Step>| [vec![Step::from("selector")], rest].concat();
    if equal.is_empty() && terms.is_empty() {
        ctx.report(
            below(Vec::new()),
            |path| format!("`{path}` selects nothing"),
            SELECTOR_HELP,
        );
        return;
    }
    let (key, key_path) = match (mismatch, term) {
        (Some(entry), _) => (
            entry.key.clone(),
            vec!["matchLabels".into(), entry.key.as_str().into()],
        ),
        (None, Some(index)) => {
            let key = get_text(&terms[index], "key").unwrap_or_default();
            (
                key.to_owned(),
                vec!["matchExpressions".into(), index.into()],
            )
        }
        (None, None) => return,
    };
    ctx.report(
        below(key_path),
        |path| {
            let path = path.split_once(".match").map_or(path, |it| it.0);
            format!("`{path}` does not match the labels of its own pod template: `{key}`")
        },
        SELECTOR_HELP,
    );
}

const SELECTOR_HELP: &str =
    "use the same labels in the selector and in the template's `metadata.labels`";

fn is_term_satisfied<'n>(term: &'n Node, label_value: impl Fn(&str) -> Option<&'n str>) -> bool {
    let key = get_text(term, "key").unwrap_or_default();
    let values = term.get("values").map_or(&[][..], Node::items);
    let contains_value = |own| values.iter().any(|value| value.text() == Some(own));
    let is_open = values
        .iter()
        .any(|value| parse_value(value) == ParsedValue::Templated);
    match (get_text(term, "operator"), label_value(key)) {
        _ if is_open => true,
        (Some("In"), own) => own.is_some_and(contains_value),
        (Some("NotIn"), own) => !own.is_some_and(contains_value),
        (Some("Exists"), own) => own.is_some(),
        (Some("DoesNotExist"), own) => own.is_none(),
        // Other values are reported by the enumeration rule.
        _ => true,
    }
}
