//! A container requests GPUs through a claim and through a limit.

use gpuc_syntax::diag::{Code, Correction, Report, Severity};
use gpuc_syntax::node::Node;

use crate::claims::{self, CLAIM_KIND, CLAIM_TEMPLATE_KIND, generated_claim, pod_claims};
use crate::{CheckContext, Container, Pod, Rule};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4028",
        name: "manifest-gpu-requested-twice",
        severity: Severity::Warning,
        summary: "a container requests GPUs through a claim and through a limit",
        checks: "Whether a container that uses a ResourceClaim for GPUs also requests GPUs in `resources.limits`.",
        reason: "The container gets both: Kubernetes creates a second claim for the limit. Otherwise the pod needs a node
with GPUs from both DRA and a device plugin, which does not exist.",
        remedy: "Request the GPUs once: remove the claim or the limit.",
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
      resources: {claims: [{name: gpu}]}
")),
    },
    run,
};

fn run(ctx: &CheckContext<'_>, report: &mut Report) {
    for pod in &ctx.pods {
        for container in &pod.containers {
            let Some(gpus) = container.gpu_request() else {
                continue;
            };
            let Some((used, class)) = gpu_claim(ctx, pod, container) else {
                continue;
            };
            let message = format!(
                "container `{}` requests `{}` in addition to a claim of `{class}`",
                container.name(),
                gpus.key
            );
            let builder = report.diagnostic(&RULE.code, gpus.key_span, message);
            let builder = builder.primary_label("requested in addition to the claim");
            builder
                .label(used.span(), "the claim")
                .help(format!("remove the claim, or `{}`", gpus.key))
                .emit();
        }
    }
}

/// The GPU claim that a container uses, and its DeviceClass.
fn gpu_claim<'s>(
    ctx: &'s CheckContext<'_>,
    pod: &Pod<'s>,
    container: &Container<'s>,
) -> Option<(&'s Node, String)> {
    let used = container.resources()?.value.get("claims")?.items();
    let claims = pod_claims(pod);
    used.iter().find_map(|used| {
        let name = used.get("name")?;
        let mut own = claims.iter();
        let claim = own.find(|it| it.name.and_then(Node::text) == name.text())?;
        let object = claim.object_name();
        if let Some((class, _)) = generated_claim(ctx.cluster, pod, object) {
            return Some((name, class.to_owned()));
        }
        let mut kinds = [CLAIM_TEMPLATE_KIND, CLAIM_KIND].into_iter();
        let claim_object = kinds.find_map(|kind| ctx.claims.find_claim(pod, kind, object))?;
        let classes = claims::device_class_nodes(&claim_object.root);
        let mut classes = classes.into_iter().filter_map(Node::text);
        let is_gpu = |class: &&str| class.ends_with(".gpuc.dev") || class.ends_with(".nvidia.com");
        Some((name, classes.find(is_gpu)?.to_owned()))
    })
}
