//! NCCL finds NVLink between nodes and cannot use it.

use gpuc_syntax::diag::{Code, Correction, Severity};

use super::stack::{find_line, is_active, pod_ref, uses_gpus};
use crate::doctor::check::{Check, Logs};
use crate::doctor::context::Context;
use crate::doctor::finding::{Finding, Layer};
use crate::objects::{ObjectRef, Pod};
use crate::state::Kind;

pub(super) static CHECK: Check = Check {
    code: Code {
        id: "GPUC7809",
        name: "imex-channel-missing",
        severity: Severity::Error,
        summary: "NCCL finds NVLink between nodes and cannot use it",
        checks: "Whether logs of pods contain NCCL's error `MNNVL … is available but not working on this system`.",
        reason: "The GPUs of several nodes share memory over NVLink through an IMEX channel, a device in the \
container. Without it, NCCL ends: NVLink between the nodes works, but no memory can be exported.",
        remedy: "Create a ComputeDomain, and refer to its ResourceClaimTemplate in `resourceClaims` of the pods. \
`NCCL_MNNVL_ENABLE=0` makes NCCL use the network between the nodes instead, which is slower.",
        bad: r#"--- # objects.yaml
apiVersion: v1
kind: List
items:
  - apiVersion: v1
    kind: Node
    metadata: {name: gpu-1, labels: {nvidia.com/gpu.present: "true"}}
    status:
      capacity: {nvidia.com/gpu: "4"}
      allocatable: {nvidia.com/gpu: "4"}
      conditions: [{type: Ready, status: "True"}]
  - apiVersion: v1
    kind: Pod
    metadata: {name: train-0, namespace: ml}
    spec:
      nodeName: gpu-1
      containers: [{name: main, image: train, resources: {limits: {nvidia.com/gpu: "4"}}}]
    status: {phase: Running, conditions: [{type: Ready, status: "True"}]}
--- # logs/ml/train-0/main.log
train-0:61:90 [0] mnnvl.cc:83 NCCL WARN MNNVL (cliqueSize 8) is available but not working on this system. Check the IMEX channel configuration (/dev/nvidia-caps-imex-channels). Set NCCL_MNNVL_ENABLE=0 to ignore this issue.
"#,
        correction: Correction::Replace(
            "mnnvl.cc:83 NCCL WARN MNNVL (cliqueSize 8) is available but not working on this system. Check the IMEX \
channel configuration (/dev/nvidia-caps-imex-channels). Set NCCL_MNNVL_ENABLE=0 to ignore this issue.",
            "NCCL INFO MNNVL 1 cliqueId 7ffe cliqueSize 8 cliqueRank 0",
        ),
    },
    layer: Layer::Fabric,
    is_symptom: true,
    needs: &[Kind::Node, Kind::Pod],
    needs_logs: Logs::Workloads,
    run,
};

/// Parts of NCCL's message.
///
/// Source: NVIDIA/nccl 2.30.7 `src/mnnvl.cc`, 2026-11-28.
const MESSAGE: [&str; 2] = [
    "MNNVL (cliqueSize ",
    "is available but not working on this system",
];

fn run(ctx: &Context<'_>, findings: &mut Vec<Finding>) {
    for pod in &ctx.state.pods.items {
        let is_candidate = !pod.spec.node_name.is_empty() && is_active(pod) && uses_gpus(pod);
        if is_candidate {
            findings.extend(check_pod(ctx, pod));
        }
    }
}

fn check_pod(ctx: &Context<'_>, pod: &Pod) -> Option<Finding> {
    let evidence = find_line(ctx, pod, |line| {
        MESSAGE.iter().all(|part| line.contains(part))
    })?;
    let namespace = &pod.metadata.namespace;
    let finding = Finding::new(
        &CHECK.code,
        pod_ref(pod),
        "NCCL cannot use NVLink between the nodes: the container has no working IMEX channel",
    )
    .evidence(evidence);
    if pod.spec.resource_claims.is_empty() {
        let help = "create a ComputeDomain in the namespace of the pod, and refer to its ResourceClaimTemplate in \
`resourceClaims` of the pod and in `resources.claims` of the container";
        return Some(
            finding
                .field(pod_ref(pod), "spec.resourceClaims", "absent")
                .help(help)
                .command(format!(
                    "kubectl get computedomains --namespace {namespace}"
                )),
        );
    }
    let domains = ctx.state.objects(Kind::ComputeDomain).iter();
    let domains = domains.filter(|it| it.metadata.namespace == *namespace);
    let mut sources: Vec<ObjectRef> = domains
        .map(|it| ObjectRef::of_kind("ComputeDomain", &it.metadata))
        .collect();
    sources.push(ObjectRef::node(&pod.spec.node_name));
    Some(
        finding
            .depends_on(sources)
            .help(
                "check that a claim of the pod is of the device class `compute-domain-default-channel.nvidia.com`, \
and read the logs of the ComputeDomain's daemons",
            )
            .command(format!(
                "kubectl get computedomains,resourceclaims --namespace {namespace} -o yaml"
            )),
    )
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::codes;
    use super::CHECK;

    #[test]
    fn pods_with_claims_are_explained_by_their_domain() {
        let (_, objects) = CHECK.code.bad.split_once('\n').unwrap();
        let (items, logs) = objects.split_once("--- # logs").unwrap();
        let domain = r#"  - apiVersion: v1
    kind: Event
    metadata: {name: last, namespace: ml}
    lastTimestamp: "2026-11-28T13:00:00Z"
  - apiVersion: resource.nvidia.com/v1beta1
    kind: ComputeDomain
    metadata: {name: train, namespace: ml, creationTimestamp: "2026-11-28T12:00:00Z"}
    status: {status: NotReady, nodes: [{name: gpu-1, cliqueID: "a.1", index: 0, status: NotReady}]}
"#;
        let claims = "nodeName: gpu-1\n      resourceClaims: [{name: c, resourceClaimName: c}]";
        let items = items.replace("nodeName: gpu-1", claims);
        let (found, text) = codes(&format!("{items}--- # logs{logs}"));
        assert_eq!(found, [CHECK.code.id], "{text}");
        assert!(text.contains("compute-domain-default-channel"), "{text}");
        let (found, text) = codes(&format!("{items}{domain}--- # logs{logs}"));
        assert_eq!(found, ["GPUC7805"], "{text}");
    }

    #[test]
    fn pods_that_ended_are_silent() {
        let (_, objects) = CHECK.code.bad.split_once('\n').unwrap();
        let (found, text) = codes(&objects.replace("phase: Running", "phase: Succeeded"));
        assert!(found.is_empty(), "{text}");
    }
}
