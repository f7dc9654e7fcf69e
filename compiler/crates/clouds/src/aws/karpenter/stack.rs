//! Karpenter's resources in AWS: one CloudFormation stack, so that they are created and deleted together.
//!
//! The stack contains the controller's role and its association with the service account, the role of the nodes, the
//! access entry with which they join the cluster, and a queue for interruption events.

use gpuc_model::check::Checked;
use gpuc_model::cloud::KARPENTER;
use gpuc_model::plan::{
    Argument, Change, Contents, Field, FieldKind, File, Mark, Observation, Resource, ResourceKind,
};
use gpuc_syntax::node::{Node, Origin};
use serde_json::{Map, Value, json};

use super::super::commands::{Target, aws};
use super::super::{cluster, cluster_name, section, state};
use super::policy::controller_policy;
use super::{
    RESOURCE_PREFIX, install_span, instance_profile_name, provisioned_pools, queue_name, sha256_hex,
};

/// The path of the template below `cloud/`.
const TEMPLATE_PATH: &str = "karpenter.yaml";

/// The tag of the stack with the digest of its template, which shows whether the template has changed.
const TEMPLATE_TAG: &str = "gpuc.dev/template";

/// The stack.
pub(in super::super) static STACK: ResourceKind = ResourceKind {
    name: "CloudFormation stack",
    protection: None,
    fields: &[TEMPLATE],
    definitions: "",
    state: Some(&state::STACK),
    mark: Some(&Mark {
        name: "tag gpuc.dev/template",
        read: r#"any(.Stacks[0].Tags[]?; .Key == "gpuc.dev/template")"#,
    }),
};

/// The machines that Karpenter created. gpuc's scripts only delete them, before they delete the cluster.
pub(in super::super) static KARPENTER_NODES: ResourceKind = ResourceKind {
    name: "Karpenter nodes",
    protection: None,
    fields: &[],
    definitions: "",
    state: None,
    mark: None,
};

const TEMPLATE: FieldKind = FieldKind {
    name: "template",
    read: r#"[.Stacks[0].Tags[]? | select(.Key == "gpuc.dev/template") | .Value][0] // """#,
    create_flag: None,
    change: Change::InPlace,
    source: "botocore 1.43.11, cloudformation DescribeStacks; awscli customizations/cloudformation/deploy.py, 2026-11-21",
};

/// The template, if gpuc installs Karpenter.
pub(in super::super) fn template_file(checked: &Checked<'_>) -> Option<File> {
    let span = install_span(checked)?;
    let name = cluster_name(&checked.config);
    let inputs = [span, name.span, section(&checked.config).region.span];
    let origin = Origin::rule(
        inputs,
        "Karpenter creates machines in AWS and receives interruption events",
    );
    Some(File {
        path: TEMPLATE_PATH.to_owned(),
        contents: Contents::Yaml(Node::from_serializable(&template(checked), origin.clone())),
        origin,
    })
}

/// The machines and the stack. The machines are first, so that they are deleted last, when Karpenter cannot create new
/// ones.
pub(in super::super) fn resources(checked: &Checked<'_>) -> Vec<Resource> {
    let Some(span) = install_span(checked) else {
        return Vec::new();
    };
    let target = Target::for_cluster(checked);
    let origin = Origin::rule(
        [span],
        "Karpenter provisions pools without a fixed number of nodes",
    );
    let nodes = karpenter_nodes(checked, &target, origin.clone());
    nodes
        .into_iter()
        .chain([stack_resource(checked, &target, origin)])
        .collect()
}

fn stack_resource(checked: &Checked<'_>, target: &Target, origin: Origin) -> Resource {
    let name = format!("{RESOURCE_PREFIX}{}", target.cluster);
    let template = sha256_hex(&template(checked).to_string());
    let stack_command = |command: &[&str]| {
        let command = aws(command.iter().copied(), &target.region);
        command.with_arguments(["--stack-name", &name])
    };
    // Creates or updates the stack and waits for completion.
    let deploy = stack_command(&["cloudformation", "deploy"])
        .with_arguments(["--template-file"])
        .with_argument(Argument::CloudFile(TEMPLATE_PATH.to_owned()))
        .with_arguments(["--capabilities", "CAPABILITY_NAMED_IAM"])
        .with_arguments(["--no-fail-on-empty-changeset", "--tags"])
        .with_arguments([format!("{TEMPLATE_TAG}={template}")]);
    Resource {
        kind: &STACK,
        name: name.clone(),
        script: "karpenter".to_owned(),
        description: format!(
            "Creates and updates the AWS resources of Karpenter in EKS cluster {}.",
            target.cluster
        ),
        observation: state::observe_stack(&name, &target.region),
        create: vec![deploy.clone()],
        contents: None,
        manual_delete: Vec::new(),
        remnant: None,
        recovery: state::stack_recovery(&name, &target.region),
        created_with: None,
        fields: vec![Field {
            kind: &TEMPLATE,
            desired: json!(template),
            update: vec![deploy],
            lookup: None,
            is_set_after_creation: false,
            external_entries: None,
            origin: origin.clone(),
        }],
        delete: vec![
            stack_command(&["cloudformation", "delete-stack"]),
            stack_command(&["cloudformation", "wait", "stack-delete-complete"]),
        ],
        origin,
    }
}

/// The machines of Karpenter's pools, selected by the tags that Karpenter sets
/// (website/content/en/v1.14/concepts/nodeclasses.md, `spec.tags`).
fn karpenter_nodes(checked: &Checked<'_>, target: &Target, origin: Origin) -> Option<Resource> {
    let names: Vec<_> = provisioned_pools(checked)
        .map(|pool| pool.name.as_str())
        .collect();
    if names.is_empty() {
        return None;
    }
    let filters = [
        format!(
            "Name=tag:kubernetes.io/cluster/{},Values=owned",
            target.cluster
        ),
        format!("Name=tag:karpenter.sh/nodepool,Values={}", names.join(",")),
        // Another installation of Karpenter can have a NodePool of the same name.
        format!("Name=tag:{},Values={}", cluster::MARK, target.cluster),
        "Name=instance-state-name,Values=pending,running,stopping,stopped".to_owned(),
    ];
    let describe = aws(["ec2", "describe-instances"], &target.region).with_arguments(["--filters"]);
    let describe = describe.with_arguments(filters).with_arguments([
        "--query",
        "Reservations[].Instances[].InstanceId || `null`",
        "--output",
        "json",
    ]);
    let instance_command = |command: &[&str]| {
        let command = aws(command.iter().copied(), &target.region);
        command
            .with_arguments(["--instance-ids"])
            .with_argument(Argument::ObservedList(".".to_owned()))
    };
    Some(Resource {
        kind: &KARPENTER_NODES,
        name: format!("of cluster {}", target.cluster),
        script: "karpenter".to_owned(),
        description: format!(
            "Deletes the machines of EKS cluster {} that Karpenter created.",
            target.cluster
        ),
        observation: Observation {
            command: describe,
            absent_pattern: "no machine is an answer, and no error", // never matches: no machines are `null`
        },
        create: Vec::new(),
        contents: None,
        manual_delete: Vec::new(),
        remnant: None,
        recovery: Vec::new(),
        created_with: None,
        fields: Vec::new(),
        delete: vec![
            instance_command(&["ec2", "terminate-instances"]),
            instance_command(&["ec2", "wait", "instance-terminated"]),
        ],
        origin,
    })
}

fn template(checked: &Checked<'_>) -> Value {
    let cluster = cluster_name(&checked.config).as_str();
    let region = section(&checked.config).region.as_str();
    let (namespace, account) = KARPENTER;
    let assumed_by = |service: Value, actions: &[&str]| {
        let statement =
            json!({"Effect": "Allow", "Principal": {"Service": service}, "Action": actions});
        json!({"Version": "2012-10-17", "Statement": [statement]})
    };
    let mut resources = Map::new();
    let mut add = |name: &str, kind: &str, properties: Value| {
        let resource = json!({"Type": kind, "Properties": properties});
        resources.insert(name.to_owned(), resource);
    };
    let managed = [
        "AmazonEKS_CNI_Policy",
        "AmazonEKSWorkerNodePolicy",
        "AmazonEC2ContainerRegistryPullOnly",
        "AmazonSSMManagedInstanceCore",
    ];
    let managed = managed.map(|name| {
        let arn = format!("arn:${{AWS::Partition}}:iam::aws:policy/{name}");
        json!({"Fn::Sub": arn})
    });
    let ec2_service = json!({"Fn::Sub": "ec2.${AWS::URLSuffix}"});
    add(
        "NodeRole",
        "AWS::IAM::Role",
        json!({
            "AssumeRolePolicyDocument": assumed_by(ec2_service, &["sts:AssumeRole"]),
            "ManagedPolicyArns": managed,
        }),
    );
    add(
        "NodeInstanceProfile",
        "AWS::IAM::InstanceProfile",
        json!({
            "InstanceProfileName": instance_profile_name(cluster, region),
            "Roles": [{"Ref": "NodeRole"}],
        }),
    );
    let node_role = json!({"Fn::GetAtt": ["NodeRole", "Arn"]});
    // docs.aws.amazon.com/eks/latest/userguide/creating-access-entries.html (from memory): the type for Linux nodes.
    add(
        "NodeAccess",
        "AWS::EKS::AccessEntry",
        json!({"ClusterName": cluster, "PrincipalArn": node_role, "Type": "EC2_LINUX"}),
    );
    let pods_service = json!("pods.eks.amazonaws.com");
    add(
        "ControllerRole",
        "AWS::IAM::Role",
        json!({
            "AssumeRolePolicyDocument": assumed_by(pods_service, &["sts:AssumeRole", "sts:TagSession"]),
            "Policies": [{"PolicyName": "karpenter", "PolicyDocument": controller_policy(cluster)}],
        }),
    );
    add(
        "ControllerIdentity",
        "AWS::EKS::PodIdentityAssociation",
        json!({
            "ClusterName": cluster,
            "Namespace": namespace,
            "ServiceAccount": account,
            "RoleArn": {"Fn::GetAtt": ["ControllerRole", "Arn"]},
        }),
    );
    add_interruption_queue(&mut add, cluster);
    json!({
        "AWSTemplateFormatVersion": "2010-09-09",
        "Description": format!("Resources for Karpenter in EKS cluster {cluster}"),
        "Resources": resources,
    })
}

/// The rules for interruption events: name, source and kind of the event.
///
/// Source: `cloudformation.yaml`, as in `policy.rs`.
const INTERRUPTION_EVENTS: &[(&str, &str, &str)] = &[
    ("HealthRule", "aws.health", "AWS Health Event"),
    (
        "SpotRule",
        "aws.ec2",
        "EC2 Spot Instance Interruption Warning",
    ),
    (
        "RebalanceRule",
        "aws.ec2",
        "EC2 Instance Rebalance Recommendation",
    ),
    (
        "StateRule",
        "aws.ec2",
        "EC2 Instance State-change Notification",
    ),
    (
        "ReservationRule",
        "aws.ec2",
        "EC2 Capacity Reservation Instance Interruption Warning",
    ),
];

fn add_interruption_queue(add: &mut impl FnMut(&str, &str, Value), cluster: &str) {
    let arn = json!({"Fn::GetAtt": ["Queue", "Arn"]});
    add(
        "Queue",
        "AWS::SQS::Queue",
        json!({
            "QueueName": queue_name(cluster),
            "MessageRetentionPeriod": 300,
            "SqsManagedSseEnabled": true,
        }),
    );
    let services = ["events.amazonaws.com", "sqs.amazonaws.com"];
    add(
        "QueuePolicy",
        "AWS::SQS::QueuePolicy",
        json!({
            "Queues": [{"Ref": "Queue"}],
            "PolicyDocument": {
                "Version": "2012-10-17",
                "Statement": [
                    {
                        "Effect": "Allow",
                        "Principal": {"Service": services},
                        "Action": "sqs:SendMessage",
                        "Resource": arn,
                    },
                    {
                        "Effect": "Deny",
                        "Principal": "*",
                        "Action": "sqs:*",
                        "Resource": arn,
                        "Condition": {"Bool": {"aws:SecureTransport": false}},
                    },
                ],
            },
        }),
    );
    for (name, source, kind) in INTERRUPTION_EVENTS {
        add(
            name,
            "AWS::Events::Rule",
            json!({
                "EventPattern": {"source": [source], "detail-type": [kind]},
                "Targets": [{"Id": "karpenter", "Arn": arn}],
            }),
        );
    }
}
