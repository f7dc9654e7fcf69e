//! A node of Karpenter does not become ready for pods with GPUs.

use gpuc_syntax::diag::{Code, Correction, Severity};

use crate::doctor::check::{Check, Logs};
use crate::doctor::context::Context;
use crate::doctor::finding::{Finding, Layer};
use crate::doctor::verdict::NODE_START_SECONDS;
use crate::objects::{Condition, Object, ObjectRef};
use crate::state::Kind;

pub(super) static CHECK: Check = Check {
    code: Code {
        id: "GPUC7703",
        name: "node-claim-stuck",
        severity: Severity::Error,
        summary: "a NodeClaim of Karpenter with GPUs does not become initialized",
        checks: "Whether each NodeClaim of Karpenter with GPUs is launched, registered and initialized within 15 \
minutes.",
        reason: "Karpenter counts on the node and creates no other one, and the pods wait. There is no time limit \
for the last step: a node without the GPUs that were requested stays, and costs as much as if it worked.",
        remedy: "The reason of the condition names the step. `ResourceNotRegistered`: the device plugin does not \
advertise the GPUs. `StartupTaintsExist`: the component that removes the taint does not run. A machine that does \
not register has no access to the API server, or its user data fails.",
        bad: r#"--- # objects.yaml
apiVersion: v1
kind: List
items:
  - apiVersion: v1
    kind: Node
    metadata: {name: gpu-1, labels: {nvidia.com/gpu.present: "true"}}
    status:
      capacity: {cpu: "64", pods: "110", nvidia.com/gpu: "8"}
      allocatable: {cpu: "64", pods: "110", nvidia.com/gpu: "8"}
      conditions: [{type: Ready, status: "True"}]
  - apiVersion: karpenter.sh/v1
    kind: NodeClaim
    metadata: {name: gpu-x7k2p, labels: {karpenter.sh/nodepool: gpu}}
    spec: {resources: {requests: {nvidia.com/gpu: "8"}}}
    status:
      nodeName: gpu-1
      conditions:
        - {type: Launched, status: "True"}
        - {type: Registered, status: "True"}
        - {type: Initialized, status: Unknown, reason: StartupTaintsExist, message: StartupTaint still exists}
"#,
        correction: Correction::Replace(
            "status: Unknown, reason: StartupTaintsExist, message: StartupTaint still exists",
            r#"status: "True""#,
        ),
    },
    layer: Layer::Scheduling,
    is_symptom: false,
    needs: &[Kind::NodeClaim],
    needs_logs: Logs::None,
    run,
};

/// The reasons of conditions, the problem, and what to do.
///
/// Source: kubernetes-sigs/karpenter `pkg/controllers/nodeclaim/lifecycle` (`initialization.go`, `registration.go`,
/// `launch.go`), 2026-11-28.
static REASONS: &[(&str, &str, &str)] = &[
    (
        "ResourceNotRegistered",
        "its node does not have the resources that were requested",
        "find out why the device plugin does not advertise the GPUs of the node",
    ),
    (
        "DRADriverPoolsNotPublished",
        "its node does not publish its ResourceSlices",
        "read the log of NVIDIA's DRA driver on the node",
    ),
    (
        "StartupTaintsExist",
        "its node still has a startup taint",
        "start the component that removes the taint, or remove the taint from `startupTaints` of the NodePool",
    ),
    (
        "KnownEphemeralTaintsExist",
        "its node still has a taint of its start",
        "find out why the cloud controller or the network plugin does not remove the taint",
    ),
    (
        "NodeNotReady",
        "its node is not ready",
        "read the conditions of the node",
    ),
    (
        "NodeNotFound",
        "its machine did not join the cluster",
        "read the log of the machine: it needs access to the API server, and its user data must succeed",
    ),
];

fn run(ctx: &Context<'_>, findings: &mut Vec<Finding>) {
    for claim in ctx.state.objects(Kind::NodeClaim) {
        let age = ctx.age(claim.metadata.creation_timestamp);
        let is_new = age.is_some_and(|seconds| seconds < NODE_START_SECONDS);
        if is_new || claim.metadata.deletion_timestamp.is_some() || !has_gpus(claim) {
            continue;
        }
        let steps = ["Launched", "Registered", "Initialized"].into_iter();
        let conditions = steps.filter_map(|step| claim.condition(step));
        let Some(condition) = conditions.into_iter().find(|it| !it.is_true()) else {
            continue;
        };
        findings.push(report(claim, condition));
    }
}

/// Whether a `NodeClaim` is for a node with GPUs.
fn has_gpus(claim: &Object) -> bool {
    ["/spec/resources/requests", "/status/capacity"]
        .iter()
        .filter_map(|pointer| claim.get(pointer).as_object())
        .flat_map(|resources| resources.keys())
        .any(|name| name.starts_with("nvidia.com/"))
}

fn report(claim: &Object, condition: Condition) -> Finding {
    let mut reasons = REASONS.iter();
    let found = reasons.find(|(reason, ..)| *reason == condition.reason);
    let (problem, help) = if let Some((_, problem, help)) = found {
        ((*problem).to_owned(), *help)
    } else {
        let step = condition.kind.to_lowercase();
        (
            format!("it is not {step}: `{}`", condition.reason),
            "correct what the message of the condition names; the log of Karpenter has more details",
        )
    };
    let object = ObjectRef::of_kind("NodeClaim", &claim.metadata);
    let command = format!("kubectl describe nodeclaims.karpenter.sh {}", object.name);
    let node = claim.text("/status/nodeName");
    let node = Some(node).filter(|it| !it.is_empty()).map(ObjectRef::node);
    let pool = claim.metadata.label("karpenter.sh/nodepool");
    let pool = pool.map(|name| ObjectRef::new("NodePool", "", name));
    let path = format!("status.conditions[{}].message", condition.kind);
    let message = format!("the NodeClaim gives no node for pods with GPUs: {problem}");
    Finding::new(&CHECK.code, object.clone(), message)
        .field(object, &path, condition.message)
        .depends_on(node.into_iter().chain(pool).collect::<Vec<_>>())
        .help(help)
        .command(command)
}

#[cfg(test)]
mod tests {
    use crate::doctor::testing::{HEALTHY_NODE, codes, list_objects};

    fn claim(time: &str, resource: &str, conditions: &str) -> String {
        format!(
            r#"{{"kind": "NodeClaim", "apiVersion": "karpenter.sh/v1",
              "metadata": {{"name": "c", "creationTimestamp": "2026-11-28T{time}Z"}},
              "spec": {{"resources": {{"requests": {{"{resource}": "1"}}}}}},
              "status": {{"nodeName": "gpu-2", "conditions": [{conditions}]}}}}"#
        )
    }

    const LAUNCHED: &str = r#"{"type": "Launched", "status": "True"}"#;
    const LOST: &str = r#"{"type": "Registered", "status": "Unknown", "reason": "NodeNotFound"}"#;

    #[test]
    fn claims_that_start_or_have_no_gpus_are_silent() {
        let lost = format!("{LAUNCHED}, {LOST}");
        for (claim, expected) in [
            (claim("11:00:00", "nvidia.com/gpu", &lost), 1),
            (claim("11:50:00", "nvidia.com/gpu", &lost), 0),
            (claim("11:00:00", "cpu", &lost), 0),
            (claim("11:00:00", "nvidia.com/gpu", LAUNCHED), 0),
            (claim("11:00:00", "nvidia.com/gpu", ""), 0),
        ] {
            let (found, text) = codes(&list_objects(&[HEALTHY_NODE, &claim]));
            assert_eq!(found.len(), expected, "{text}");
        }
    }

    #[test]
    fn reasons_are_explained() {
        for (condition, expected) in [
            (LOST, "did not join the cluster"),
            (
                r#"{"type": "Launched", "status": "False", "reason": "LaunchFailed", "message": "no"}"#,
                "it is not launched: `LaunchFailed`",
            ),
        ] {
            let claim = claim("11:00:00", "nvidia.com/gpu", condition);
            let (found, text) = codes(&list_objects(&[HEALTHY_NODE, &claim]));
            assert_eq!(found, ["GPUC7703"], "{text}");
            assert!(text.contains(expected), "{text}");
        }
    }

    #[test]
    fn the_node_pool_explains_its_claim() {
        let claim = claim("11:00:00", "nvidia.com/gpu", LOST).replace(
            r#""name": "c","#,
            r#""name": "c", "labels": {"karpenter.sh/nodepool": "gpu"},"#,
        );
        let pool = r#"{"kind": "NodePool", "apiVersion": "karpenter.sh/v1", "metadata": {"name": "gpu"},
          "spec": {"template": {"spec": {"taints": [{"key": "nvidia.com/gpu", "effect": "NoSchedule"}]}}},
          "status": {"conditions": [{"type": "NodeRegistrationHealthy", "status": "False"}]}}"#;
        let (found, text) = codes(&list_objects(&[HEALTHY_NODE, pool, &claim]));
        assert_eq!(found, ["GPUC7704"], "{text}");
        assert!(text.contains("NodeClaim c"), "{text}");
    }

    #[test]
    fn the_node_explains_its_claim() {
        let node = r#"{"kind": "Node", "apiVersion": "v1",
          "metadata": {"name": "gpu-2", "labels": {"node.kubernetes.io/instance-type": "p5.48xlarge"}},
          "status": {"conditions": [{"type": "Ready", "status": "True"}]}}"#;
        let pod = r#"{"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "x", "namespace": "kube-system"}}"#;
        let missing =
            r#"{"type": "Initialized", "status": "Unknown", "reason": "ResourceNotRegistered"}"#;
        let claim = claim("11:00:00", "nvidia.com/gpu", missing);
        let (found, text) = codes(&list_objects(&[HEALTHY_NODE, node, pod, &claim]));
        assert_eq!(found, ["GPUC7301"], "{text}");
        assert!(text.contains("NodeClaim c"), "{text}");
    }
}
