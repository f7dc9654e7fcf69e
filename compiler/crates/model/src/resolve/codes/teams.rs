//! Codes of the quotas of teams.

use gpuc_syntax::diag::{Code, Correction, Severity};

/// The pool of a quota does not exist.
pub static QUOTA_POOL_UNKNOWN: Code = Code {
    id: "GPUC2150",
    name: "quota-pool-unknown",
    severity: Severity::Error,
    summary: "the pool of a quota does not exist",
    checks: "Whether the pool of each entry of `quota.gpus` exists in the cluster.",
    reason: "The pool determines the resource names and the number of the GPUs.",
    remedy: "Write the name of a pool.",
    bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [node-1]
    nodes: {count: 1}
teams:
  - name: research
    quota: {gpus: [{pool: gpus, guaranteed: 2}]}
"#,
    correction: Correction::Replace("pool: gpus", "pool: gpu"),
};

/// The unit of a quota does not match its pool.
pub static QUOTA_UNIT_WRONG: Code = Code {
    id: "GPUC2151",
    name: "quota-unit-wrong",
    severity: Severity::Error,
    summary: "the unit of a quota does not match its pool",
    checks: "Whether each entry of `quota.gpus` counts a resource that the pool provides: `shares` where
containers share GPUs, `guaranteed` elsewhere; with `profile` where MIG devices have their own
resource names.",
        reason: "A quota counts the requests of pods. On a shared GPU, pods request replicas; on a partitioned GPU,
they request MIG devices. A quota of 2 GPUs would be one of 2 replicas.",
        remedy: "Count the resources of the pool, as the help shows.",
    bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [node-1]
    nodes: {count: 1}
    sharing: {timeSlicing: {replicas: 4}}
teams:
  - name: research
    quota: {gpus: [{pool: gpu, guaranteed: 2}]}
"#,
    correction: Correction::Replace("guaranteed: 2", "shares: 8"),
};

/// The amount of a quota is missing or contradictory.
pub static QUOTA_AMOUNT_UNCLEAR: Code = Code {
    id: "GPUC2152",
    name: "quota-amount-unclear",
    severity: Severity::Error,
    summary: "the amount of a quota is missing or contradictory",
    checks: "Whether each entry of `quota.gpus` has one amount, and `limit` is at least the guaranteed amount.
Two entries of a quota must not be for the same GPUs.",
        reason: "An entry without an amount could mean none or all GPUs. If two entries contradict each other, one
would be ignored.",
        remedy: "Write `guaranteed`, or `shares` where containers share GPUs. Add `limit` if the team may use more
while other teams leave GPUs idle.",
    bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [node-1]
    nodes: {count: 1}
teams:
  - name: research
    quota: {gpus: [{pool: gpu, guaranteed: 2, limit: 1}]}
"#,
    correction: Correction::Replace("limit: 1", "limit: 2"),
};

/// A quota is for a namespace that does not belong to the team.
pub static QUOTA_NAMESPACE_UNKNOWN: Code = Code {
    id: "GPUC2153",
    name: "quota-namespace-unknown",
    severity: Severity::Error,
    summary: "a quota is for a namespace that does not belong to the team",
    checks: "Whether the namespace of each entry of `namespaceQuotas` belongs to the team.",
    reason: "The quota would apply to no namespace.",
    remedy: "Write one of the team's namespaces, or add this one to `namespaces`.",
    bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [node-1]
    nodes: {count: 1}
teams:
  - name: research
    namespaceQuotas: [{namespace: resaerch, quota: {pods: 100}}]
"#,
    correction: Correction::Replace("resaerch", "research"),
};
