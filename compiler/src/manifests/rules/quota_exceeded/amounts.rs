//! CPU, memory and pods against the quota of a namespace, and each container against its `LimitRange`.

use gpuc_schema::config::{Amounts, Quantity};
use gpuc_schema::{Span, Spanned};

use super::{Kind, RULE, job_over_quota};
use crate::diag::Report;
use crate::manifests::place::is_queued;
use crate::manifests::services::Count;
use crate::manifests::{Container, Pod, Scene, jobs};
use crate::model::Team;
use crate::node::Entry;
use crate::placement::{Defaults, Demand, What, limits, thousandths_of};

/// What all pods of an object ask for together.
pub(super) fn of_pods(
    scene: &Scene<'_>,
    pod: &Pod<'_>,
    copies: Count,
    kind: Kind,
    report: &mut Report,
) {
    let namespace = pod.object.namespace.as_deref().unwrap_or_default();
    let Some((team, _)) = scene.cluster.team_of(namespace) else {
        return;
    };
    let whole = pod.spec.get("containers");
    let Some(containers) = whole.filter(|_| !pod.is_open && !pod.is_of_nodes()) else {
        return;
    };
    let is_job = jobs::spec(pod.object).is_some();
    let demand = Demand::of_pod(pod.spec, &Defaults::of(scene.cluster, namespace));
    let limits = limits(scene.cluster, team).into_iter();
    for limit in limits.filter(|it| it.namespace.is_none_or(|it| it == namespace)) {
        let (each, place) = match limit.what {
            What::Cpu => (demand.cpu.map(|it| it.value), demand.cpu),
            What::Memory => (demand.memory.map(|it| it.value), demand.memory),
            What::Pods => (Some(1), None),
            What::Device(_) | What::Storage => continue,
        };
        let Some(each) = each else {
            continue;
        };
        let all = each.saturating_mul(copies.pods);
        // Beside a queue, a quota of a namespace lets a Job's pods come one after the other.
        let is_alone = limit.namespace.is_some() || !is_queued(scene.cluster, pod);
        let in_turn = is_alone && is_job && each <= limit.has;
        if all <= limit.has || Kind::of(in_turn) != kind {
            continue;
        }
        let (what, words) = (&limit.what, limit.what.words(all));
        let what = match what {
            What::Pods => words,
            _ if copies.pods == 1 => words,
            what => format!(
                "{} pods with {} each are {words}",
                copies.pods,
                what.words(each)
            ),
        };
        let message = format!("{} {}: {what}", pod.title(), kind.says());
        let written = place.filter(|it| !it.is_given).map(|it| it.span);
        let span = written.or(copies.span).unwrap_or(containers.span());
        let mut draft = report.draft(kind.code(), span, message);
        if let Some(given) = place.filter(|it| it.is_given) {
            let why = "a container of the team is given so much that says nothing";
            draft = draft.label(given.span, why);
        }
        let has = limit.what.words(limit.has);
        draft
            .label(limit.span, format!("the team may have {has} at most"))
            .help(match kind {
                Kind::Never => "ask for less, or raise the team's quota",
                Kind::InTurn => job_over_quota::HELP,
            })
            .emit();
    }
}

/// What each container asks for and may use. A limit that it does not say is the team's `default`, or else its `max`.
///
/// Source: `PodValidateLimitFunc` in kubernetes `plugin/pkg/admission/limitranger/admission.go` (from memory).
pub(super) fn of_containers(scene: &Scene<'_>, pod: &Pod<'_>, report: &mut Report) {
    let namespace = pod.object.namespace.as_deref();
    let Some((team, _)) = namespace.and_then(|it| scene.cluster.team_of(it)) else {
        return;
    };
    for container in &pod.containers {
        for (key, what, unit) in [("cpu", What::Cpu, 1), ("memory", What::Memory, 1000)] {
            let words = |entry: &Entry| {
                let amount = thousandths_of(&entry.value)?;
                Some((
                    amount,
                    what.words(amount.div_ceil(unit)),
                    entry.value.span(),
                ))
            };
            look((pod, container, team), key, words, report);
        }
    }
}

fn look(
    (pod, container, team): (&Pod<'_>, &Container<'_>, &Team),
    key: &str,
    words: impl Fn(&Entry) -> Option<(u64, String, Span)>,
    report: &mut Report,
) {
    let named = |list: &'static str| container.list(list).iter().find(|it| it.key == key);
    let (request, limit) = (named("requests"), named("limits"));
    let ranges = team.written.limits.as_ref();
    let most = ranges.and_then(|it| of(it.max.as_ref(), key));
    let default = ranges.and_then(|it| of(it.default.as_ref(), key));
    let title = pod.title();
    let name = container.name();
    let asked = limit.or(request).and_then(&words);
    if let Some(((amount, words, span), (most, place))) = asked.zip(most)
        && amount > most
    {
        let message = format!(
            "{title} asks for more than a container of its team may have: {words} for `{name}`"
        );
        let draft = report.draft(&RULE.code, span, message);
        let of = &team.name;
        draft
            .label(
                place,
                format!("the most that a container of team `{of}` may have"),
            )
            .help("ask for less, or raise the team's `limits.max`")
            .emit();
        return;
    }
    let asked = request.filter(|_| limit.is_none()).and_then(&words);
    if let Some(((amount, words, span), (default, place))) = asked.zip(default)
        && amount > default
    {
        let message =
            format!("{title} asks for {words} for `{name}`, which is given a lower limit");
        let draft = report.draft(&RULE.code, span, message);
        draft
            .label(place, "the limit of a container that says none")
            .help("write a limit of the container, no less than its request")
            .emit();
    }
}

/// An amount that a team says for its containers, in thousandths, and where.
fn of(amounts: Option<&Amounts>, key: &str) -> Option<(u64, Span)> {
    let amounts = amounts?;
    let written: Option<&Spanned<Quantity>> = match key {
        "cpu" => amounts.cpu.as_ref(),
        _ => amounts.memory.as_ref(),
    };
    Some((written?.thousandths()?, written?.span))
}
