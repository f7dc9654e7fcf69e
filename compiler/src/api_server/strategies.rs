//! How objects replace their pods, and which pods they take for theirs.

use super::Here;
use super::counts::{percent, share};
use super::place::Step;
use super::read::{Read, get, read, text, whole};
use crate::check::cron::{is_time_zone, meant_zone, schedule_problem};
use crate::node::Node;

pub(super) fn look(here: &mut Here<'_, '_>) {
    match here.name {
        "RollingUpdateDeployment" | "RollingUpdateDaemonSet" => {
            shares(here);
            standstill(here);
        }
        "DeploymentStrategy" => rolling(here, "Recreate"),
        "StatefulSetUpdateStrategy" => rolling(here, "OnDelete"),
        "DeploymentSpec" => {
            selects(here);
            progress(here);
        }
        "StatefulSetSpec" | "DaemonSetSpec" | "ReplicaSetSpec" => selects(here),
        "CronJobSpec" => schedule(here),
        _ => {}
    }
}

const BOTH: [&str; 2] = ["maxSurge", "maxUnavailable"];

/// Source: kubernetes `pkg/apis/apps/validation/validation.go`, `ValidatePositiveIntOrPercent` and
/// `IsNotMoreThan100Percent`.
fn shares(here: &mut Here<'_, '_>) {
    for key in BOTH {
        let problem = match get(here.node, key).map(read) {
            Some(Read::Whole(number)) if number < 0 => number.to_string(),
            Some(Read::Text(share)) => match percent(share) {
                None => share.to_owned(),
                Some(part) if part > 100 && key == "maxUnavailable" => share.to_owned(),
                Some(_) => continue,
            },
            _ => continue,
        };
        here.refuse(
            [Step::from(key)],
            |path| {
                format!("`{path}` is `{problem}`, and has to be a number of pods or a part of them")
            },
            "write a number such as 1, or a part such as 25%",
        );
    }
}

/// Pods that may neither be more nor fewer are never replaced.
///
/// Source: kubernetes `pkg/apis/apps/validation/validation.go`, `ValidateRollingUpdateDeployment` and
/// `ValidateRollingUpdateDaemonSet`.
fn standstill(here: &mut Here<'_, '_>) {
    let [surge, unavailable] = BOTH.map(|key| share(here.node, key));
    let is_daemon = here.name == "RollingUpdateDaemonSet";
    let surge = surge.or(is_daemon
        .then_some(0)
        .filter(|_| get(here.node, "maxSurge").is_none()));
    if surge == Some(0) && unavailable == Some(0) {
        here.refuse(
            [Step::from("maxUnavailable")],
            |path| format!("`{path}` is 0, and `maxSurge` too: no pod could ever be replaced"),
            "write 1 or more for one of the two",
        );
    }
    let some = |share: Option<i128>| share.is_some_and(|share| share > 0);
    if is_daemon && some(surge) && (some(unavailable) || get(here.node, "maxUnavailable").is_none())
    {
        here.refuse(
            [Step::from("maxSurge")],
            |path| format!("`{path}` is more than 0, and `maxUnavailable` too"),
            "write `maxUnavailable: 0` beside it",
        );
    }
}

/// Source: kubernetes `pkg/apis/apps/validation/validation.go`, `ValidateDeploymentStrategy` and
/// `ValidateStatefulSetSpec`.
fn rolling(here: &mut Here<'_, '_>, other: &str) {
    if text(here.node, "type") == Some(other) && get(here.node, "rollingUpdate").is_some() {
        here.refuse(
            [Step::from("rollingUpdate")],
            |path| format!("`{path}` cannot be with `type: {other}`"),
            "remove it, or write `type: RollingUpdate`",
        );
    }
}

/// Sources: kubernetes `pkg/apis/apps/validation/validation.go`, `ValidateDeploymentSpec`;
/// `pkg/apis/apps/v1/defaults.go`, `SetDefaults_Deployment`.
fn progress(here: &mut Here<'_, '_>) {
    const DEADLINE: i128 = 600;
    let own = get(here.node, "progressDeadlineSeconds");
    let deadline = whole(here.node, "progressDeadlineSeconds");
    let ready = whole(here.node, "minReadySeconds").unwrap_or(0);
    if own.is_none() && ready >= DEADLINE && here.is_whole {
        here.refuse(
            [Step::from("minReadySeconds")],
            |path| format!("`{path}` is {ready}, and a `progressDeadlineSeconds`, which is {DEADLINE}, has to be more"),
            format!("write a `progressDeadlineSeconds` of more than {ready} beside it"),
        );
    }
    if let Some(deadline) = deadline.filter(|it| *it >= 0 && *it <= ready) {
        here.refuse(
            [Step::from("progressDeadlineSeconds")],
            |path| format!("`{path}` is {deadline}, and has to be more than `minReadySeconds`"),
            format!("write more than {ready}"),
        );
    }
}

/// Source: kubernetes `pkg/apis/batch/validation/validation.go`, `validateScheduleFormat` and `validateTimeZone`. What
/// never comes is taken, and does nothing.
fn schedule(here: &mut Here<'_, '_>) {
    if let Some((problem, help)) = text(here.node, "schedule").and_then(schedule_problem) {
        here.refuse(
            [Step::from("schedule")],
            |path| format!("`{path}`: {problem}"),
            help,
        );
    }
    let zone = text(here.node, "timeZone");
    if let Some(zone) = zone.filter(|zone| !is_time_zone(zone)) {
        here.refuse(
            [Step::from("timeZone")],
            |path| format!("`{path}` is `{zone}`, which is no time zone"),
            meant_zone(zone).map_or_else(
                || "write a name such as `Europe/Berlin`".to_owned(),
                |meant| format!("did you mean `{meant}`?"),
            ),
        );
        here.meant(meant_zone(zone));
    }
}

/// The API server refuses what makes pods that it does not select.
///
/// Source: kubernetes `pkg/apis/apps/validation/validation.go`, `ValidateDeploymentSpec` and its like.
pub(super) fn selects(here: &mut Here<'_, '_>) {
    let Some(selector) = get(here.node, "selector") else {
        return;
    };
    let template = here.node.get("template");
    if template.is_none() {
        return;
    }
    let labels = template
        .and_then(|it| it.get("metadata"))
        .and_then(|it| it.get("labels"));
    // Labels that a program fills in, or a kustomization adds, may be any.
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
        here.refuse(
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
    here.refuse(
        below(way),
        |path| {
            let path = path.split_once(".match").map_or(path, |it| it.0);
            format!("`{path}` does not select the pods of its own template, by `{key}`")
        },
        HELP,
    );
}

const HELP: &str = "write the same labels in the selector and in the template's `metadata.labels`";

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
        // Other words are refused where they stand.
        _ => true,
    }
}
