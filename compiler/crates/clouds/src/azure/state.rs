//! The states of AKS resources, how to recover from their failures, and the errors of az.

use gpuc_model::plan::{Argument, Command, ErrorResponse, KnownError, Recovery, StateKind};

/// The state of a cluster or a node pool. AKS names many operations in `provisioningState`; only these values are
/// final. A stopped resource rejects changes.
pub(super) static MANAGED: StateKind = StateKind {
    read: r#"(.provisioningState // "no status") as $status
        | {state: (if $status == "Succeeded" then (if .powerState.code == "Stopped" then "failed" else "ready" end)
              elif IN($status; "Failed", "Canceled") then "degraded"
              elif $status == "Deleting" then "deleting"
              else "progressing" end),
          status: (if $status == "Succeeded" and .powerState.code == "Stopped" then "Stopped" else $status end),
          messages: [.status.provisioningError // empty
            | ., .details[]? | select(.message) | "\(.code // "error"): \(.message)"]}"#,
    timeout_minutes: 120,
    source: "azure-mgmt-containerservice 41.8.0 (ManagedClusterStatus, AgentPoolStatus); MicrosoftDocs/azure-aks-docs \
             articles/aks/list-aks-clusters.md @fb060abe, 2026-08-21",
};

/// The state of a resource group.
pub(super) static GROUP: StateKind = StateKind {
    read: r#"(.properties.provisioningState // "Succeeded") as $status
        | {state: (if $status == "Deleting" then "deleting" else "ready" end), status: $status, messages: []}"#,
    timeout_minutes: 60,
    source: "azure-mgmt-resource (ResourceGroupProperties); the value Deleting from memory",
};

/// How to recover from a failed or canceled change, and from a stop: az sends the resource's settings again.
///
/// Source: MicrosoftDocs/SupportArticles-docs
/// support/azure/azure-kubernetes/cluster-node-virtual-machine-failed-state.md @16edcd96.
pub(super) fn recovery(start: Command) -> Vec<Recovery> {
    let update = Command::new(["az", "resource", "update", "--ids"])
        .with_argument(Argument::Observed(".id".to_owned()))
        .with_arguments(["--output", "none"]);
    vec![
        Recovery {
            statuses: &["Failed", "Canceled"],
            is_safe: false,
            commands: vec![update],
        },
        Recovery {
            statuses: &["Stopped"],
            is_safe: false,
            commands: vec![start],
        },
    ]
}

const FACTS: &str = "MicrosoftDocs/SupportArticles-docs support/azure/azure-kubernetes, operationnotallowed.md @7407391a and the \
                     pages of the error codes; Azure/telescope#1213, 2026-06-08";

/// The errors that the scripts recognize.
pub(super) static KNOWN_ERRORS: &[KnownError] = &[
    KnownError {
        pattern: "SubscriptionRequestsThrottled|AKSRequestsThrottled|TooManyRequests",
        response: ErrorResponse::Retry,
        message: "Azure limits the rate of requests",
        source: FACTS,
    },
    KnownError {
        pattern: "Another (agentpool )?operation|AnotherOperationInProgress|EtagMismatch|OperationPreempted|aks-pending-operation",
        response: ErrorResponse::Retry,
        message: "another operation is in progress",
        source: FACTS,
    },
    KnownError {
        pattern: "run 'az login'|AADSTS[0-9]+",
        response: ErrorResponse::Explain,
        message: "the Azure credentials are missing or have expired: run `az login`, then run this script again",
        source: "azure-cli-core 2.91.0",
    },
    KnownError {
        pattern: "QuotaExceeded|InsufficientVCPUQuota|Insufficient vcpu quota",
        response: ErrorResponse::Explain,
        message: "a quota of the subscription is exceeded; nodes that are added during upgrades count too: request an increase \
                  in Quotas, then run this script again",
        source: FACTS,
    },
    KnownError {
        pattern: "AllocationFailed|OverconstrainedAllocationRequest",
        response: ErrorResponse::Explain,
        message: "Azure has no free machines of this size in these zones: run this script again later, or set other zones or a \
                  reservation in the file",
        source: FACTS,
    },
    KnownError {
        pattern: "ServiceCidrOverlapExistingSubnetsCidr",
        response: ErrorResponse::Explain,
        message: "the addresses of Services overlap with those of the network: set `serviceCidr` in the file to another range",
        source: "learn.microsoft.com/troubleshoot/azure/azure-kubernetes/error-codes/servicecidroverlapexistingsubnetscidr-error, \
                 2026-11-24",
    },
    KnownError {
        pattern: "is not allowed in your subscription",
        response: ErrorResponse::Explain,
        message: "the subscription cannot use this size in this region: request access, or set another machine in the file",
        source: FACTS,
    },
];
