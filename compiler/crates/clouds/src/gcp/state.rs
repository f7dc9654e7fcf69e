//! The states of GKE resources, how to recover from their failures, and the errors of gcloud.
//!
//! Source, unless a row names another: google-cloud-sdk-unofficial/google-cloud-sdk@4643fc9c (SDK 578.0.0, 2026-08-04),
//! `container_v1_messages.py` (statuses) and `api_lib/container/api_adapter.py` (errors).

use gpuc_model::plan::{Command, ErrorResponse, KnownError, Recovery, StateKind};

const SDK: &str = "google-cloud-sdk-unofficial/google-cloud-sdk@4643fc9c, 2026-08-04";

/// The state of a cluster.
pub(super) static CLUSTER: StateKind = StateKind {
    read: r#"{state: ({RUNNING: "ready", DEGRADED: "degraded", ERROR: "failed", STOPPING: "deleting"}[.status // ""]
            // "progressing"),
        status: (.status // "no status"),
        messages: ([.conditions[]? | "\(.canonicalCode // .code // ""): \(.message // "")"] + [.statusMessage // empty] | unique)}"#,
    timeout_minutes: 90,
    source: SDK,
};

/// The state of a node pool. The pool of a failed creation exists, with all its settings.
pub(super) static POOL: StateKind = StateKind {
    read: r#"{state: ({RUNNING: "ready", RUNNING_WITH_ERROR: "degraded", ERROR: "failed", STOPPING: "deleting"}[.status // ""]
            // "progressing"),
        status: (.status // "no status"),
        messages: ([.conditions[]? | "\(.canonicalCode // .code // ""): \(.message // "")"] + [.statusMessage // empty] | unique)}"#,
    timeout_minutes: 120,
    source: SDK,
};

/// How to recover from a failed creation: a new creation needs another name or the deletion of the failed resource.
pub(super) fn recovery(delete: &Command) -> Vec<Recovery> {
    vec![Recovery {
        statuses: &["ERROR"],
        is_safe: false,
        commands: vec![delete.clone()],
    }]
}

/// The errors that the scripts recognize.
pub(super) static KNOWN_ERRORS: &[KnownError] = &[
    KnownError {
        pattern: "code=429|Quota exceeded for quota metric",
        response: ErrorResponse::Retry,
        message: "Google Cloud limits the rate of requests",
        source: SDK,
    },
    KnownError {
        pattern: "wait and try again once it is done|is running incompatible operation",
        response: ErrorResponse::Retry,
        message: "another operation is in progress",
        source: "inspektor-gadget/inspektor-gadget#2535, 2024-02-23; elastic/cloud-on-k8s#9098, 2026-02-03",
    },
    KnownError {
        pattern: "is still running, check its status via",
        response: ErrorResponse::Await,
        message: "gcloud stopped waiting, the operation continues",
        source: SDK,
    },
    KnownError {
        pattern: "problem refreshing your current auth tokens|gcloud auth login",
        response: ErrorResponse::Explain,
        message: "the Google Cloud credentials are missing or have expired: run `gcloud auth login`, then run this script again",
        source: SDK,
    },
    KnownError {
        pattern: "GCE_STOCKOUT|ZONE_RESOURCE_POOL_EXHAUSTED",
        response: ErrorResponse::Explain,
        message: "Google Cloud has no free machines of this type in these zones: run this script again later, or set other \
                  zones or a reservation in the file",
        source: "GoogleCloudPlatform/cluster-toolkit#6278, 2026-09-07",
    },
    KnownError {
        pattern: "GCE_QUOTA_EXCEEDED|Insufficient regional quota|Insufficient project quota",
        response: ErrorResponse::Explain,
        message: "a quota of the project is exceeded: request an increase in IAM & Admin > Quotas, then run this script again",
        source: SDK,
    },
];
