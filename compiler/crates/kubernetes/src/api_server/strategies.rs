//! Update strategies and selectors of workloads.

use gpuc_syntax::node::Node;

use super::ObjectContext;
use super::counts::{percent, share};
use super::field_path::Step;
use super::scalar::{Read, get, read, text, whole};
use crate::cron::{is_time_zone, meant_zone, schedule_problem};

pub(super) fn validate(ctx: &mut ObjectContext<'_, '_>) {
    match ctx.name {
        "RollingUpdateDeployment" | "RollingUpdateDaemonSet" => {
            shares(ctx);
            standstill(ctx);
        }
        "DeploymentStrategy" => rolling(ctx, "Recreate"),
        "StatefulSetUpdateStrategy" => rolling(ctx, "OnDelete"),
        "DeploymentSpec" => {
            selects(ctx);
            progress(ctx);
        }
        "StatefulSetSpec" | "DaemonSetSpec" | "ReplicaSetSpec" => selects(ctx),
        "CronJobSpec" => schedule(ctx),
        _ => {}
    }
}

const BOTH: [&str; 2] = ["maxSurge", "maxUnavailable"];

/// Source: kubernetes `pkg/apis/apps/validation/validation.go`, `ValidatePositiveIntOrPercent` and
/// `IsNotMoreThan100Percent`.
fn shares(ctx: &mut ObjectContext<'_, '_>) {
    for key in BOTH {
        let problem = match get(ctx.node, key).map(read) {
            Some(Read::Whole(number)) if number < 0 => number.to_string(),
            Some(Read::Text(share)) => match percent(share) {
                None => share.to_owned(),
                Some(part) if part > 100 && key == "maxUnavailable" => share.to_owned(),
                Some(_) => continue,
            },
            _ => continue,
        };
        ctx.refuse(
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
fn standstill(ctx: &mut ObjectContext<'_, '_>) {
    let [surge, unavailable] = BOTH.map(|key| share(ctx.node, key));
    let is_daemon = ctx.name == "RollingUpdateDaemonSet";
    let surge = surge.or(is_daemon
        .then_some(0)
        .filter(|_| get(ctx.node, "maxSurge").is_none()));
    if surge == Some(0) && unavailable == Some(0) {
        ctx.refuse(
            [Step::from("maxUnavailable")],
            |path| format!("`{path}` and `maxSurge` are both 0, so no pod can be replaced"),
            "write 1 or more for one of the two",
        );
    }
    let some = |share: Option<i128>| share.is_some_and(|share| share > 0);
    if is_daemon && some(surge) && (some(unavailable) || get(ctx.node, "maxUnavailable").is_none())
    {
        ctx.refuse(
            [Step::from("maxSurge")],
            |path| format!("`{path}` and `maxUnavailable` are both more than 0"),
            "set `maxUnavailable: 0`",
        );
    }
}

/// Source: kubernetes `pkg/apis/apps/validation/validation.go`, `ValidateDeploymentStrategy` and
/// `ValidateStatefulSetSpec`.
fn rolling(ctx: &mut ObjectContext<'_, '_>, other: &str) {
    if text(ctx.node, "type") == Some(other) && get(ctx.node, "rollingUpdate").is_some() {
        ctx.refuse(
            [Step::from("rollingUpdate")],
            |path| format!("`{path}` cannot be combined with `type: {other}`"),
            "remove it, or write `type: RollingUpdate`",
        );
    }
}

/// Sources: kubernetes `pkg/apis/apps/validation/validation.go`, `ValidateDeploymentSpec`;
/// `pkg/apis/apps/v1/defaults.go`, `SetDefaults_Deployment`.
fn progress(ctx: &mut ObjectContext<'_, '_>) {
    const DEADLINE: i128 = 600;
    let own = get(ctx.node, "progressDeadlineSeconds");
    let deadline = whole(ctx.node, "progressDeadlineSeconds");
    let ready = whole(ctx.node, "minReadySeconds").unwrap_or(0);
    if own.is_none() && ready >= DEADLINE && ctx.is_whole {
        ctx.refuse(
            [Step::from("minReadySeconds")],
            |path| format!("`{path}` is {ready}, but must be less than `progressDeadlineSeconds`, which is {DEADLINE}"),
            format!("write a `progressDeadlineSeconds` of more than {ready}"),
        );
    }
    if let Some(deadline) = deadline.filter(|it| *it >= 0 && *it <= ready) {
        ctx.refuse(
            [Step::from("progressDeadlineSeconds")],
            |path| format!("`{path}` is {deadline}, but must be more than `minReadySeconds`"),
            format!("write more than {ready}"),
        );
    }
}

/// Source: kubernetes `pkg/apis/batch/validation/validation.go`, `validateScheduleFormat` and `validateTimeZone`. What
/// never comes is taken, and does nothing.
fn schedule(ctx: &mut ObjectContext<'_, '_>) {
    if let Some((problem, help)) = text(ctx.node, "schedule").and_then(schedule_problem) {
        ctx.refuse(
            [Step::from("schedule")],
            |path| format!("`{path}`: {problem}"),
            help,
        );
    }
    let zone = text(ctx.node, "timeZone");
    if let Some(zone) = zone.filter(|zone| !is_time_zone(zone)) {
        ctx.refuse(
            [Step::from("timeZone")],
            |path| format!("`{path}` is `{zone}`, which is not a valid time zone"),
            meant_zone(zone).map_or_else(
                || "write a name such as `Europe/Berlin`".to_owned(),
                |meant| format!("did you mean `{meant}`?"),
            ),
        );
        ctx.meant(meant_zone(zone));
    }
}

/// The API server rejects a workload whose selector does not match its pod template.
///
/// Source: kubernetes `pkg/apis/apps/validation/validation.go`, `ValidateDeploymentSpec` and its like.
pub(super) fn selects(ctx: &mut ObjectContext<'_, '_>) {
    let Some(selector) = get(ctx.node, "selector") else {
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
    let is_open = |node: &Node| read(node) == Read::Open;
    if entries
        .iter()
        .any(|it| is_open(&it.value) || it.key.contains("{{"))
        || is_open(selector)
    {
        return;
    }
    let of = |key: &str| {
        labels
            .and_then(|labels| labels.get(key))
            .and_then(Node::text)
    };
    let equal = selector.get("matchLabels").map_or(&[][..], Node::entries);
    let unlike = equal.iter().find(|entry| {
        !is_open(&entry.value) && !entry.key.contains("{{") && entry.value.text() != of(&entry.key)
    });
    let terms = selector
        .get("matchExpressions")
        .map_or(&[][..], Node::items);
    let term = terms.iter().position(|term| !holds(term, of));
    let below = |rest: Vec<Step>| [vec![Step::from("selector")], rest].concat();
    if equal.is_empty() && terms.is_empty() {
        ctx.refuse(
            below(Vec::new()),
            |path| format!("`{path}` selects nothing"),
            HELP,
        );
        return;
    }
    let (key, way) = match (unlike, term) {
        (Some(entry), _) => (
            entry.key.clone(),
            vec!["matchLabels".into(), entry.key.as_str().into()],
        ),
        (None, Some(index)) => {
            let key = text(&terms[index], "key").unwrap_or_default();
            (
                key.to_owned(),
                vec!["matchExpressions".into(), index.into()],
            )
        }
        (None, None) => return,
    };
    ctx.refuse(
        below(way),
        |path| {
            let path = path.split_once(".match").map_or(path, |it| it.0);
            format!("`{path}` does not match the labels of its own pod template: `{key}`")
        },
        HELP,
    );
}

const HELP: &str = "use the same labels in the selector and in the template's `metadata.labels`";

fn holds<'n>(term: &'n Node, of: impl Fn(&str) -> Option<&'n str>) -> bool {
    let key = text(term, "key").unwrap_or_default();
    let values = term.get("values").map_or(&[][..], Node::items);
    let is_one = |own| values.iter().any(|value| value.text() == Some(own));
    let is_open = values.iter().any(|value| read(value) == Read::Open);
    match (text(term, "operator"), of(key)) {
        _ if is_open => true,
        (Some("In"), own) => own.is_some_and(is_one),
        (Some("NotIn"), own) => !own.is_some_and(is_one),
        (Some("Exists"), own) => own.is_some(),
        (Some("DoesNotExist"), own) => own.is_none(),
        // Other values are reported by the enumeration rule.
        _ => true,
    }
}
