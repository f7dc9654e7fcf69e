//! A ResourceClaim requests an invalid number of devices or more than a node has.

use gpuc_model::scheduling::{Demand, Feasibility, MisfitCause, check_pools};
use gpuc_syntax::diag::{Code, Correction, Report, Severity};
use gpuc_syntax::node::Node;

use crate::claims::{exact_fields, is_claim, parse_request, pod_claims, request_nodes};
use crate::resources::{ResourceCount, parse_count};
use crate::{CheckContext, Object, Rule};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4040",
        name: "manifest-claim-count",
        severity: Severity::Error,
        summary: "a ResourceClaim requests an invalid number of devices or more than a node has",
        checks: "Whether the `count` of each request in a ResourceClaim or ResourceClaimTemplate is a positive whole number,
is not combined with `allocationMode: All`, and does not exceed the devices of a node in some pool.",
        reason: "The API server rejects a negative number and treats zero as one. All devices of a claim are on one node: a
pod whose claim requests more than a node has stays Pending indefinitely.",
        remedy: "Write how many devices one pod needs, or remove `count` to request one.",
        bad: claims_example!(r"apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: one-gpu, namespace: research}
spec:
  spec:
    devices:
      requests: [{name: gpu, exactly: {deviceClassName: gpu.gpuc.dev, count: 4}}]
"),
        correction: Correction::Whole(claims_example!(r"apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: one-gpu, namespace: research}
spec:
  spec:
    devices:
      requests: [{name: gpu, exactly: {deviceClassName: gpu.gpuc.dev, count: 2}}]
")),
    },
    run,
};

// Source: kubernetes `pkg/apis/resource/validation/validation.go`, `validateDeviceAllocationMode` (read on 2026-11-22),
// and `pkg/apis/resource/v1/defaults.go`, `SetDefaults_ExactDeviceRequest` (from memory).
fn run(ctx: &CheckContext<'_>, report: &mut Report) {
    for object in ctx.objects.iter().filter(|it| is_claim(it)) {
        for request in request_nodes(object).unwrap_or_default() {
            let alternatives = request.get("firstAvailable").map_or(&[][..], Node::items);
            for exactly in alternatives.iter().chain([exact_fields(request)]) {
                check_request(ctx, object, exactly, report);
            }
        }
    }
}

fn check_request(ctx: &CheckContext<'_>, object: &Object, exactly: &Node, report: &mut Report) {
    let Some(count) = exactly.get("count") else {
        return;
    };
    let title = object.title();
    let written = count.text().unwrap_or_default();
    let all = exactly.get("allocationMode");
    if let Some(all) = all.filter(|it| it.text() == Some("All")) {
        let message = format!("{title} sets both `allocationMode: All` and `count: {written}`");
        let builder = report.diagnostic(&RULE.code, count.span(), message);
        builder
            .label(all.span(), "requests all devices")
            .help("remove `count`, or `allocationMode`")
            .emit();
        return;
    }
    let message = match parse_count(count) {
        ResourceCount::Templated => return,
        ResourceCount::Invalid => {
            format!("{title}: invalid `count` `{written}`, which must be a positive whole number")
        }
        ResourceCount::Whole(0) => {
            format!("{title}: `count` is 0, which the API server treats as 1")
        }
        ResourceCount::Whole(_) => return check_node_capacity(ctx, object, exactly, report),
    };
    let builder = report.diagnostic(&RULE.code, count.span(), message);
    builder
        .help("write a positive whole number, or remove `count` to request one device")
        .emit();
}

/// Reports a claim that exceeds every node. Claims that a pod uses are reported at the pod.
fn check_node_capacity(
    ctx: &CheckContext<'_>,
    object: &Object,
    exactly: &Node,
    report: &mut Report,
) {
    let name = object.name.as_deref().unwrap_or_default();
    let mut claims = ctx.pods.iter().flat_map(pod_claims);
    let Some(claim) = parse_request(exactly).filter(|_| !claims.any(|it| it.object_name() == name))
    else {
        return;
    };
    let demand = Demand {
        claims: vec![claim.clone()],
        ..Demand::default()
    };
    let evaluations = check_pools(&demand, ctx.cluster);
    let too_many = evaluations.iter().filter_map(|evaluation| {
        let mut reasons = evaluation.reasons.iter();
        let is_too_many = |cause: &MisfitCause| matches!(cause, MisfitCause::TooManyDevices { .. });
        Some((
            evaluation,
            reasons.find(|reason| is_too_many(&reason.cause))?,
        ))
    });
    let too_many: Vec<_> = too_many.collect();
    let mut feasibilities = evaluations
        .iter()
        .map(gpuc_model::scheduling::PoolFeasibility::feasibility);
    if too_many.is_empty()
        || feasibilities.any(|feasibility| feasibility != Feasibility::DoesNotFit)
    {
        return;
    }
    let message = format!(
        "{} requests {} of `{}`, more than any node has",
        object.title(),
        gpuc_syntax::diag::phrases::pluralize(claim.count, "device"),
        claim.class
    );
    let mut builder = report.diagnostic(&RULE.code, claim.span, message);
    for (evaluation, reason) in too_many {
        builder = builder.label(
            reason.pool_span,
            format!("pool `{}` {reason}", evaluation.pool.name),
        );
    }
    builder
        .help("request fewer devices in each of several pods; a claim's devices are on one node")
        .emit();
}
