//! A container uses a request that its claim does not have.

use gpuc_syntax::diag::{Code, Correction, Report, Severity, phrases};
use gpuc_syntax::node::Node;

use crate::claims::{pod_claims, request_nodes};
use crate::{CheckContext, Container, Pod, Rule};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4042",
        name: "manifest-claim-request-unknown",
        severity: Severity::Error,
        summary: "a container uses an unknown request of a claim",
        checks: "Whether each `request` in a container's `resources.claims` is the name of a request in the ResourceClaim or
ResourceClaimTemplate among the manifests.",
        reason: "The kubelet finds no device for the container and does not start it.",
        remedy: "Write the name of a request of the claim, or remove `request` to use all of its devices.",
        bad: claims_example!(r"apiVersion: resource.k8s.io/v1
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
      resources: {claims: [{name: gpu, request: gpus}]}
"),
        correction: Correction::Whole(claims_example!(r"apiVersion: resource.k8s.io/v1
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
      resources: {claims: [{name: gpu, request: gpu}]}
")),
    },
    run,
};

fn run(ctx: &CheckContext<'_>, report: &mut Report) {
    for pod in ctx.pods.iter().filter(|pod| !pod.is_partial) {
        for container in &pod.containers {
            check_container(ctx, pod, container, report);
        }
    }
}

fn check_container(
    ctx: &CheckContext<'_>,
    pod: &Pod<'_>,
    container: &Container<'_>,
    report: &mut Report,
) {
    let claims = pod_claims(pod);
    let resources = container.resources().map(|entry| &entry.value);
    let used = resources.and_then(|it| it.get("claims"));
    for used in used.map_or(&[][..], Node::items) {
        let Some((request, requested)) = used.get("request").and_then(|it| Some((it, it.text()?)))
        else {
            continue;
        };
        let name = used.get("name").and_then(Node::text);
        let mut named = claims.iter();
        let claim = named.find(|it| it.name.and_then(Node::text) == name);
        let object = claim.and_then(|it| ctx.claims.find_claim(pod, it.kind(), it.object_name()));
        let Some((object, requests)) = object.and_then(|it| Some((it, request_nodes(it)?))) else {
            continue;
        };
        let names = requests
            .iter()
            .map(|it| it.get("name").and_then(Node::text));
        let Some(names) = names.collect::<Option<Vec<_>>>() else {
            continue;
        };
        // An alternative is addressed as `request/alternative`.
        let first = requested.split('/').next().unwrap_or_default();
        if names.is_empty() || names.contains(&first) || requested.contains(['{', '$']) {
            continue;
        }
        let message = format!(
            "container `{}` uses the unknown request `{requested}` of {}",
            container.name(),
            object.title()
        );
        let builder = report.diagnostic(&RULE.code, request.span(), message);
        let builder = match requests.first() {
            Some(first) => builder.label(first.span(), "the claim's request"),
            None => builder,
        };
        let only = names.first().filter(|_| names.len() == 1).copied();
        let meant = only.or_else(|| phrases::closest_match(requested, names.iter().copied()));
        let Some(meant) = meant else {
            builder
                .help(format!(
                    "write {}",
                    phrases::quoted_conjunction(&names, "or")
                ))
                .emit();
            continue;
        };
        builder
            .help(format!("write `{meant}`, or remove `request`"))
            .emit();
    }
}
