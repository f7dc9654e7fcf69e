//! The IAM permissions of Karpenter's controller.
//!
//! Source: the purpose of each statement is documented in aws/karpenter-provider-aws
//! `website/content/en/v1.14/reference/cloudformation.md`; actions and conditions in `cloudformation.yaml` of
//! `getting-started/getting-started-with-karpenter` there, @e0834c2b, read 2026-11-21. The stack contains the instance
//! profile, so Karpenter does not need to create one.

use serde_json::{Value, json};

/// The tag that Karpenter sets on all resources that it creates.
const NODE_POOL_TAG: &str = "karpenter.sh/nodepool";

/// The policy for the cluster with this name.
pub(super) fn controller_policy(cluster: &str) -> Value {
    let ownership_tag = format!("kubernetes.io/cluster/{cluster}");
    let request_condition = json!({
        "StringEquals": {
            format!("aws:RequestTag/{ownership_tag}"): "owned",
            "aws:RequestTag/eks:eks-cluster-name": cluster,
        },
        "StringLike": {format!("aws:RequestTag/{NODE_POOL_TAG}"): "*"},
    });
    let resource_condition = json!({
        "StringEquals": {format!("aws:ResourceTag/{ownership_tag}"): "owned"},
        "StringLike": {format!("aws:ResourceTag/{NODE_POOL_TAG}"): "*"},
    });
    let mut tagging = request_condition.clone();
    tagging["StringEquals"]["ec2:CreateAction"] =
        json!(["RunInstances", "CreateFleet", "CreateLaunchTemplate"]);
    let mut naming = resource_condition.clone();
    naming["StringEqualsIfExists"] = json!({"aws:RequestTag/eks:eks-cluster-name": cluster});
    naming["ForAllValues:StringEquals"] =
        json!({"aws:TagKeys": ["eks:eks-cluster-name", "karpenter.sh/nodeclaim", "Name"]});
    let created_kinds = [
        "fleet",
        "instance",
        "volume",
        "network-interface",
        "launch-template",
        "spot-instances-request",
    ];
    let mut used_arns: Vec<_> = ["image", "snapshot"].map(|kind| ec2("", kind)).into();
    let kinds = [
        "security-group",
        "subnet",
        "capacity-reservation",
        "placement-group",
    ];
    used_arns.extend(kinds.map(|kind| ec2("*", kind)));
    let created_arns = created_kinds.map(|kind| ec2("*", kind));
    let template = ec2("*", "launch-template");
    let instance = ec2("*", "instance");
    let launch = json!(["ec2:RunInstances", "ec2:CreateFleet"]);
    let region_condition = json!({"StringEquals": {"aws:RequestedRegion": {"Ref": "AWS::Region"}}});
    let ec2_condition = json!({"StringEquals": {"iam:PassedToService": ["ec2.amazonaws.com", "ec2.amazonaws.com.cn"]}});
    let statements = [
        allow_statement(
            "AllowLaunchFromImagesAndNetworks",
            &launch,
            &json!(used_arns),
            None,
        ),
        allow_statement(
            "AllowLaunchFromOwnedTemplates",
            &launch,
            &template,
            Some(&resource_condition),
        ),
        allow_statement(
            "AllowTaggedInstanceCreation",
            &json!([
                "ec2:RunInstances",
                "ec2:CreateFleet",
                "ec2:CreateLaunchTemplate"
            ]),
            &json!(created_arns),
            Some(&request_condition),
        ),
        allow_statement(
            "AllowTaggingAtCreation",
            &json!("ec2:CreateTags"),
            &json!(created_arns),
            Some(&tagging),
        ),
        allow_statement(
            "AllowTaggingOwnedInstances",
            &json!("ec2:CreateTags"),
            &instance,
            Some(&naming),
        ),
        allow_statement(
            "AllowDeletionOfOwnedResources",
            &json!(["ec2:TerminateInstances", "ec2:DeleteLaunchTemplate"]),
            &json!([instance, template]),
            Some(&resource_condition),
        ),
        allow_statement(
            "AllowRegionalReadActions",
            &json!(READ_ACTIONS),
            &json!("*"),
            Some(&region_condition),
        ),
        allow_statement(
            "AllowReadImageParameters",
            &json!("ssm:GetParameter"),
            &arn("ssm", "", "parameter/aws/service/*"),
            None,
        ),
        allow_statement(
            "AllowReadPrices",
            &json!("pricing:GetProducts"),
            &json!("*"),
            None,
        ),
        allow_statement(
            "AllowListInstanceProfiles",
            &json!("iam:ListInstanceProfiles"),
            &json!("*"),
            None,
        ),
        allow_statement(
            "AllowReadInstanceProfiles",
            &json!("iam:GetInstanceProfile"),
            &json!({"Fn::Sub": "arn:${AWS::Partition}:iam::${AWS::AccountId}:instance-profile/*"}),
            None,
        ),
        allow_statement(
            "AllowPassingNodeRole",
            &json!("iam:PassRole"),
            &json!({"Fn::GetAtt": ["NodeRole", "Arn"]}),
            Some(&ec2_condition),
        ),
        allow_statement(
            "AllowReadCluster",
            &json!("eks:DescribeCluster"),
            &arn("eks", "${AWS::AccountId}", &format!("cluster/{cluster}")),
            None,
        ),
        allow_statement(
            "AllowReceiveInterruptionMessages",
            &json!(["sqs:DeleteMessage", "sqs:GetQueueUrl", "sqs:ReceiveMessage"]),
            &json!({"Fn::GetAtt": ["Queue", "Arn"]}),
            None,
        ),
    ];
    json!({"Version": "2012-10-17", "Statement": statements})
}

/// The read-only actions.
const READ_ACTIONS: &[&str] = &[
    "ec2:DescribeCapacityReservations",
    "ec2:DescribeImages",
    "ec2:DescribeInstances",
    "ec2:DescribeInstanceStatus",
    "ec2:DescribeInstanceTypeOfferings",
    "ec2:DescribeInstanceTypes",
    "ec2:DescribeLaunchTemplates",
    "ec2:DescribePlacementGroups",
    "ec2:DescribeSecurityGroups",
    "ec2:DescribeSpotPriceHistory",
    "ec2:DescribeSubnets",
];

/// A statement that allows actions on resources.
fn allow_statement(sid: &str, actions: &Value, on: &Value, condition: Option<&Value>) -> Value {
    let mut statement = json!({"Sid": sid, "Effect": "Allow", "Action": actions, "Resource": on});
    if let Some(condition) = condition {
        statement["Condition"] = condition.clone();
    }
    statement
}

/// The ARN of all EC2 resources of a kind; images and snapshots have no account.
fn ec2(account: &str, kind: &str) -> Value {
    arn("ec2", account, &format!("{kind}/*"))
}

fn arn(service: &str, account: &str, rest: &str) -> Value {
    let arn = format!("arn:${{AWS::Partition}}:{service}:${{AWS::Region}}:{account}:{rest}");
    json!({"Fn::Sub": arn})
}

#[cfg(test)]
mod tests {
    use super::*;

    /// IAM limits all inline policies of a role to 10,240 characters, without white space.
    /// Source: docs.aws.amazon.com/IAM/latest/UserGuide/reference_iam-quotas.html (from memory).
    #[test]
    fn policy_fits_the_limit_of_a_role() {
        let text = controller_policy(&"a".repeat(100)).to_string();
        assert!(text.len() < 10_240, "{}", text.len());
    }

    #[test]
    fn statement_ids_name_what_they_allow() {
        let policy = controller_policy("demo");
        for statement in policy["Statement"].as_array().expect("statements") {
            let sid = statement["Sid"].as_str().expect("a statement ID");
            assert!(sid.starts_with("Allow"), "{sid}");
            // Source: docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_elements_sid.html (from memory).
            assert!(sid.bytes().all(|it| it.is_ascii_alphanumeric()), "{sid}");
        }
    }

    #[test]
    fn mutating_actions_require_the_cluster_tag() {
        let policy = controller_policy("demo");
        for statement in policy["Statement"].as_array().expect("statements") {
            let actions = statement["Action"].to_string();
            let mutating = ["Terminate", "Delete", "CreateLaunchTemplate", "CreateTags"];
            let is_queue = actions.contains("sqs:");
            if !is_queue && mutating.iter().any(|action| actions.contains(action)) {
                let condition = statement["Condition"].to_string();
                assert!(
                    condition.contains("kubernetes.io/cluster/demo"),
                    "{statement}"
                );
            }
        }
    }
}
