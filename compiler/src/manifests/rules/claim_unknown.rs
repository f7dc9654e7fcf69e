//! A pod names a claim that nobody makes.

use crate::diag::{Code, Edit, Report, Severity, words};
use crate::manifests::claims::{KEYS, PodClaim, TEMPLATE, made, may_meet, of_domains, of_pod};
use crate::manifests::{Object, Pod, Rule, Scene, edit};
use crate::node::Node;

/// A pod names a claim that nobody makes.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4027",
        name: "manifest-claim-unknown",
        severity: Severity::Warning,
        summary: "a pod names a claim that nobody makes",
        explain: "### What it checks

Whether each ResourceClaim and ResourceClaimTemplate that a pod names is among the manifests, in its
namespace, or is one that gpuc makes for a workload of the file, or that a ComputeDomain among the
manifests is made for.

### Why it matters

The pod waits for ever: `resourceclaimtemplate … not found`.

### What to do

Write the name of a claim that there is, or give its file to `gpuc check --manifests` too. If
something else makes it, write `allow: [manifest-claim-unknown]`. `gpuc check --fix` mends names that
are misspelt, and a claim that is named as a template or the reverse.
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
  resourceClaims: [{name: gpu, resourceClaimTemplateName: one-gpus}]
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

fn run(scene: &Scene<'_>, report: &mut Report) {
    // What a pod names is looked at only where somebody uses claims.
    for pod in scene.pods.iter().filter(|pod| !pod.is_open) {
        for claim in of_pod(pod) {
            let (kind, name) = (claim.kind(), claim.object());
            let is_there = scene.claims.find(pod, kind, name).is_some()
                || made(scene.cluster, pod, name).is_some()
                || (kind == TEMPLATE && is_of_domain(scene, pod, name));
            if !is_there && !name.contains(['{', '$']) {
                say(scene, pod, &claim, report);
            }
        }
    }
}

/// Whether a template of this name is made of a `ComputeDomain`.
fn is_of_domain(scene: &Scene<'_>, pod: &Pod<'_>, name: &str) -> bool {
    let mut made = of_domains(scene.objects);
    made.any(|(own, domain)| own == name && may_meet(domain, pod.object))
}

fn say(scene: &Scene<'_>, pod: &Pod<'_>, claim: &PodClaim<'_>, report: &mut Report) {
    let (kind, name) = (claim.kind(), claim.object());
    let message = format!(
        "{} names the {kind} `{name}`, which nobody makes",
        pod.title()
    );
    let draft = report.draft(&RULE.code, claim.source.span(), message);
    let other = KEYS.iter().find(|(key, _)| *key != claim.key);
    let as_other = other.filter(|(_, kind)| scene.claims.find(pod, kind, name).is_some());
    if let Some((key, kind)) = as_other {
        let draft = draft.help(format!("write `{key}: {name}`: it is a {kind}"));
        match renamed(scene, pod, claim, key) {
            Some(edit) => draft.fix(vec![edit]).emit(),
            None => draft.emit(),
        };
        return;
    }
    let of_kind = scene.claims.all(kind);
    let of_kind: Vec<&Object> = of_kind.collect();
    let far = of_kind.iter().find(|it| it.name.as_deref() == Some(name));
    if let Some(far) = far {
        let namespace = far.namespace.as_deref().unwrap_or_default();
        let at = far.root.get("metadata").and_then(|it| it.get("namespace"));
        let draft = match at {
            Some(at) => draft.label(at.span(), "it is in this namespace"),
            None => draft,
        };
        draft
            .help(format!(
                "a pod's claims are in its own namespace: make it there too, not only in `{namespace}`"
            ))
            .emit();
        return;
    }
    let near = of_kind.iter().filter(|it| may_meet(it, pod.object));
    let near = near.filter_map(|it| it.name.as_deref());
    match words::nearest(name, near) {
        Some(meant) => {
            let draft = draft.help(format!("write `{meant}`"));
            match edit::value(scene.sources, claim.source, meant) {
                Some(edit) => draft.fix(vec![edit]).emit(),
                None => draft.emit(),
            }
        }
        None => draft
            .help(format!(
                "make a {kind} of this name, or check its file with the others"
            ))
            .emit(),
    };
}

/// The other key for the object's name.
fn renamed(scene: &Scene<'_>, pod: &Pod<'_>, claim: &PodClaim<'_>, key: &str) -> Option<Edit> {
    let claims = pod.spec.get("resourceClaims").map_or(&[][..], Node::items);
    let entries = claims.iter().flat_map(Node::entries);
    let mut entries = entries.filter(|entry| entry.key == claim.key);
    let entry = entries.find(|entry| entry.value.span() == claim.source.span())?;
    edit::key(scene.sources, entry, key)
}
