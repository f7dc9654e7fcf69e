//! A claim is written as another version of its API has it.

use crate::diag::{Code, Report, Severity};
use crate::manifests::claims::{is_claim, requested};
use crate::manifests::{Object, Rule, Scene, wrap};
use crate::node::{Entry, Node};

/// A claim is written as another version of its API has it.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4041",
        name: "manifest-claim-shape",
        severity: Severity::Error,
        summary: "a claim is written as another version of its API has it",
        explain: "### What it checks

Whether what a ResourceClaim or its template asks for stands where its version of `resource.k8s.io` has
it: below `exactly` in `v1` and `v1beta2`, beside the request's name in `v1beta1`; and whether the
version is one that knows requests of devices at all.

### Why it matters

The API server refuses such a claim, or drops the fields that it does not know: a pod then has a claim
of nothing.

### What to do

Write `apiVersion: resource.k8s.io/v1`, and what is asked for below `exactly`.
",
        bad: claims_example!(r"apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: one-gpu, namespace: research}
spec:
  spec:
    devices:
      requests: [{name: gpu, deviceClassName: gpu.gpuc.dev}]
"),
        good: claims_example!(r"apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: one-gpu, namespace: research}
spec:
  spec:
    devices:
      requests: [{name: gpu, exactly: {deviceClassName: gpu.gpuc.dev}}]
"),
    },
    run,
};

/// What stands below `exactly`.
const BELOW: &[&str] = &[
    "deviceClassName",
    "selectors",
    "allocationMode",
    "count",
    "adminAccess",
    "tolerations",
    "capacity",
];

/// Versions of claims that no Kubernetes since 1.33 serves.
///
/// Source: kubernetes `staging/src/k8s.io/api/resource/v1alpha2`, which 1.31 removed; its `v1alpha3` has no claims
/// since 1.33 (from memory).
const OF_OLD: &[&str] = &["v1alpha1", "v1alpha2", "v1alpha3"];

// Source: kubernetes `staging/src/k8s.io/api/resource/v1beta1/types.go` and `v1/types.go`, `DeviceRequest`
// (from memory).
fn run(scene: &Scene<'_>, report: &mut Report) {
    for object in scene.objects.iter().filter(|it| is_claim(it)) {
        of_object(scene, object, report);
    }
}

fn of_object(scene: &Scene<'_>, object: &Object, report: &mut Report) {
    let title = object.title();
    let version = object.api_version.rsplit('/').next().unwrap_or_default();
    if OF_OLD.contains(&version) {
        let Some(written) = object.root.get("apiVersion") else {
            return;
        };
        let message = format!("{title} is of `{version}`, which Kubernetes does not know any more");
        let draft = report.draft(&RULE.code, written.span(), message);
        let help = if version == "v1alpha3" {
            "write `resource.k8s.io/v1`, and what each request asks for below `exactly`"
        } else {
            "write `resource.k8s.io/v1`, and `devices.requests` in place of `resourceClassName`"
        };
        draft.help(help).emit();
        return;
    }
    let is_flat = version == "v1beta1";
    let wrong = |request: &'_ Node| -> Option<(Entry, &'static str)> {
        let exactly = request.entry("exactly").filter(|_| is_flat);
        let beside = request.entries().iter();
        let mut beside = beside.filter(|it| !is_flat && BELOW.contains(&it.key.as_str()));
        let alternatives = request.get("firstAvailable").is_some();
        match (exactly, beside.next()) {
            (Some(exactly), _) => Some((exactly.clone(), "beside the request's `name`")),
            (None, Some(first)) if !alternatives => Some((first.clone(), "below `exactly`")),
            _ => None,
        }
    };
    for request in requested(object).unwrap_or_default() {
        let Some((entry, place)) = wrong(request) else {
            continue;
        };
        let message = format!(
            "`{}` of {title} stands where `{version}` has none",
            entry.key
        );
        let draft = report.draft(&RULE.code, entry.key_span, message);
        let help = match entry.key.as_str() {
            "exactly" => format!(
                "write what is below `exactly` {place}, or `apiVersion: resource.k8s.io/v1`"
            ),
            _ => format!("write it {place}: `exactly: {{deviceClassName: …}}`"),
        };
        let draft = draft.help(help);
        // Nobody says twice what stands below it already.
        let is_free = !is_flat && request.get("exactly").is_none();
        let edit = is_free.then(|| wrap::wrap(scene.sources, request, BELOW, "exactly"));
        match edit.flatten() {
            Some(edit) => draft.fix(vec![edit]).emit(),
            None => draft.emit(),
        };
    }
}
