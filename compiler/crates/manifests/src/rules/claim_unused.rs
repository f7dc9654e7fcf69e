//! A pod lists a claim that no container uses.

use gpuc_syntax::diag::{Code, Correction, Edit, Report, Severity};
use gpuc_syntax::node::Node;
use serde_json::json;

use crate::{CheckContext, Container, Pod, Rule, text_edit};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4030",
        name: "manifest-claim-unused",
        severity: Severity::Warning,
        summary: "a pod lists a claim that no container uses",
        checks: "Whether a container uses each claim in the pod's `resourceClaims`, under `resources.claims`.",
        reason: "The devices are allocated to the pod and unavailable to other pods, but none of its containers can access
them.",
        remedy: "Write `claims: [{name: …}]` in the `resources` of the container that needs them. If the pod has one
container, `gpuc check --fix --unsafe-fixes` does so.",
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
      resources: {limits: {memory: 1Gi}}
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
      resources: {limits: {memory: 1Gi}, claims: [{name: gpu}]}
"
        )),
    },
    run,
};

fn run(ctx: &CheckContext<'_>, report: &mut Report) {
    for pod in ctx.pods.iter().filter(|pod| !pod.is_partial) {
        let listed = pod.spec.get("resourceClaims").map_or(&[][..], Node::items);
        let names = listed.iter().filter_map(|claim| claim.get("name"));
        let used: Vec<_> = pod.containers.iter().flat_map(used_claims).collect();
        // An unlisted name is reported by its own rule, and may be a misspelled one of these.
        let is_listed = |name: &&str| listed.iter().any(|it| claim_name(it) == Some(name));
        if !used.iter().all(is_listed) {
            continue;
        }
        for name in names {
            let claim = name.text().unwrap_or_default();
            if used.contains(&claim) {
                continue;
            }
            let message = format!("no container of {} uses the claim `{claim}`", pod.title());
            let builder = report.diagnostic(&RULE.code, name.span(), message);
            let builder = builder.help(format!(
                "write `claims: [{{name: {claim}}}]` in the container's `resources`"
            ));
            match use_claim_edit(ctx, pod, claim) {
                Some(edit) => builder.suggest(vec![edit]).emit(),
                None => builder.emit(),
            };
        }
    }
}

fn claim_name(claim: &Node) -> Option<&str> {
    claim.get("name").and_then(Node::text)
}

/// The claims that a container uses.
fn used_claims<'n>(container: &Container<'n>) -> Vec<&'n str> {
    let resources = container.resources().map(|entry| &entry.value);
    let claims = resources.and_then(|it| it.get("claims"));
    let claims = claims.map_or(&[][..], Node::items).iter();
    claims.filter_map(claim_name).collect()
}

/// Adds the claim to the only container of the pod.
fn use_claim_edit(ctx: &CheckContext<'_>, pod: &Pod<'_>, name: &str) -> Option<Edit> {
    let [container] = pod.containers.as_slice() else {
        return None;
    };
    let claim = json!({ "name": name });
    let Some(resources) = container.node.get("resources") else {
        let resources = json!({"claims": [claim]});
        return text_edit::append_entry(ctx.sources, container.node, "resources", &resources);
    };
    match resources.get("claims") {
        Some(claims) => text_edit::append_item(ctx.sources, claims, &claim),
        None => text_edit::append_entry(ctx.sources, resources, "claims", &json!([claim])),
    }
}
