//! A container asks for GPUs by a claim and by a limit.

use crate::diag::{Code, Report, Severity};
use crate::manifests::claims::{self, CLAIM, TEMPLATE, made, of_pod};
use crate::manifests::{Container, Pod, Rule, Scene};
use crate::node::Node;

/// A container asks for GPUs by a claim and by a limit.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4028",
        name: "manifest-gpu-asked-twice",
        severity: Severity::Warning,
        summary: "a container asks for GPUs by a claim and by a limit",
        explain: "### What it checks

Whether a container that uses a claim of GPUs asks for GPUs in `resources.limits` as well.

### Why it matters

It gets both: Kubernetes makes a second claim for the limit, or the pod needs a node where claims and
a device plugin hand out GPUs, which there is none.

### What to do

Ask once: keep the claim, and remove the limit, or the reverse.
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
  resourceClaims: [{name: gpu, resourceClaimTemplateName: one-gpu}]
  containers:
    - name: train
      image: nvcr.io/nvidia/cuda:12.8.1-base-ubuntu24.04
      resources: {claims: [{name: gpu}], limits: {nvidia.com/gpu: 1}}
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
    for pod in &scene.pods {
        for container in &pod.containers {
            let Some(gpus) = container.gpus() else {
                continue;
            };
            let Some((used, class)) = of_gpus(scene, pod, container) else {
                continue;
            };
            let message = format!(
                "container `{}` asks for `{}` and claims `{class}`",
                container.name(),
                gpus.key
            );
            let draft = report.draft(&RULE.code, gpus.key_span, message);
            let draft = draft.here("these are beside those of the claim");
            draft
                .label(used.span(), "the claim")
                .help(format!("remove the claim, or `{}`", gpus.key))
                .emit();
        }
    }
}

/// The claim of GPUs that a container uses, and the class that it names.
fn of_gpus<'s>(
    scene: &'s Scene<'_>,
    pod: &Pod<'s>,
    container: &Container<'s>,
) -> Option<(&'s Node, String)> {
    let used = container.resources()?.value.get("claims")?.items();
    let claims = of_pod(pod);
    used.iter().find_map(|used| {
        let name = used.get("name")?;
        let mut own = claims.iter();
        let claim = own.find(|it| it.name.and_then(Node::text) == name.text())?;
        let object = claim.object();
        if let Some((class, _)) = made(scene.cluster, pod, object) {
            return Some((name, class.to_owned()));
        }
        let mut kinds = [TEMPLATE, CLAIM].into_iter();
        let given = kinds.find_map(|kind| scene.claims.find(pod, kind, object))?;
        let classes = claims::classes(&given.root);
        let mut classes = classes.into_iter().filter_map(Node::text);
        let is_gpu = |class: &&str| class.ends_with(".gpuc.dev") || class.ends_with(".nvidia.com");
        Some((name, classes.find(is_gpu)?.to_owned()))
    })
}
