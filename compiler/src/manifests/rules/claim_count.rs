//! A claim asks for a number of devices that no node has.

use crate::diag::{Code, Report, Severity};
use crate::manifests::claims::{exactly, is_claim, of_pod, request, requested};
use crate::manifests::resources::{Amount, amount};
use crate::manifests::{Object, Rule, Scene};
use crate::node::Node;
use crate::placement::{Answer, Demand, Why, places};

/// A claim asks for a number of devices that no node has.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4040",
        name: "manifest-claim-count",
        severity: Severity::Error,
        summary: "a claim asks for a number of devices that no node has",
        explain: "### What it checks

Whether the `count` of each request of a ResourceClaim or its template is a whole number above zero,
is not there beside `allocationMode: All`, and is no more than a node of some pool has.

### Why it matters

The API server refuses a number below zero, and takes zero for one. The devices of a claim are on one
node: a pod that uses a claim of more waits for ever.

### What to do

Write how many devices one pod needs, or leave `count` out for one.
",
        bad: claims_example!(r"apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: one-gpu, namespace: research}
spec:
  spec:
    devices:
      requests: [{name: gpu, exactly: {deviceClassName: gpu.gpuc.dev, count: 4}}]
"),
        good: claims_example!(r"apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: one-gpu, namespace: research}
spec:
  spec:
    devices:
      requests: [{name: gpu, exactly: {deviceClassName: gpu.gpuc.dev, count: 2}}]
"),
    },
    run,
};

// Source: kubernetes `pkg/apis/resource/validation/validation.go`, `validateDeviceAllocationMode` (read on 2026-11-22),
// and `pkg/apis/resource/v1/defaults.go`, `SetDefaults_ExactDeviceRequest` (from memory).
fn run(scene: &Scene<'_>, report: &mut Report) {
    for object in scene.objects.iter().filter(|it| is_claim(it)) {
        for request in requested(object).unwrap_or_default() {
            let alternatives = request.get("firstAvailable").map_or(&[][..], Node::items);
            for exactly in alternatives.iter().chain([exactly(request)]) {
                of_one(scene, object, exactly, report);
            }
        }
    }
}

fn of_one(scene: &Scene<'_>, object: &Object, exactly: &Node, report: &mut Report) {
    let Some(count) = exactly.get("count") else {
        return;
    };
    let title = object.title();
    let written = count.text().unwrap_or_default();
    let all = exactly.get("allocationMode");
    if let Some(all) = all.filter(|it| it.text() == Some("All")) {
        let message = format!("{title} claims all devices, and {written} of them");
        let draft = report.draft(&RULE.code, count.span(), message);
        draft
            .label(all.span(), "all of them")
            .help("remove `count`, or `allocationMode`")
            .emit();
        return;
    }
    let message = match amount(count) {
        Amount::Open => return,
        Amount::Refused => {
            format!("{title} claims `{written}` devices, which is no number of them")
        }
        Amount::Whole(0) => format!("{title} claims no devices, which Kubernetes takes for one"),
        Amount::Whole(_) => return too_many(scene, object, exactly, report),
    };
    let draft = report.draft(&RULE.code, count.span(), message);
    draft
        .help("write a whole number above zero, or leave `count` out for one")
        .emit();
}

/// Says of a claim that no pod uses that no node has so many: of one that a pod uses, the pod's finding says it.
fn too_many(scene: &Scene<'_>, object: &Object, exactly: &Node, report: &mut Report) {
    let name = object.name.as_deref().unwrap_or_default();
    let mut claims = scene.pods.iter().flat_map(of_pod);
    let Some(claim) = request(exactly).filter(|_| !claims.any(|it| it.object() == name)) else {
        return;
    };
    let demand = Demand {
        claims: vec![claim.clone()],
        ..Demand::default()
    };
    let verdicts = places(&demand, scene.cluster);
    let too_many = verdicts.iter().filter_map(|verdict| {
        let mut reasons = verdict.reasons.iter();
        let is_it = |why: &Why| matches!(why, Why::TooMany { .. });
        Some((verdict, reasons.find(|reason| is_it(&reason.why))?))
    });
    let too_many: Vec<_> = too_many.collect();
    let mut answers = verdicts.iter().map(crate::placement::Verdict::answer);
    if too_many.is_empty() || answers.any(|answer| answer != Answer::No) {
        return;
    }
    let message = format!(
        "{} claims {} devices of `{}`, more than a node of any pool has",
        object.title(),
        claim.count,
        claim.class
    );
    let mut draft = report.draft(&RULE.code, claim.span, message);
    for (verdict, reason) in too_many {
        draft = draft.label(
            reason.place,
            format!("pool `{}` {reason}", verdict.pool.name),
        );
    }
    draft
        .help("claim fewer in each of several pods: the devices of a claim are on one node")
        .emit();
}
