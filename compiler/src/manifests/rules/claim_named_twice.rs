//! A pod says twice which claim it means.

use crate::diag::{Code, Report, Severity};
use crate::manifests::claims::KEYS;
use crate::manifests::{Rule, Scene};
use crate::node::Node;

/// A pod says twice which claim it means.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4043",
        name: "manifest-claim-named-twice",
        severity: Severity::Error,
        summary: "a pod says twice which claim it means",
        explain: "### What it checks

Whether the claims of a pod have a name each, whether a claim names a ResourceClaim or a
ResourceClaimTemplate and not both, and whether a container uses each claim, or each request of it, once.

### Why it matters

The API server refuses the pod.

### What to do

Give each claim a name of its own, and keep one of the two keys.
",
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
  resourceClaims: [{name: gpu, resourceClaimTemplateName: one-gpu}, {name: gpu, resourceClaimTemplateName: one-gpu}]
  containers:
    - name: train
      image: nvcr.io/nvidia/cuda:12.8.1-base-ubuntu24.04
      resources: {claims: [{name: gpu}]}
"),
        good: claims_example!(r"apiVersion: resource.k8s.io/v1
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
"),
    },
    run,
};

// Source: kubernetes `pkg/apis/core/validation/validation.go`, `validatePodResourceClaim` and
// `validateResourceClaimNames` (read on 2026-11-22).
fn run(scene: &Scene<'_>, report: &mut Report) {
    for pod in &scene.pods {
        let claims = pod.spec.get("resourceClaims").map_or(&[][..], Node::items);
        let title = pod.title();
        for (index, claim) in claims.iter().enumerate() {
            let text = |claim: &Node| claim.get("name").and_then(Node::text).map(str::to_owned);
            let before = claims[..index].iter();
            let mut before = before.filter(|it| text(it).is_some() && text(it) == text(claim));
            if let Some((name, first)) = claim.get("name").zip(before.next()) {
                let word = name.text().unwrap_or_default();
                let message = format!("{title} has two claims with the name `{word}`");
                let draft = report.draft(&RULE.code, name.span(), message);
                let draft = draft.label(first.span(), "the first one");
                draft
                    .help("give each a name of its own, or remove one")
                    .emit();
            }
            let [one, other] = KEYS.map(|(key, _)| claim.entry(key));
            if let Some((one, other)) = one.zip(other) {
                let message = format!("{title} names a ResourceClaim and a template for one claim");
                let draft = report.draft(&RULE.code, one.key_span.max(other.key_span), message);
                let draft = draft.label(one.key_span.min(other.key_span), "the other one");
                draft
                    .help(format!("keep `{}` or `{}`", one.key, other.key))
                    .emit();
            }
        }
        for container in &pod.containers {
            let resources = container.resources().map(|entry| &entry.value);
            let used = resources.and_then(|it| it.get("claims"));
            let used = used.map_or(&[][..], Node::items);
            let text = |it: &Node, key: &str| it.get(key).and_then(Node::text).map(str::to_owned);
            let what = |it: &Node| Some((text(it, "name")?, text(it, "request")));
            for (index, claim) in used.iter().enumerate() {
                let mut before = used[..index].iter();
                let is_again = what(claim).is_some() && before.any(|it| what(it) == what(claim));
                let Some(name) = claim.get("name").filter(|_| is_again) else {
                    continue;
                };
                let word = name.text().unwrap_or_default();
                let message = format!(
                    "container `{}` uses the claim `{word}` twice",
                    container.name()
                );
                let draft = report.draft(&RULE.code, name.span(), message);
                draft.help("remove one of them").emit();
            }
        }
    }
}
