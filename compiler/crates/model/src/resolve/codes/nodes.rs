//! Codes of the number of nodes.

use gpuc_syntax::diag::{Code, Severity};

/// The number of nodes of a pool is not set.
pub static NODE_COUNT_UNCLEAR: Code = Code {
    id: "GPUC1012",
    name: "node-count-unclear",
    severity: Severity::Error,
    summary: "the number of nodes of a pool is not set",
    explain: "### What it checks

Whether `nodes` has either `count`, or `min` and `max`.

### Why it matters

With half a range, gpuc would have to guess, and wrong numbers of GPU nodes are expensive.

### How to fix it

Write `nodes: {count: 2}` or `nodes: {min: 0, max: 4}`.
",
    bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [node-1]
    nodes: {min: 1}
"#,
    good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [node-1]
    nodes: {count: 1}
"#,
};

/// The minimum number of nodes exceeds the maximum.
pub static NODE_COUNT_REVERSED: Code = Code {
    id: "GPUC1013",
    name: "node-count-reversed",
    severity: Severity::Error,
    summary: "the minimum number of nodes exceeds the maximum",
    explain: "### What it checks

Whether `nodes.min` is at most `nodes.max`.

### Why it matters

Such a range contains no number; clouds reject it after the cluster is created.

### How to fix it

Swap the two numbers.
",
    bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
autoscaler: clusterAutoscaler
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: m7i.xlarge
    nodes: {min: 3, max: 2}
"#,
    good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
autoscaler: clusterAutoscaler
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: m7i.xlarge
    nodes: {min: 2, max: 3}
"#,
};

/// The maximum number of nodes of a pool is 0.
pub static NODE_COUNT_ZERO: Code = Code {
    id: "GPUC1014",
    name: "node-count-zero",
    severity: Severity::Error,
    summary: "the maximum number of nodes of a pool is 0",
    explain: "### What it checks

Whether a pool can have at least one node.

### Why it matters

A pool without nodes runs no pods, and some clouds reject it.

### How to fix it

Increase the number, or remove the pool.
",
    bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: g6.xlarge
    nodes: {count: 0}
"#,
    good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: g6.xlarge
    nodes: {count: 1}
"#,
};
