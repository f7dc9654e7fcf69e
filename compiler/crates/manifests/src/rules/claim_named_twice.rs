//! A container lists the same claim twice.

use gpuc_syntax::diag::{Code, Correction, Report, Severity};
use gpuc_syntax::node::Node;

use crate::{CheckContext, Rule};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4043",
        name: "manifest-claim-named-twice",
        severity: Severity::Error,
        summary: "a container lists the same claim twice",
        checks: "Whether a container lists each claim of its pod, or each request of a claim, at most once.",
        reason: "The API server rejects the pod.",
        remedy: "Remove one of the two entries.",
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
      resources: {claims: [{name: gpu}, {name: gpu}]}
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

// Source: kubernetes `pkg/apis/core/validation/validation.go`, `validateResourceClaimNames` (read on 2026-11-22).
fn run(ctx: &CheckContext<'_>, report: &mut Report) {
    for pod in &ctx.pods {
        for container in &pod.containers {
            let resources = container.resources().map(|entry| &entry.value);
            let used = resources.and_then(|it| it.get("claims"));
            let used = used.map_or(&[][..], Node::items);
            let text = |it: &Node, key: &str| it.get(key).and_then(Node::text).map(str::to_owned);
            let reference = |it: &Node| Some((text(it, "name")?, text(it, "request")));
            for (index, claim) in used.iter().enumerate() {
                let mut earlier = used[..index].iter();
                let own = reference(claim);
                let is_duplicate = own.is_some() && earlier.any(|it| reference(it) == own);
                let Some(name) = claim.get("name").filter(|_| is_duplicate) else {
                    continue;
                };
                let claim_name = name.text().unwrap_or_default();
                let message = format!(
                    "container `{}` lists the claim `{claim_name}` twice",
                    container.name()
                );
                let builder = report.diagnostic(&RULE.code, name.span(), message);
                builder.help("remove one of the two entries").emit();
            }
        }
    }
}
