//! Checks CPU, memory and pods against the quota of a namespace, and each container against the team's limits.

use gpuc_model::scheduling::{
    DefaultRequests, Demand, QuotaResource, resource_limits, thousandths_of_node,
};
use gpuc_model::{Amounts, Team};
use gpuc_schema::Span;
use gpuc_syntax::diag::Report;
use gpuc_syntax::node::Entry;

use super::RULE;
use super::excess::{Excess, ExcessKind, SEQUENTIAL_HELP};
use crate::pod_count::PodCount;
use crate::scheduling::is_queued;
use crate::{CheckContext, Container, Pod, jobs};

/// Checks the total requests of an object's pods.
pub(super) fn check_pods(
    ctx: &CheckContext<'_>,
    pod: &Pod<'_>,
    copies: PodCount,
    excess: Excess,
    report: &mut Report,
) {
    let namespace = pod.object.namespace.as_deref().unwrap_or_default();
    let Some((team, _)) = ctx.cluster.team_of_namespace(namespace) else {
        return;
    };
    let list = pod.spec.get("containers");
    let Some(containers) = list.filter(|_| !pod.is_partial && !pod.is_of_daemon_set()) else {
        return;
    };
    let is_job = jobs::job_spec(pod.object).is_some();
    let demand = Demand::from_pod_spec(
        pod.spec,
        &DefaultRequests::for_namespace(ctx.cluster, namespace),
    );
    let limits = resource_limits(ctx.cluster, team).into_iter();
    for limit in limits.filter(|it| it.namespace.is_none_or(|it| it == namespace)) {
        let (each, request) = match limit.resource {
            QuotaResource::Cpu => (demand.cpu.map(|it| it.value), demand.cpu),
            QuotaResource::Memory => (demand.memory.map(|it| it.value), demand.memory),
            QuotaResource::Pods => (Some(1), None),
            QuotaResource::Device(_) | QuotaResource::Storage => continue,
        };
        let Some(each) = each else {
            continue;
        };
        let all = each.saturating_mul(copies.pods);
        // Under the ResourceQuota of a namespace, the pods of a Job may run one after the other.
        let is_alone = limit.namespace.is_some() || !is_queued(ctx.cluster, pod);
        let in_turn = is_alone && is_job && each <= limit.amount;
        if all <= limit.amount || ExcessKind::from_is_sequential(in_turn) != excess.kind {
            continue;
        }
        let total = match &limit.resource {
            resource if *resource == QuotaResource::Pods || copies.pods == 1 => {
                resource.format_amount(all)
            }
            resource => format!(
                "{} pods with {} each need {}",
                copies.pods,
                resource.format_amount(each),
                resource.format_amount(all)
            ),
        };
        let message = format!("{} {}: {total}", pod.title(), excess.kind.problem());
        let written = request.filter(|it| !it.is_default).map(|it| it.span);
        let span = written.or(copies.span).unwrap_or(containers.span());
        let mut builder = report.diagnostic(excess.code, span, message);
        if let Some(default) = request.filter(|it| it.is_default) {
            let text = "the default for the team's containers without a request";
            builder = builder.label(default.span, text);
        }
        let quota = limit.resource.format_amount(limit.amount);
        builder
            .label(limit.span, format!("the quota of the team is {quota}"))
            .help(match excess.kind {
                ExcessKind::Never => "request less, or raise the team's quota",
                ExcessKind::Sequential => SEQUENTIAL_HELP,
            })
            .emit();
    }
}

/// Checks the requests and limits of each container. An unset limit is the team's `default`, or else its `max`.
///
/// Source: `PodValidateLimitFunc` in kubernetes `plugin/pkg/admission/limitranger/admission.go` (from memory).
pub(super) fn check_containers(ctx: &CheckContext<'_>, pod: &Pod<'_>, report: &mut Report) {
    let namespace = pod.object.namespace.as_deref();
    let Some((team, _)) = namespace.and_then(|it| ctx.cluster.team_of_namespace(it)) else {
        return;
    };
    for container in &pod.containers {
        for (key, resource, unit) in [
            ("cpu", QuotaResource::Cpu, 1),
            ("memory", QuotaResource::Memory, 1000),
        ] {
            let words = |entry: &Entry| {
                let amount = thousandths_of_node(&entry.value)?;
                Some((
                    amount,
                    resource.format_amount(amount.div_ceil(unit)),
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
    let named = |list: &'static str| {
        container
            .resource_list(list)
            .iter()
            .find(|it| it.key == key)
    };
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
