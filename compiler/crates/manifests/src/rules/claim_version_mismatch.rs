//! A ResourceClaim has the structure of another API version.

use gpuc_syntax::diag::{Code, Correction, Report, Severity};
use gpuc_syntax::node::{Entry, Node};

use crate::claims::{is_claim, request_nodes};
use crate::{CheckContext, Object, Rule, nest};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4041",
        name: "manifest-claim-version-mismatch",
        severity: Severity::Error,
        summary: "a ResourceClaim has the structure of another API version",
        checks: "Whether the fields of each request in a ResourceClaim or ResourceClaimTemplate are where its version of
`resource.k8s.io` has them: below `exactly` in `v1` and `v1beta2`, next to the request's `name` in
`v1beta1`. The version must support requests for devices.",
        reason: "The API server rejects such a claim, or drops the fields that it does not know. A pod then has a claim for
nothing.",
        remedy: "Write `apiVersion: resource.k8s.io/v1`, and move the fields of each request below `exactly`.",
        bad: claims_example!(r"apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: one-gpu, namespace: research}
spec:
  spec:
    devices:
      requests: [{name: gpu, deviceClassName: gpu.gpuc.dev}]
"),
        correction: Correction::Whole(claims_example!(r"apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: one-gpu, namespace: research}
spec:
  spec:
    devices:
      requests: [{name: gpu, exactly: {deviceClassName: gpu.gpuc.dev}}]
")),
    },
    run,
};

/// The fields below `exactly`.
const REQUEST_FIELDS: &[&str] = &[
    "deviceClassName",
    "selectors",
    "allocationMode",
    "count",
    "adminAccess",
    "tolerations",
    "capacity",
];

/// Versions without claims since Kubernetes 1.33.
///
/// Source: kubernetes `staging/src/k8s.io/api/resource/v1alpha2`, which 1.31 removed; its `v1alpha3` has no claims
/// since 1.33 (from memory).
const REMOVED_VERSIONS: &[&str] = &["v1alpha1", "v1alpha2", "v1alpha3"];

// Source: kubernetes `staging/src/k8s.io/api/resource/v1beta1/types.go` and `v1/types.go`, `DeviceRequest`
// (from memory).
fn run(ctx: &CheckContext<'_>, report: &mut Report) {
    for object in ctx.objects.iter().filter(|it| is_claim(it)) {
        check_object(ctx, object, report);
    }
}

fn check_object(ctx: &CheckContext<'_>, object: &Object, report: &mut Report) {
    let title = object.title();
    let version = object.api_version.rsplit('/').next().unwrap_or_default();
    if REMOVED_VERSIONS.contains(&version) {
        let Some(written) = object.root.get("apiVersion") else {
            return;
        };
        let message = format!("{title}: Kubernetes no longer serves `{version}`");
        let builder = report.diagnostic(&RULE.code, written.span(), message);
        let help = if version == "v1alpha3" {
            "write `resource.k8s.io/v1`, and move the fields of each request below `exactly`"
        } else {
            "write `resource.k8s.io/v1`, and replace `resourceClassName` with `devices.requests`"
        };
        builder.help(help).emit();
        return;
    }
    let is_flat = version == "v1beta1";
    let misplaced = |request: &'_ Node| -> Option<(Entry, &'static str)> {
        let exactly = request.entry("exactly").filter(|_| is_flat);
        let flat = request.entries().iter();
        let mut flat = flat.filter(|it| !is_flat && REQUEST_FIELDS.contains(&it.key.as_str()));
        let alternatives = request.get("firstAvailable").is_some();
        match (exactly, flat.next()) {
            (Some(exactly), _) => Some((exactly.clone(), "next to the request's `name`")),
            (None, Some(first)) if !alternatives => Some((first.clone(), "below `exactly`")),
            _ => None,
        }
    };
    for request in request_nodes(object).unwrap_or_default() {
        let Some((entry, destination)) = misplaced(request) else {
            continue;
        };
        let message = format!(
            "{title}: `{}` is not supported here in `{version}`",
            entry.key
        );
        let builder = report.diagnostic(&RULE.code, entry.key_span, message);
        let help = match entry.key.as_str() {
            "exactly" => format!(
                "move the fields below `exactly` {destination}, or write `apiVersion: resource.k8s.io/v1`"
            ),
            _ => format!("move it {destination}: `exactly: {{deviceClassName: …}}`"),
        };
        let builder = builder.help(help);
        // No edit if `exactly` exists already: the result could have duplicate keys.
        let can_nest = !is_flat && request.get("exactly").is_none();
        let edit =
            can_nest.then(|| nest::nest_entries(ctx.sources, request, REQUEST_FIELDS, "exactly"));
        match edit.flatten() {
            Some(edit) => builder.suggest(vec![edit]).emit(),
            None => builder.emit(),
        };
    }
}
