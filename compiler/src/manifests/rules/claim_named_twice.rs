//! A container uses a claim twice.

use crate::diag::{Code, Report, Severity};
use crate::manifests::{Rule, Scene};
use crate::node::Node;

/// A container uses a claim twice.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4043",
        name: "manifest-claim-named-twice",
        severity: Severity::Error,
        summary: "a container uses a claim twice",
        explain: "### What it checks

Whether a container uses each claim of its pod, or each request of it, once.

### Why it matters

The API server refuses the pod.

### What to do

Remove one of the two.
",
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
        good: claims_example!(
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
        ),
    },
    run,
};

// Source: kubernetes `pkg/apis/core/validation/validation.go`, `validateResourceClaimNames` (read on 2026-11-22).
fn run(scene: &Scene<'_>, report: &mut Report) {
    for pod in &scene.pods {
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
