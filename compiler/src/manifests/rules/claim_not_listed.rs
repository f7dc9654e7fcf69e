//! A container uses a claim that its pod does not list.

use crate::diag::{Code, Report, Severity, words};
use crate::manifests::{Pod, Rule, Scene, edit};
use crate::node::Node;

/// A container uses a claim that its pod does not list.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4029",
        name: "manifest-claim-not-listed",
        severity: Severity::Error,
        summary: "a container uses a claim that its pod does not list",
        explain: "### What it checks

Whether each claim in a container's `resources.claims` is one of the pod's `resourceClaims`, by the
name that it has there.

### Why it matters

The API server refuses the pod.

### What to do

Write the `name` of the pod's claim, which is not the name of the template.
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
      resources: {claims: [{name: one-gpu}]}
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

// Source: kubernetes `pkg/apis/core/validation/validation.go`, `validateResourceClaimNames` (from memory).
fn run(scene: &Scene<'_>, report: &mut Report) {
    for pod in scene.pods.iter().filter(|pod| !pod.is_open) {
        let listed = pod.spec.get("resourceClaims").map_or(&[][..], Node::items);
        let names = listed.iter().filter_map(|claim| claim.get("name"));
        let names: Vec<_> = names
            .filter_map(|name| Some((name, name.text()?)))
            .collect();
        let used: Vec<_> = used(pod).collect();
        for (container, name) in &used {
            let text = name.text().unwrap_or_default();
            if names.iter().any(|(_, listed)| *listed == text) {
                continue;
            }
            let message = format!(
                "container `{container}` uses the claim `{text}`, which its pod does not list"
            );
            let draft = report.draft(&RULE.code, name.span(), message);
            let draft = match listed.first() {
                Some(first) => draft.label(first.span(), "what the pod lists"),
                None => draft,
            };
            let words: Vec<_> = names.iter().map(|(_, listed)| *listed).collect();
            // Where the pod has one claim, and nobody uses it, it is meant.
            let alone = words.first().filter(|only| {
                let mut used = used.iter();
                words.len() == 1 && !used.any(|(_, name)| name.text() == Some(**only))
            });
            let meant = alone
                .copied()
                .or_else(|| words::nearest(text, words.iter().copied()));
            let Some(meant) = meant else {
                draft.help("add it to the pod's `resourceClaims`").emit();
                continue;
            };
            let draft = draft.help(format!("write `{meant}`"));
            match edit::value(scene.sources, name, meant) {
                Some(edit) => draft.fix(vec![edit]).emit(),
                None => draft.emit(),
            };
        }
    }
}

/// The names of claims that containers use, each with the container's.
fn used<'n>(pod: &Pod<'n>) -> impl Iterator<Item = (&'n str, &'n Node)> {
    pod.containers.iter().flat_map(|container| {
        let resources = container.resources().map(|entry| &entry.value);
        let claims = resources.and_then(|it| it.get("claims"));
        let claims = claims.map_or(&[][..], Node::items).iter();
        let name = container.name();
        claims.filter_map(move |claim| Some((name, claim.get("name")?)))
    })
}
