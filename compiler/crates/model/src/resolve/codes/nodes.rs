//! Codes of the number of nodes.

use gpuc_syntax::diag::{Code, Correction, Severity};

/// The number of nodes of a pool is not set.
pub static NODE_COUNT_MISSING: Code = Code {
    id: "GPUC1012",
    name: "node-count-missing",
    severity: Severity::Error,
    summary: "the number of nodes of a pool is not set, or set twice",
    checks: "Whether `nodes` has either `count`, or `min` and `max`.",
    reason: "With half a range, gpuc would have to guess, and wrong numbers of GPU nodes are expensive.",
    remedy: "Write `nodes: {count: 2}` or `nodes: {min: 0, max: 4}`.",
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
    nodes: {min: 1}
"#,
    correction: Correction::Replace("nodes: {min:", "nodes: {count:"),
};

/// The minimum number of nodes exceeds the maximum.
pub static NODE_COUNT_REVERSED: Code = Code {
    id: "GPUC1013",
    name: "node-count-reversed",
    severity: Severity::Error,
    summary: "the minimum number of nodes exceeds the maximum",
    checks: "Whether `nodes.min` is at most `nodes.max`.",
    reason: "Such a range contains no number; clouds reject it after the cluster is created.",
    remedy: "Swap the two numbers.",
    bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
autoscaler: clusterAutoscaler
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: m7i.xlarge
    nodes: {min: 3, max: 2}
"#,
    correction: Correction::Replace("3, max: 2", "2, max: 3"),
};

/// The maximum number of nodes of a pool is 0.
pub static NODE_COUNT_ZERO: Code = Code {
    id: "GPUC1014",
    name: "node-count-zero",
    severity: Severity::Error,
    summary: "the maximum number of nodes of a pool is 0",
    checks: "Whether a pool can have at least one node.",
    reason: "A pool without nodes runs no pods, and some clouds reject it.",
    remedy: "Increase the number, or remove the pool.",
    bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: g6.xlarge
    nodes: {count: 0}
"#,
    correction: Correction::Replace("count: 0", "count: 1"),
};
