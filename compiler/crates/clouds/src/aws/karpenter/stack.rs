//! Karpenter's resources in AWS: one CloudFormation stack, so that they are created and deleted together.
//!
//! The stack contains the controller's role and its association with the service account, the role of the nodes, the
//! access entry with which they join the cluster, and a queue for interruption events.

use gpuc_model::check::Checked;
use gpuc_model::cloud::KARPENTER;
use gpuc_model::plan::{
    Change, Contents, Field, FieldKind, File, Observe, Resource, ResourceKind, Word,
};
use gpuc_syntax::node::{Node, Origin};
use serde_json::{Map, Value, json};

use super::super::commands::{Target, aws};
use super::super::{cluster_name, section};
use super::policy::policy;
use super::{PREFIX, digest, installed, instance_profile, pools, queue};

/// The path of the template below `cloud/`.
const PATH: &str = "karpenter.yaml";

/// The tag of the stack with the digest of its template, which shows whether the template has changed.
const TAG: &str = "gpuc.dev/template";

/// The stack.
pub(in super::super) static STACK: ResourceKind = ResourceKind {
    name: "CloudFormation stack",
    fields: &[TEMPLATE],
    definitions: "",
};

/// The machines that Karpenter created. gpuc's scripts only delete them, before they delete the cluster.
pub(in super::super) static LEFT: ResourceKind = ResourceKind {
    name: "Karpenter nodes",
    fields: &[],
    definitions: "",
};

const TEMPLATE: FieldKind = FieldKind {
    name: "template",
    read: r#"[.Stacks[0].Tags[]? | select(.Key == "gpuc.dev/template") | .Value][0] // """#,
    create: None,
    change: Change::InPlace,
    source: "botocore 1.43.11, cloudformation DescribeStacks; awscli customizations/cloudformation/deploy.py, 2026-11-21",
};

/// The template, if gpuc installs Karpenter.
pub(in super::super) fn file(checked: &Checked<'_>) -> Option<File> {
    let span = installed(checked)?;
    let name = cluster_name(&checked.config);
    let inputs = [span, name.span, section(&checked.config).region.span];
    let origin = Origin::rule(
        inputs,
        "Karpenter creates machines in AWS and receives interruption events",
    );
    Some(File {
        path: PATH.to_owned(),
        contents: Contents::Yaml(Node::typed(&template(checked), origin.clone())),
        origin,
    })
}

/// The machines and the stack. The machines are first, so that they are deleted last, when Karpenter cannot create new
/// ones.
pub(in super::super) fn resources(checked: &Checked<'_>) -> Vec<Resource> {
    let Some(span) = installed(checked) else {
        return Vec::new();
    };
    let target = Target::cluster(checked);
    let origin = Origin::rule(
        [span],
        "Karpenter provisions pools without a fixed number of nodes",
    );
    let made = machines(checked, &target, origin.clone());
    made.into_iter()
        .chain([stack(checked, &target, origin)])
        .collect()
}

fn stack(checked: &Checked<'_>, target: &Target, origin: Origin) -> Resource {
    let name = format!("{PREFIX}{}", target.cluster);
    let template = digest(&template(checked).to_string());
    let on = |command: &[&str]| {
        let command = aws(command.iter().copied(), &target.region);
        command.with(["--stack-name", &name])
    };
    // Creates or updates the stack and waits for completion.
    let deploy = on(&["cloudformation", "deploy"])
        .with(["--template-file"])
        .with_word(Word::Beside(PATH.to_owned()))
        .with(["--capabilities", "CAPABILITY_NAMED_IAM"])
        .with(["--no-fail-on-empty-changeset", "--tags"])
        .with([format!("{TAG}={template}")]);
    Resource {
        kind: &STACK,
        name: name.clone(),
        script: "karpenter".to_owned(),
        about: format!(
            "AWS resources for Karpenter in EKS cluster {}",
            target.cluster
        ),
        observe: Observe {
            command: on(&["cloudformation", "describe-stacks"]).with(["--output", "json"]),
            absent: "does not exist",
        },
        create: vec![deploy.clone()],
        by_hand: Vec::new(),
        comes_with: None,
        fields: vec![Field {
            kind: &TEMPLATE,
            want: json!(template),
            update: vec![deploy],
            others: None,
            origin: origin.clone(),
        }],
        delete: vec![
            on(&["cloudformation", "delete-stack"]),
            on(&["cloudformation", "wait", "stack-delete-complete"]),
        ],
        origin,
    }
}

/// The machines of Karpenter's pools, selected by the tags that Karpenter sets
/// (website/content/en/v1.14/concepts/nodeclasses.md, `spec.tags`).
fn machines(checked: &Checked<'_>, target: &Target, origin: Origin) -> Option<Resource> {
    let names: Vec<_> = pools(checked).map(|pool| pool.name.as_str()).collect();
    if names.is_empty() {
        return None;
    }
    let filters = [
        format!(
            "Name=tag:kubernetes.io/cluster/{},Values=owned",
            target.cluster
        ),
        format!("Name=tag:karpenter.sh/nodepool,Values={}", names.join(",")),
        "Name=instance-state-name,Values=pending,running,stopping,stopped".to_owned(),
    ];
    let look = aws(["ec2", "describe-instances"], &target.region).with(["--filters"]);
    let look = look.with(filters).with([
        "--query",
        "Reservations[].Instances[].InstanceId || `null`",
        "--output",
        "json",
    ]);
    let on = |command: &[&str]| {
        let command = aws(command.iter().copied(), &target.region);
        command
            .with(["--instance-ids"])
            .with_word(Word::ObservedWords(".".to_owned()))
    };
    Some(Resource {
        kind: &LEFT,
        name: format!("of cluster {}", target.cluster),
        script: "karpenter".to_owned(),
        about: format!(
            "machines of EKS cluster {} that Karpenter created",
            target.cluster
        ),
        observe: Observe {
            command: look,
            absent: "no machine is an answer, and no error", // never matches: no machines are `null`
        },
        create: Vec::new(),
        by_hand: Vec::new(),
        comes_with: None,
        fields: Vec::new(),
        delete: vec![
            on(&["ec2", "terminate-instances"]),
            on(&["ec2", "wait", "instance-terminated"]),
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
    let machines = json!({"Fn::Sub": "ec2.${AWS::URLSuffix}"});
    add(
        "NodeRole",
        "AWS::IAM::Role",
        json!({
            "AssumeRolePolicyDocument": assumed_by(machines, &["sts:AssumeRole"]),
            "ManagedPolicyArns": managed,
        }),
    );
    add(
        "NodeInstanceProfile",
        "AWS::IAM::InstanceProfile",
        json!({
            "InstanceProfileName": instance_profile(cluster, region),
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
    let pods = json!("pods.eks.amazonaws.com");
    add(
        "ControllerRole",
        "AWS::IAM::Role",
        json!({
            "AssumeRolePolicyDocument": assumed_by(pods, &["sts:AssumeRole", "sts:TagSession"]),
            "Policies": [{"PolicyName": "karpenter", "PolicyDocument": policy(cluster)}],
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
    interruptions(&mut add, cluster);
    json!({
        "AWSTemplateFormatVersion": "2010-09-09",
        "Description": format!("Resources for Karpenter in EKS cluster {cluster}"),
        "Resources": resources,
    })
}

/// The rules for interruption events: name, source and kind of the event.
///
/// Source: `cloudformation.yaml`, as in `policy.rs`.
const EVENTS: &[(&str, &str, &str)] = &[
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

fn interruptions(add: &mut impl FnMut(&str, &str, Value), cluster: &str) {
    let arn = json!({"Fn::GetAtt": ["Queue", "Arn"]});
    add(
        "Queue",
        "AWS::SQS::Queue",
        json!({
            "QueueName": queue(cluster),
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
    for (name, source, kind) in EVENTS {
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
