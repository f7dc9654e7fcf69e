//! A `NodePool` of Karpenter for GPUs cannot create nodes.

use gpuc_syntax::diag::{Code, Correction, Severity};
use serde_json::Value;

use crate::doctor::check::{Check, Logs};
use crate::doctor::context::Context;
use crate::doctor::finding::{Finding, Layer};
use crate::objects::{Condition, Object, ObjectRef};
use crate::state::Kind;

pub(super) static CHECK: Check = Check {
    code: Code {
        id: "GPUC7704",
        name: "node-class-not-ready",
        severity: Severity::Error,
        summary: "a NodePool of Karpenter for GPUs cannot create nodes",
        checks: "Whether the EC2NodeClass of each NodePool of Karpenter with GPUs finds its AMIs, subnets, security \
groups and instance profile, and whether the machines of the NodePool register as nodes.",
        reason: "Karpenter ignores a NodePool whose class is not ready, and its pods wait. The condition is in the \
class only.",
        remedy: "Correct the selector that the condition names: the tags or ids of subnets and security groups, the \
alias of the AMI, or the role. If machines do not register, read the log of one: it needs access to the API server, and \
its user data must succeed.",
        bad: r#"--- # objects.yaml
apiVersion: v1
kind: List
items:
  - apiVersion: karpenter.sh/v1
    kind: NodePool
    metadata: {name: h100}
    spec:
      template:
        spec:
          nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: h100}
          requirements: [{key: node.kubernetes.io/instance-type, operator: In, values: [p5.48xlarge]}]
  - apiVersion: karpenter.k8s.aws/v1
    kind: EC2NodeClass
    metadata: {name: h100}
    status:
      conditions:
        - type: SubnetsReady
          status: "False"
          reason: SubnetsNotFound
          message: SubnetSelector did not match any Subnets
"#,
        correction: Correction::Replace(
            r#"status: "False"
          reason: SubnetsNotFound
          message: SubnetSelector did not match any Subnets"#,
            r#"status: "True"
          reason: SubnetsReady"#,
        ),
    },
    layer: Layer::Cloud,
    is_symptom: false,
    needs: &[Kind::NodePool, Kind::Ec2NodeClass],
    needs_logs: Logs::None,
    run,
};

/// The conditions of an `EC2NodeClass`, the problem, and what to do.
///
/// Source: aws/karpenter-provider-aws `pkg/apis/v1/ec2nodeclass_status.go`, 2026-11-28.
const CONDITIONS: &[(&str, &str, &str)] = &[
    (
        "SubnetsReady",
        "its class finds no subnets",
        "correct `subnetSelectorTerms` of the EC2NodeClass, or set the tags on the subnets",
    ),
    (
        "SecurityGroupsReady",
        "its class finds no security groups",
        "correct `securityGroupSelectorTerms` of the EC2NodeClass, or set the tags on the security groups",
    ),
    (
        "AMIsReady",
        "its class finds no AMI",
        "correct `amiSelectorTerms` of the EC2NodeClass: an AMI for this Kubernetes version must exist",
    ),
    (
        "InstanceProfileReady",
        "its class has no instance profile",
        "correct `role` or `instanceProfile` of the EC2NodeClass, and the rights of Karpenter in IAM",
    ),
    (
        "CapacityReservationsReady",
        "its class finds no capacity reservations",
        "correct `capacityReservationSelectorTerms` of the EC2NodeClass",
    ),
    (
        "ValidationSucceeded",
        "AWS refuses the settings of its class",
        "correct what the message of the condition names, mostly rights of Karpenter in IAM",
    ),
];

/// The condition of a `NodePool` whose machines do not register.
///
/// Source: kubernetes-sigs/karpenter `pkg/apis/v1/nodepool_status.go`, 2026-11-28.
const REGISTRATION: &str = "NodeRegistrationHealthy";

fn run(ctx: &Context<'_>, findings: &mut Vec<Finding>) {
    for pool in ctx.state.objects(Kind::NodePool) {
        if pool.metadata.deletion_timestamp.is_none() && has_gpus(ctx, pool) {
            findings.extend(check_class(ctx, pool).or_else(|| check_registration(pool)));
        }
    }
}

fn check_class(ctx: &Context<'_>, pool: &Object) -> Option<Finding> {
    let name = pool.text("/spec/template/spec/nodeClassRef/name");
    let class = ctx.state.object(Kind::Ec2NodeClass, "", name)?;
    let mut failed = CONDITIONS.iter().filter_map(|(kind, problem, help)| {
        let condition = class.condition(kind).filter(Condition::is_false)?;
        Some((condition, problem, help))
    });
    let (condition, problem, help) = failed.next()?;
    let object = ObjectRef::of_kind("EC2NodeClass", &class.metadata);
    Some(
        report(pool, problem)
            .field(object, &path(&condition), &condition.message)
            .help(*help)
            .command(format!(
                "kubectl describe ec2nodeclasses.karpenter.k8s.aws {name}"
            )),
    )
}

fn check_registration(pool: &Object) -> Option<Finding> {
    let condition = pool.condition(REGISTRATION).filter(Condition::is_false)?;
    let object = node_pool_ref(pool);
    let name = &pool.metadata.name;
    Some(
        report(pool, "its machines do not register as nodes")
            .field(object, &path(&condition), &condition.message)
            .help("read the log of a machine: it needs access to the API server, and its user data must succeed")
            .command(format!("kubectl describe nodepools.karpenter.sh {name}")),
    )
}

fn report(pool: &Object, problem: &str) -> Finding {
    let message = format!("the NodePool of Karpenter cannot create nodes: {problem}");
    Finding::new(&CHECK.code, node_pool_ref(pool), message)
}

fn path(condition: &Condition) -> String {
    format!("status.conditions[{}].message", condition.kind)
}

/// A reference to a `NodePool` of Karpenter.
pub(super) fn node_pool_ref(pool: &Object) -> ObjectRef {
    ObjectRef::of_kind("NodePool", &pool.metadata)
}

/// Whether a `NodePool` of Karpenter creates nodes with GPUs, by its taints and requirements.
///
/// Source: aws/karpenter-provider-aws `pkg/apis/v1/labels.go` (`instance-gpu-*`, `instance-accelerator-*`,
/// `instance-family`), 2026-11-28.
pub(super) fn has_gpus(ctx: &Context<'_>, pool: &Object) -> bool {
    let text = |value: &Value, key: &str| value[key].as_str().unwrap_or_default().to_owned();
    let mut taints = pool.items("/spec/template/spec/taints").iter();
    if taints.any(|taint| text(taint, "key").starts_with("nvidia.com/")) {
        return true;
    }
    let is_gpu_machine = |name: &str| {
        let mut clouds = ctx.registry.clouds.iter();
        clouds.any(|cloud| cloud.machine(name).is_some_and(|it| it.gpus.count > 0))
    };
    let is_gpu_family = |name: &str| {
        let rest = name.strip_prefix(['p', 'g']).unwrap_or_default();
        rest.starts_with(|it: char| it.is_ascii_digit())
    };
    let mut requirements = pool.items("/spec/template/spec/requirements").iter();
    requirements.any(|requirement| {
        let key = text(requirement, "key");
        if text(requirement, "operator") != "In" {
            return key.contains("instance-gpu-")
                && text(requirement, "operator") != "DoesNotExist";
        }
        let values = requirement["values"].as_array().into_iter().flatten();
        let mut values = values.filter_map(Value::as_str);
        match key.rsplit('/').next().unwrap_or_default() {
            "instance-type" => values.any(is_gpu_machine),
            "instance-family" | "instance-category" => {
                values.any(|it| is_gpu_family(it) || ["p", "g"].contains(&it))
            }
            name => name.starts_with("instance-gpu-"),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{codes, pending_pod};
    use super::CHECK;

    fn check(from: &str, to: &str) -> (Vec<&'static str>, String) {
        let (_, objects) = CHECK.code.bad.split_once('\n').unwrap();
        codes(&objects.replace(from, to))
    }

    #[test]
    fn pools_without_gpus_are_silent() {
        let requirement =
            "{key: node.kubernetes.io/instance-type, operator: In, values: [p5.48xlarge]}";
        for (other, expected) in [
            (
                "{key: node.kubernetes.io/instance-type, operator: In, values: [m7i.xlarge]}",
                0,
            ),
            (
                "{key: karpenter.k8s.aws/instance-category, operator: In, values: [c, m]}",
                0,
            ),
            (
                "{key: karpenter.k8s.aws/instance-family, operator: In, values: [g6]}",
                1,
            ),
            (
                "{key: karpenter.k8s.aws/instance-gpu-count, operator: Gt, values: ['0']}",
                1,
            ),
        ] {
            let (found, text) = check(requirement, other);
            assert_eq!(found.len(), expected, "{other}: {text}");
        }
    }

    #[test]
    fn machines_that_do_not_register_are_found() {
        let good = CHECK.code.good();
        let (_, objects) = good.split_once('\n').unwrap();
        let objects = objects.replacen(
            "    metadata: {name: h100}\n    spec:",
            "    metadata: {name: h100}
    status:
      conditions: [{type: NodeRegistrationHealthy, status: \"False\", reason: RegistrationFailed, message: m}]
    spec:",
            1,
        );
        let (found, text) = codes(&objects);
        assert_eq!(found, [CHECK.code.id], "{text}");
        assert!(text.contains("do not register"), "{text}");
    }

    #[test]
    fn the_pool_explains_pods_that_need_nodes() {
        let node = r#"{"kind": "Node", "apiVersion": "v1", "metadata": {"name": "cpu-1"},
          "status": {"conditions": [{"type": "Ready", "status": "True", "lastHeartbeatTime": "2026-11-28T12:00:00Z"}]}}"#;
        let (_, objects) = CHECK.code.bad.split_once('\n').unwrap();
        let pod = pending_pod("nvidia.com/gpu", "11:00:00");
        let (found, text) = codes(&format!("{objects}  - {node}\n  - {pod}\n"));
        assert_eq!(found, [CHECK.code.id], "{text}");
        assert!(text.contains("Pod ml/train-0 waits for it"), "{text}");
    }
}
