//! A container uses a claim that is missing from the pod's `resourceClaims`.

use gpuc_syntax::diag::{Code, Correction, Report, Severity, phrases};
use gpuc_syntax::node::Node;

use crate::{CheckContext, Pod, Rule};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4029",
        name: "manifest-claim-not-listed",
        severity: Severity::Error,
        summary: "a container uses a claim that is missing from the pod's `resourceClaims`",
        checks: "Whether each claim in a container's `resources.claims` is the `name` of an entry in the pod's
`resourceClaims`.",
        reason: "The API server rejects the pod.",
        remedy: "Write the `name` of the entry in `resourceClaims`, which is not the name of the template.",
        bad: claims_example!(
            r"apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: one-gpu, namespace: research}
spec:
  spec:
    devices:
      requests: [{name: gpu, exactly: {deviceClassName: gpu.gpuc.dev}}]
---
apiVersion: v1
kind: Pod
metadata: {name: train, namespace: research}
spec:
  tolerations: [{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}]
  resourceClaims: [{name: gpu, resourceClaimTemplateName: one-gpu}]
  containers:
    - name: train
      image: nvcr.io/nvidia/cuda:12.8.1-base-ubuntu24.04
      resources: {claims: [{name: one-gpu}]}
"
        ),
        correction: Correction::Whole(claims_example!(
            r"apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: one-gpu, namespace: research}
spec:
  spec:
    devices:
      requests: [{name: gpu, exactly: {deviceClassName: gpu.gpuc.dev}}]
---
apiVersion: v1
kind: Pod
metadata: {name: train, namespace: research}
spec:
  tolerations: [{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}]
  resourceClaims: [{name: gpu, resourceClaimTemplateName: one-gpu}]
  containers:
    - name: train
      image: nvcr.io/nvidia/cuda:12.8.1-base-ubuntu24.04
      resources: {claims: [{name: gpu}]}
"
        )),
    },
    run,
};

// Source: kubernetes `pkg/apis/core/validation/validation.go`, `validateResourceClaimNames` (from memory).
fn run(ctx: &CheckContext<'_>, report: &mut Report) {
    for pod in ctx.pods.iter().filter(|pod| !pod.is_partial) {
        let listed = pod.spec.get("resourceClaims").map_or(&[][..], Node::items);
        let names = listed.iter().filter_map(|claim| claim.get("name"));
        let names: Vec<_> = names
            .filter_map(|name| Some((name, name.text()?)))
            .collect();
        let used: Vec<_> = container_claims(pod).collect();
        for (container, name) in &used {
            let text = name.text().unwrap_or_default();
            if names.iter().any(|(_, listed)| *listed == text) {
                continue;
            }
            let message = format!(
                "container `{container}` uses the claim `{text}`, which is not in `resourceClaims`"
            );
            let builder = report.diagnostic(&RULE.code, name.span(), message);
            let builder = match listed.first() {
                Some(first) => builder.label(first.span(), "listed here"),
                None => builder,
            };
            let listed: Vec<_> = names.iter().map(|(_, listed)| *listed).collect();
            // The only claim of the pod is the intended one if no container uses it.
            let unused = listed.first().filter(|only| {
                let mut used = used.iter();
                listed.len() == 1 && !used.any(|(_, name)| name.text() == Some(**only))
            });
            let meant = unused
                .copied()
                .or_else(|| phrases::closest_match(text, listed.iter().copied()));
            let Some(meant) = meant else {
                builder.help("add it to the pod's `resourceClaims`").emit();
                continue;
            };
            builder.help(format!("write `{meant}`")).emit();
        }
    }
}

/// The claim names that containers use, each with the container's name.
fn container_claims<'n>(pod: &Pod<'n>) -> impl Iterator<Item = (&'n str, &'n Node)> {
    pod.containers.iter().flat_map(|container| {
        let resources = container.resources().map(|entry| &entry.value);
        let claims = resources.and_then(|it| it.get("claims"));
        let claims = claims.map_or(&[][..], Node::items).iter();
        let name = container.name();
        claims.filter_map(move |claim| Some((name, claim.get("name")?)))
    })
}
