//! Checks CPU, memory and pods against the quota of a namespace, and each container against the team's limits.

use gpuc_model::scheduling::{Defaults, Demand, What, limits, thousandths_of};
use gpuc_model::{Amounts, Team};
use gpuc_schema::Span;
use gpuc_syntax::diag::Report;
use gpuc_syntax::node::Entry;

use super::{Kind, RULE, job_over_quota};
use crate::scheduling::is_queued;
use crate::services::Count;
use crate::{Container, Pod, Scene, jobs};

/// Checks the total requests of an object's pods.
pub(super) fn check_pods(
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
        let (each, request) = match limit.what {
            What::Cpu => (demand.cpu.map(|it| it.value), demand.cpu),
            What::Memory => (demand.memory.map(|it| it.value), demand.memory),
            What::Pods => (Some(1), None),
            What::Device(_) | What::Storage => continue,
        };
        let Some(each) = each else {
            continue;
        };
        let all = each.saturating_mul(copies.pods);
        // Under the ResourceQuota of a namespace, the pods of a Job may run one after the other.
        let is_alone = limit.namespace.is_some() || !is_queued(scene.cluster, pod);
        let in_turn = is_alone && is_job && each <= limit.has;
        if all <= limit.has || Kind::from_in_turn(in_turn) != kind {
            continue;
        }
        let total = match &limit.what {
            what if *what == What::Pods || copies.pods == 1 => what.words(all),
            what => format!(
                "{} pods with {} each need {}",
                copies.pods,
                what.words(each),
                what.words(all)
            ),
        };
        let message = format!("{} {}: {total}", pod.title(), kind.problem());
        let written = request.filter(|it| !it.is_given).map(|it| it.span);
        let span = written.or(copies.span).unwrap_or(containers.span());
        let mut builder = report.diagnostic(kind.code(), span, message);
        if let Some(default) = request.filter(|it| it.is_given) {
            let text = "the default for the team's containers without a request";
            builder = builder.label(default.span, text);
        }
        let quota = limit.what.words(limit.has);
        builder
            .label(limit.span, format!("the quota of the team is {quota}"))
            .help(match kind {
                Kind::Never => "request less, or raise the team's quota",
                Kind::InTurn => job_over_quota::HELP,
            })
            .emit();
    }
}

/// Checks the requests and limits of each container. An unset limit is the team's `default`, or else its `max`.
///
/// Source: `PodValidateLimitFunc` in kubernetes `plugin/pkg/admission/limitranger/admission.go` (from memory).
pub(super) fn check_containers(scene: &Scene<'_>, pod: &Pod<'_>, report: &mut Report) {
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
            let target = Target {
                pod,
                container,
                team,
            };
            check_resource(&target, key, words, report);
        }
    }
}

/// A container with its pod and team.
struct Target<'s> {
    pod: &'s Pod<'s>,
    container: &'s Container<'s>,
    team: &'s Team,
}

/// Checks one resource of a container. `words` parses and formats a quantity.
fn check_resource(
    target: &Target<'_>,
    key: &str,
    words: impl Fn(&Entry) -> Option<(u64, String, Span)>,
    report: &mut Report,
) {
    let Target {
        pod,
        container,
        team,
    } = *target;
    let named = |list: &'static str| container.list(list).iter().find(|it| it.key == key);
    let (request, limit) = (named("requests"), named("limits"));
    let ranges = team.limits.as_ref();
    let max = ranges.and_then(|it| quantity(it.max.as_ref(), key));
    let default = ranges.and_then(|it| quantity(it.default.as_ref(), key));
    let title = pod.title();
    let name = container.name();
    let requested = limit.or(request).and_then(&words);
    if let Some(((amount, words, span), (max, max_span))) = requested.zip(max)
        && amount > max
    {
        let message =
            format!("{title} exceeds the limit of its team per container: {words} for `{name}`");
        let builder = report.diagnostic(&RULE.code, span, message);
        let text = format!("the maximum per container of team `{}`", team.name);
        builder
            .label(max_span, text)
            .help("request less, or raise the team's `limits.max`")
            .emit();
        return;
    }
    let requested = request.filter(|_| limit.is_none()).and_then(&words);
    if let Some(((amount, words, span), (default, default_span))) = requested.zip(default)
        && amount > default
    {
        let message = format!("{title} requests {words} for `{name}`, more than the default limit");
        let builder = report.diagnostic(&RULE.code, span, message);
        builder
            .label(default_span, "the limit of containers without one")
            .help("set a limit for the container that is not below its request")
            .emit();
    }
}

/// A quantity in a team's limits, in thousandths, with its span.
fn quantity(amounts: Option<&Amounts>, key: &str) -> Option<(u64, Span)> {
    let amounts = amounts?;
    let quantity = match key {
        "cpu" => amounts.cpu.as_ref()?,
        _ => amounts.memory.as_ref()?,
    };
    Some((quantity.thousandths()?, quantity.span))
}
