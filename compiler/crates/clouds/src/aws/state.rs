//! The states of EKS resources, how to recover from their failures, and the errors of the AWS CLI and eksctl.
//!
//! "botocore" is boto/botocore@0e6e2404 (2026-08-07), the service models and waiters of eks and cloudformation;
//! "eksctl" is eksctl-io/eksctl@99984adb (2026-08-21).

use gpuc_model::plan::{
    Command, ErrorResponse, KnownError, Observation, Recovery, Remnant, StateKind,
};

use super::cluster;
use super::commands::{Target, aws};

/// The state of a cluster.
pub(super) static CLUSTER: StateKind = StateKind {
    read: r#".cluster
        | {state: ({ACTIVE: "ready", FAILED: "failed", DELETING: "deleting"}[.status // ""] // "progressing"),
          status: (.status // "no status"),
          messages: [.health.issues[]? | "\(.code): \(.message)"]}"#,
    timeout_minutes: 60,
    source: "botocore eks ClusterStatus and ClusterHealth",
};

/// The state of a managed node group. EKS rejects updates of a degraded one, and makes it active when the cause is
/// gone (aws/containers-roadmap#2204, 2023-11-17).
pub(super) static NODE_GROUP: StateKind = StateKind {
    read: r#".nodegroup
        | {state: ({ACTIVE: "ready", CREATE_FAILED: "failed", DEGRADED: "failed", DELETE_FAILED: "failed",
            DELETING: "deleting"}[.status // ""] // "progressing"),
          status: (.status // "no status"),
          messages: [.health.issues[]? | "\(.code): \(.message)" + (.resourceIds // [] | if . == [] then "" else " (\(join(", ")))" end)]}"#,
    timeout_minutes: 120,
    source: "botocore eks NodegroupStatus and NodegroupHealth",
};

/// The state of an add-on. CoreDNS and storage drivers are degraded while no node can run their pods (eksctl
/// pkg/actions/addon/addon.go): the next run finds them active.
pub(super) static ADDON: StateKind = StateKind {
    read: r#".addon
        | {state: ({ACTIVE: "ready", DEGRADED: (if any(.health.issues[]?; .code == "InsufficientNumberOfReplicas") then "ready"
              else "degraded" end),
            UPDATE_FAILED: "degraded", CREATE_FAILED: "failed", DELETE_FAILED: "failed",
            DELETING: "deleting"}[.status // ""] // "progressing"),
          status: (.status // "no status"),
          messages: [.health.issues[]? | "\(.code): \(.message)"]}"#,
    timeout_minutes: 30,
    source: "botocore eks AddonStatus and AddonHealth",
};

/// The state of a CloudFormation stack. After a rolled back update, the stack is as it was before the update.
pub(super) static STACK: StateKind = StateKind {
    read: r#".Stacks[0]
        | {state: (.StackStatus
            | if IN("CREATE_COMPLETE", "UPDATE_COMPLETE", "UPDATE_ROLLBACK_COMPLETE", "IMPORT_COMPLETE") then "ready"
              elif . == "DELETE_IN_PROGRESS" then "deleting"
              elif . != "REVIEW_IN_PROGRESS" and endswith("_IN_PROGRESS") then "progressing"
              else "failed" end),
          status: .StackStatus,
          messages: [.StackStatusReason // empty]}"#,
    timeout_minutes: 60,
    source: "botocore cloudformation StackStatus",
};

/// The state of the stack of a resource that does not exist. A complete stack is a failure too: eksctl does not
/// create the resource while its stack exists (eksctl-io/eksctl#8712).
static STACK_WITHOUT_RESOURCE: StateKind = StateKind {
    read: r#".Stacks[0]
        | {state: (.StackStatus
            | if . == "DELETE_IN_PROGRESS" then "deleting"
              elif . != "REVIEW_IN_PROGRESS" and endswith("_IN_PROGRESS") then "progressing"
              else "failed" end),
          status: .StackStatus,
          messages: [.StackStatusReason // empty]}"#,
    timeout_minutes: 60,
    source: "botocore cloudformation StackStatus; eksctl pkg/cfn/manager/api.go and nodegroup.go",
};

/// The state of an update of a cluster, a node group or an add-on. The resource becomes active after a failed one
/// too.
pub(super) static UPDATE: StateKind = StateKind {
    read: r#".update
        | {state: ({Successful: "ready", Failed: "failed", Cancelled: "failed"}[.status // ""] // "progressing"),
          status: (.status // "no status"),
          messages: [.errors[]? | "\(.errorCode): \(.errorMessage)" + (.resourceIds // [] | if . == [] then "" else " (\(join(", ")))" end)]}"#,
    timeout_minutes: 120,
    source: "botocore eks UpdateStatus and ErrorDetail",
};

/// The command that reads a stack.
pub(super) fn observe_stack(stack: &str, region: &str) -> Observation {
    Observation {
        command: aws(["cloudformation", "describe-stacks"], region).with_arguments([
            "--stack-name",
            stack,
            "--output",
            "json",
        ]),
        absent_pattern: "does not exist",
    }
}

/// The commands that delete a stack of eksctl, which protects its stacks (eksctl pkg/cfn/manager/api.go).
fn delete_stack_commands(stack: &str, region: &str) -> Vec<Command> {
    let command =
        |words: &[&str]| aws(words.iter().copied(), region).with_arguments(["--stack-name", stack]);
    vec![
        command(&["cloudformation", "update-termination-protection"])
            .with_arguments(["--no-enable-termination-protection"]),
        command(&["cloudformation", "delete-stack"]),
        command(&["cloudformation", "wait", "stack-delete-complete"]),
    ]
}

/// The statuses of a failed stack that may still contain something.
const FAILED_STACK: &[&str] = &[
    "CREATE_FAILED",
    "ROLLBACK_FAILED",
    "DELETE_FAILED",
    "REVIEW_IN_PROGRESS",
];

/// The statuses of a stack whose resource does not exist, except those of its creation's rollback.
const STACK_WITHOUT_CONTENT: &[&str] = &[
    "CREATE_FAILED",
    "ROLLBACK_FAILED",
    "DELETE_FAILED",
    "REVIEW_IN_PROGRESS",
    "CREATE_COMPLETE",
    "UPDATE_COMPLETE",
    "UPDATE_ROLLBACK_COMPLETE",
];

/// How to recover from the failure of a stack.
pub(super) fn stack_recovery(stack: &str, region: &str) -> Vec<Recovery> {
    delete_stack(stack, region, FAILED_STACK)
}

/// Deletes a stack. After a complete rollback of its creation, it is empty; after these statuses, it may not be.
fn delete_stack(stack: &str, region: &str, statuses: &'static [&'static str]) -> Vec<Recovery> {
    let commands = delete_stack_commands(stack, region);
    vec![
        Recovery {
            statuses: &["ROLLBACK_COMPLETE"],
            is_safe: true,
            commands: commands.clone(),
        },
        Recovery {
            statuses,
            is_safe: false,
            commands,
        },
    ]
}

/// The stack with which eksctl creates a cluster, and which remains if the creation fails.
pub(super) fn cluster_stack(target: &Target) -> Remnant {
    eksctl_stack(target, "cluster", [cluster_mark(target)])
}

/// The stack with which eksctl creates a node group, and which remains if the creation fails. `has_mark` is set if
/// gpuc created the cluster.
pub(super) fn node_group_stack(target: &Target, name: &str, has_mark: bool) -> Remnant {
    let group = ("alpha.eksctl.io/nodegroup-name".to_owned(), name.to_owned());
    let mark = has_mark.then(|| cluster_mark(target));
    eksctl_stack(
        target,
        &format!("nodegroup-{name}"),
        std::iter::once(group).chain(mark),
    )
}

/// The mark of gpuc's clusters. eksctl gives the tags of its file to every stack.
fn cluster_mark(target: &Target) -> (String, String) {
    (cluster::MARK.to_owned(), target.cluster.clone())
}

/// A stack of eksctl, which others may have created with the same name: `eksctl-a-nodegroup-b-cluster` can be the stack
/// of a cluster or of a node group.
///
/// Source of the tags: eksctl pkg/cfn/manager/api.go (`NewStackCollection`, `DoCreateStackRequest`), nodegroup.go, and
/// pkg/apis/eksctl.io/v1alpha5/{types,defaults}.go.
fn eksctl_stack(
    target: &Target,
    suffix: &str,
    tags: impl IntoIterator<Item = (String, String)>,
) -> Remnant {
    let stack = format!("eksctl-{}-{suffix}", target.cluster);
    let cluster = (
        "alpha.eksctl.io/cluster-name".to_owned(),
        target.cluster.clone(),
    );
    Remnant {
        title: format!("CloudFormation stack {stack}"),
        observation: observe_stack(&stack, &target.region),
        state: &STACK_WITHOUT_RESOURCE,
        read_tags: "[.Stacks[0].Tags[]? | {(.Key): .Value}] | add // {}",
        tags: std::iter::once(cluster).chain(tags).collect(),
        explanation: aws(["cloudformation", "describe-stack-events"], &target.region)
            .with_arguments(["--stack-name", &stack])
            .with_arguments([
                "--query",
                "StackEvents[?contains(ResourceStatus, 'FAILED')].ResourceStatusReason",
                "--output",
                "text",
            ]),
        recovery: delete_stack(&stack, &target.region, STACK_WITHOUT_CONTENT),
    }
}

/// How to recover from the failed creation or deletion of a node group: its nodes may run pods. eksctl does nothing if
/// the deletion of the stack failed (eksctl-io/eksctl#5860).
pub(super) fn node_group_recovery(target: &Target, name: &str, delete: &Command) -> Vec<Recovery> {
    let stack = format!("eksctl-{}-nodegroup-{name}", target.cluster);
    let group = |words: &[&str]| {
        aws(words.iter().copied(), &target.region)
            .with_arguments(["--cluster-name", &target.cluster])
            .with_arguments(["--nodegroup-name", name])
    };
    let mut commands = vec![
        group(&["eks", "delete-nodegroup"]),
        group(&["eks", "wait", "nodegroup-deleted"]),
    ];
    commands.extend(delete_stack_commands(&stack, &target.region));
    vec![
        Recovery {
            statuses: &["CREATE_FAILED"],
            is_safe: false,
            commands: vec![delete.clone()],
        },
        Recovery {
            statuses: &["DELETE_FAILED"],
            is_safe: false,
            commands,
        },
    ]
}

const FACTS: &str = "awscli/topics/return-codes.rst and botocore/exceptions.py; the texts that are not in them are from \
                     reports of users, 2026-11-22";

/// The errors that the scripts recognize.
pub(super) static KNOWN_ERRORS: &[KnownError] = &[
    KnownError {
        pattern: "ThrottlingException|Rate exceeded|RequestLimitExceeded|TooManyRequestsException",
        response: ErrorResponse::Retry,
        message: "AWS limits the rate of requests",
        source: FACTS,
    },
    KnownError {
        pattern: "ResourceInUseException.*(not in Active State|in progress)",
        response: ErrorResponse::Retry,
        message: "another update is in progress",
        source: "aws/containers-roadmap#2204, 2023-11-17",
    },
    KnownError {
        pattern: "ExpiredToken|security token included in the request is expired|Unable to locate credentials|Error loading SSO \
                  Token|SSO session associated with this profile|Token has expired",
        response: ErrorResponse::Explain,
        message: "the AWS credentials are missing or have expired: sign in, for example with `aws sso login`, then run this \
                  script again",
        source: FACTS,
    },
    KnownError {
        pattern: "ResourceLimitExceeded|InstanceLimitExceeded|VcpuLimitExceeded|AddressLimitExceeded|reached your quota",
        response: ErrorResponse::Explain,
        message: "a quota of the AWS account is exceeded: request an increase in Service Quotas, then run this script again",
        source: FACTS,
    },
    KnownError {
        pattern: "InsufficientInstanceCapacity",
        response: ErrorResponse::Explain,
        message: "AWS has no free machines of this type in these zones: run this script again later, or set other zones or a \
                  reservation in the file",
        source: "eksctl-io/eksctl#4732",
    },
    KnownError {
        pattern: "Addon version specified is not supported",
        response: ErrorResponse::Explain,
        message: "the cluster may have a newer version of Kubernetes than the file: set kubernetes.version to the version of the \
                  cluster",
        source: "aws/aws-sdk-go-v2#2554, hashicorp/terraform-provider-aws#32238",
    },
    KnownError {
        pattern: "UnsupportedAvailabilityZoneException",
        response: ErrorResponse::Explain,
        message: "EKS does not support a control plane in one of these zones: set other zones in the file",
        source: "awsdocs/amazon-eks-user-guide latest/ug/networking/network-reqs.adoc @4d52b4d0",
    },
];
